"""The connected client as a host: asked for generations and for keys that it keeps.

Most clients are never asked, so what asking takes is loaded with the first question.
"""

# ruff: noqa: PLC0415 - for that reason

import logging
from typing import Any

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import CredentialMissing, GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, CallFailed, Deltas
from promptkit_rpc.rpc.codec import FAILURES, structure, unstructure
from promptkit_rpc.rpc.errors import ConnectionLost, RpcError, UnusableAnswer
from promptkit_rpc.rpc.peer import Peer, Receiver

_log = logging.getLogger(__name__)


class Host:
    """Asks the client; takes the pieces of text that it streams."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._streams: dict[str, Deltas] = {}

    async def generate(self, backend: str, call: Call) -> Answer:
        """One generation call.

        Raises:
            CallFailed: the client answered with an error, with something else, or not at all.
        """
        from promptkit_rpc.rpc.convert.host import answer, generate_params, generation_failed
        from promptkit_rpc.rpc.protocol.host import GenerateResult

        token = None
        if call.deltas is not None:
            token = f"generate/{call.run_id}/{call.attempt}"
            self._streams[token] = call.deltas
        try:
            answered = await self._peer.request(
                "promptkit/backend/generate", generate_params(backend, call, token)
            )
        except UnusableAnswer as unusable:
            raise CallFailed(_unusable(backend, unusable.message)) from None
        except RpcError as error:
            raise CallFailed(generation_failed(backend, error)) from None
        except ConnectionLost as lost:
            raise CallFailed(_no_answer(str(lost), Reason.CONNECTION)) from None
        finally:
            if token is not None:
                self._streams.pop(token, None)
        try:
            return answer(structure(answered, GenerateResult))
        except FAILURES:
            from promptkit_rpc.rpc.faults import told

            wrong = told(answered, GenerateResult, "result")
            raise CallFailed(_unusable(backend, wrong)) from None

    async def credential(self, name: str, signal: CancelSignal) -> str:
        """A key by name.

        Raises:
            CredentialMissing: the client has none.
        """
        from promptkit_rpc.rpc.protocol.host import CredentialParams, CredentialResult

        params = unstructure(CredentialParams(name=name))
        try:
            answered = await self._peer.request("promptkit/credential/get", params, signal)
        except RpcError as error:
            raise CredentialMissing(
                f"the client gave no credential {name!r}: {error.message}"
            ) from None
        except ConnectionLost as lost:
            raise CredentialMissing(f"the client gave no credential {name!r}: {lost}") from None
        try:
            result = structure(answered, CredentialResult)
        except FAILURES:
            from promptkit_rpc.rpc.faults import told

            wrong = told(answered, CredentialResult, "result")
            raise CredentialMissing(f"the client gave no credential {name!r}: {wrong}") from None
        if result.credential is None:
            raise CredentialMissing(f"the client has no credential {name!r}")
        return result.credential

    def progressed(self, params: dict[str, Any]) -> None:
        """A piece of text for an open generation; anything else is let pass."""
        from promptkit_rpc.rpc.protocol.progress import ClientProgress

        try:
            progress = structure(params, ClientProgress)
        except FAILURES:
            _log.debug("dropped a progress that cannot be read")
            return
        match self._streams.get(progress.token), progress.value:
            case None, _:
                pass
            case deltas, {"text": str(text)}:
                deltas.push(text)
            case _:
                _log.debug("dropped a progress without text")

    @property
    def notifications(self) -> dict[str, Receiver]:
        """What the client tells."""
        return {"$/progress": self.progressed}


def _unusable(backend: str, wrong: str) -> GenerationFailed:
    message = f"backend {backend!r}: the client's answer cannot be used: {wrong}"
    return _no_answer(message, Reason.MALFORMED_RESPONSE)


def _no_answer(message: str, reason: Reason) -> GenerationFailed:
    return GenerationFailed(message, reason=reason, origin=Origin.PROMPTKIT, retryable=False)
