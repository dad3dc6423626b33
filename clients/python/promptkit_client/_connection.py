"""JSON-RPC with a subprocess: frames, ids, cancelling, the end. Knows no method of PromptKit's."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from promptkit_client._process import Process
from promptkit_client.errors import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ConnectionLost,
    LateResult,
    PromptKitError,
    from_wire,
    to_wire,
)

Json = Any
Handler = Callable[[dict[str, Any]], Awaitable[Json]]
"""Answers a request of the server's; what it raises is the answer too."""

_MOMENT = 1.0

Receiver = Callable[[dict[str, Any]], None]
"""Takes a notification's params."""


class Connection:
    """One end of the pipes to a server's process.

    Args:
        process: the server's, started.
        handlers: by method, for the server's requests.
        receivers: by method, for its notifications.
        patience: seconds that a server gets to answer a cancel, or to end.
    """

    def __init__(
        self,
        process: Process,
        handlers: Mapping[str, Handler],
        receivers: Mapping[str, Receiver],
        patience: float,
    ) -> None:
        self.patience = patience
        self._process = process
        self._handlers = handlers
        self._receivers = receivers
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._end: ConnectionLost | None = None
        self._reading = asyncio.create_task(self._read())
        self._watching = asyncio.create_task(self._watch())

    # Asking

    async def request(
        self, method: str, params: Json, cancels: Iterable[asyncio.Event] = ()
    ) -> Json:
        """A request's result.

        A cancel of the task is passed on; if the server has a result all the same, the
        `CancelledError` has it as its cause. An event of `cancels` that is set is passed on too,
        and the server's answer returned.

        Raises:
            PromptKitError: the server answered with an error.
            ConnectionLost: there is no server.
        """
        ident = next(self._ids)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        self._asked[ident] = answer
        stoppers = [asyncio.create_task(self._cancel_when(event, ident)) for event in cancels]
        try:
            await asyncio.wait([answer])  # which a cancel of this task leaves as it is
        except asyncio.CancelledError as cancelled:
            self._cancel(ident)
            await asyncio.wait([answer], timeout=self.patience)
            if answer.done() and answer.exception() is None:
                raise cancelled from LateResult(answer.result())
            raise
        finally:
            self._asked.pop(ident, None)
            for stopper in stoppers:
                stopper.cancel()
            if answer.done():
                answer.exception()  # seen, whoever asks
        return answer.result()

    def notify(self, method: str, params: Json) -> None:
        """Tells the server something; a server that is gone is told nothing."""
        with suppress(ConnectionLost):
            self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _cancel_when(self, event: asyncio.Event, ident: int) -> None:
        await event.wait()
        self._cancel(ident)

    def _cancel(self, ident: int) -> None:
        self.notify("$/cancelRequest", {"id": ident})

    def _send(self, message: Json) -> None:
        """Writes a message; raises `ValueError` for what cannot be said in JSON."""
        if self._end is not None:
            raise ConnectionLost(str(self._end))
        body = json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
        self._process.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    # Being asked

    async def _read(self) -> None:
        """Takes messages until there are no more, or what comes is none."""
        reason = "the server has closed its output"
        try:
            while True:
                self._take(json.loads(await self._frame()))
        except asyncio.IncompleteReadError:
            pass
        except (ValueError, TypeError, KeyError, AttributeError, asyncio.LimitOverrunError) as bad:
            reason = f"the server sent what is no message: {bad}"
        except OSError as failed:
            reason = f"the server cannot be read: {failed}"
        await self._ended(_MOMENT)  # so that the exit code can be told
        self._lose(reason)

    async def _watch(self) -> None:
        """Notices the end of the process; what it said before is still read."""
        await self._process.ended.wait()
        await asyncio.wait([self._reading], timeout=_MOMENT)
        self._lose("the server has ended")

    async def _ended(self, bound: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(bound):
                await self._process.ended.wait()

    async def _frame(self) -> bytes:
        output = self._process.output
        head = await output.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return await output.readexactly(int(value))
        raise ValueError(f"a header without Content-Length: {head[:100]!r}")

    def _take(self, message: dict[str, Any]) -> None:
        method, ident = message.get("method"), message.get("id")
        if method is None:
            self._settle(message)
        elif "id" in message:
            task = asyncio.create_task(self._serve(ident, method, message.get("params") or {}))
            self._serving[json.dumps(ident)] = task
        elif method == "$/cancelRequest":
            if task := self._serving.get(json.dumps(message["params"]["id"])):
                task.cancel()
        elif receiver := self._receivers.get(method):
            receiver(message.get("params") or {})

    def _settle(self, message: dict[str, Any]) -> None:
        """Hands an answer to who asked; an answer that came too late is dropped."""
        answer = self._asked.get(cast("int", message.get("id")))
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(from_wire(message["error"]))
        else:
            answer.set_result(message["result"])

    async def _serve(self, ident: Json, method: str, params: dict[str, Any]) -> None:
        reply: dict[str, Json] = {"jsonrpc": "2.0", "id": ident}
        try:
            if handler := self._handlers.get(method):
                self._send({**reply, "result": await handler(params)})
            else:
                unknown = {"code": METHOD_NOT_FOUND, "message": f"{method} is not served"}
                self._fail(reply, unknown)
        except ConnectionLost:
            pass
        except asyncio.CancelledError:
            self._fail(reply, {"code": REQUEST_CANCELLED, "message": "cancelled"})
        except Exception as raised:  # noqa: BLE001 - whatever a callback raises is the answer
            self._fail(reply, to_wire(raised))
        finally:
            self._serving.pop(json.dumps(ident), None)

    def _fail(self, reply: dict[str, Json], error: Json) -> None:
        """Answers with an error; data that is no JSON is left out."""
        with suppress(ConnectionLost):
            try:
                self._send({**reply, "error": error})
            except (ValueError, TypeError):
                plain = {"code": INTERNAL_ERROR, "message": "the error cannot be told in JSON"}
                self._send({**reply, "error": plain})

    # The end

    def _lose(self, reason: str) -> None:
        """Fails whatever waits for the server, and stops what it has asked for."""
        if self._end is not None:
            return
        code = self._process.code
        self._end = ConnectionLost(reason if code is None else f"{reason} (exit code {code})")
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(str(self._end)))
        for task in self._serving.values():
            task.cancel()

    async def close(self) -> None:
        """Shuts the server down; one that does not end by itself is killed."""
        try:
            with suppress(ConnectionError, TimeoutError, PromptKitError):
                async with asyncio.timeout(self.patience):
                    await self.request("shutdown", {})
            self.notify("exit", {})
            self._process.close_input()
            await self._ended(self.patience)
        finally:
            self._process.kill()
            self._lose("the connection was closed")
            tasks = [self._reading, self._watching, *self._serving.values()]
            await asyncio.wait(tasks, timeout=_MOMENT)
            for task in tasks:
                task.cancel()
            self._process.close()
