"""The one place where foreign transport errors become PromptKit's. Knows no provider."""

import os
import socket
import ssl

import httpx

from promptkit_rpc.backends.http.connection import BrokenOff, Unanswered
from promptkit_rpc.backends.http.transport import ProxyRefused
from promptkit_rpc.definitions.settings import Timeouts
from promptkit_rpc.errors import GenerationFailed, Origin, Reason

_PROXY_LOGIN, _SERVER_ERRORS = 407, 500


class TooLong(httpx.DecodingError):
    """The response is longer than any answer may be."""


def transport_failure(
    error: httpx.HTTPError,
    where: str,
    timeouts: Timeouts,
    *,
    via: str,
    status: int | None,
    progress: str,
) -> GenerationFailed:
    """The failure of a call whose exchange with `where` broke.

    `via` names the proxy on the way, if there is one, with a space before it. `status` is that of
    the response if one had begun, and `progress` how much of it had come.
    """
    match error:
        case ProxyRefused():
            return _proxy_refused(error.status, where, via)
        case httpx.ConnectTimeout():
            reason, billed = Reason.TIMEOUT, False
            text = f"no connection to {where}{via} within {timeouts.connect:g} s (timeouts.connect)"
        case httpx.WriteTimeout():
            reason, billed = Reason.TIMEOUT, False
            text = f"{where} took no more of the request for {timeouts.read:g} s (timeouts.read)"
        case httpx.TimeoutException():
            reason, billed = Reason.TIMEOUT, True
            text = f"{where} sent nothing for {timeouts.read:g} s (timeouts.read){progress}"
        case httpx.ConnectError():
            return _unconnected(error, where + via)
        case Unanswered():
            reason, billed = Reason.CONNECTION, True
            text = f"{where} closed the connection without an answer"
        case BrokenOff():
            reason, billed = Reason.CONNECTION, True
            text = f"the answer of {where} broke off{progress}"
        case httpx.LocalProtocolError():
            reason, billed = Reason.BAD_REQUEST, False
            text = f"the request to {where} cannot be said in HTTP; look at the backend's headers"
        case _:
            reason, billed = Reason.MALFORMED_RESPONSE, True
            text = f"the answer of {where} cannot be read: {error}{progress}"
    return GenerationFailed(
        text, reason=reason, origin=Origin.PROMPTKIT, http_status=status, billed=billed
    )


def _proxy_refused(status: int, where: str, via: str) -> GenerationFailed:
    if status == _PROXY_LOGIN:
        text = f"no connection to {where}{via}: the proxy wants another login"
        reason, retryable = Reason.AUTHENTICATION, False
    else:
        text = f"no connection to {where}{via}: the proxy answered {status}"
        reason, retryable = Reason.CONNECTION, status >= _SERVER_ERRORS
    return GenerationFailed(
        text, reason=reason, http_status=status, retryable=retryable, billed=False
    )


def _unconnected(error: httpx.ConnectError, where: str) -> GenerationFailed:
    cause = error.__cause__
    retryable = True
    match cause:
        case ssl.SSLCertVerificationError():
            # It will not be another one the next time.
            retryable = False
            why = (
                f"its certificate is not trusted ({cause.verify_message}); if it should be, name"
                " its authority's file in SSL_CERT_FILE"
            )
        case ssl.SSLError():
            why = f"TLS failed ({(cause.reason or 'unknown').replace('_', ' ').lower()})"
        case socket.gaierror():
            why = "its name cannot be resolved"
        case OSError(errno=int(number)):
            why = os.strerror(number)
        case OSError():
            why = "no address answers"
        case _:
            why = str(error)
    return GenerationFailed(
        f"no connection to {where}: {why}",
        reason=Reason.CONNECTION,
        origin=Origin.PROMPTKIT,
        retryable=retryable,
        billed=False,
    )
