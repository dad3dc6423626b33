"""A handler that fails, in any way, is answered."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from promptkit_rpc.errors import PromptKitError
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call
from tests.support.peers import Lab, fixed

SECRET = "a secret in /some/path"


def _raise(error: Exception) -> Callable[[dict[str, Any], Call], Any]:
    def handler(_params: dict[str, Any], _call: Call) -> Any:
        raise error

    return handler


def _raise_later(error: BaseException) -> Callable[[dict[str, Any], Call], Any]:
    async def handler(_params: dict[str, Any], _call: Call) -> Any:
        raise error

    return handler


@pytest.mark.parametrize("kind", [_raise, _raise_later])
async def test_a_crash_is_answered_without_its_inside(
    kind: Callable[[Exception], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, SEC-4: no traceback, path or message in the answer; the log says where, not what."""
    lab = Lab({"crash": kind(KeyError(SECRET))})
    lab.ask(1, "crash", {"content": "canary"})
    error = (await lab.answer(1))["error"]
    assert error == {
        "code": -32803,
        "message": "internal error",
        "data": {"kind": "internal", "retryable": False},
    }
    assert "crash raised KeyError" in caplog.text
    assert "test_peer_faults.py" in caplog.text
    assert SECRET not in caplog.text
    assert "canary" not in caplog.text


@pytest.mark.parametrize("kind", [_raise, _raise_later])
async def test_an_rpc_error_is_answered_as_it_is(
    kind: Callable[[Exception], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """COO-7: code, message and data."""
    lab = Lab({"fail": kind(RpcError(-7, "m", {"a": [1]}))})
    lab.ask(1, "fail")
    assert (await lab.answer(1))["error"] == {"code": -7, "message": "m", "data": {"a": [1]}}
    assert caplog.text == ""


async def test_other_errors_go_through_the_mapping_that_was_given() -> None:
    """ENG-5: the peer itself knows no error of the core's."""
    lab = Lab(
        {"fail": _raise_later(PromptKitError("gone"))},
        errors=lambda raised: RpcError(-32803, str(raised), {"kind": "x"}),
    )
    lab.ask(1, "fail")
    expected = {"code": -32803, "message": "gone", "data": {"kind": "x"}}
    assert (await lab.answer(1))["error"] == expected


async def test_an_error_that_cannot_be_mapped_is_answered_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SEC-4: both faults are in the log."""

    def broken(_: Exception) -> RpcError:
        raise LookupError(SECRET)

    lab = Lab({"fail": _raise_later(KeyError(SECRET))}, errors=broken)
    lab.ask(1, "fail")
    error = (await lab.answer(1))["error"]
    assert (error["code"], error["data"]["kind"]) == (-32803, "internal")
    assert "fail raised KeyError" in caplog.text
    assert "fail raised LookupError" in caplog.text
    assert SECRET not in caplog.text


async def test_a_stray_task_cancellation_in_a_handler_is_answered() -> None:
    """SEC-4."""
    lab = Lab({"fail": _raise_later(asyncio.CancelledError())})
    lab.ask(1, "fail")
    error = (await lab.answer(1))["error"]
    assert (error["code"], error["message"]) == (-32800, "stopped")


@pytest.mark.parametrize("value", [object(), {1, object()}, {(1, 2): 3}, [10**5000]])
async def test_a_result_that_is_no_json_is_an_internal_error(
    value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-4: answered once, never silence; an error's data alike."""
    loop: list[Any] = []
    loop.append(loop)
    lab = Lab({"now": fixed(value), "loop": fixed(loop), "bad": _raise(RpcError(1, "m", value))})
    for ident, method in enumerate(("now", "loop", "bad")):
        lab.ask(ident, method)
        error = (await lab.answer(ident))["error"]
        assert error["code"] == -32603
        assert "cannot be written as JSON" in error["message"]
        assert error["data"] == {"kind": "internal", "retryable": False}
    assert "a result raised" in caplog.text
