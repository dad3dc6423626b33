"""Keeps a run's own key out of what a backend says of its call. Knows no provider."""

from collections.abc import Awaitable

from attrs import evolve

from promptkit_rpc.generation import Answer, Backend, Call, CallFailed, Deltas
from promptkit_rpc.secret import Redactor


class Hiding:
    """A backend whose answers, pieces and errors lack the key, should the inner one echo it."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner

    async def generate(self, call: Call) -> Answer:
        """The inner backend's answer."""
        if call.credential is None:
            return await self._inner.generate(call)
        redactor = Redactor([call.credential])
        pieces = None if call.deltas is None else _Masked(call.deltas, redactor)
        try:
            answer = await self._inner.generate(evolve(call, deltas=pieces))
        except CallFailed as failed:
            hide(failed, redactor)
            raise
        if pieces is not None:
            pieces.flush()
        return redacted(answer, redactor)

    async def close(self) -> None:
        """Closes the inner one."""
        await self._inner.close()


class _Masked(Deltas):
    """Passes pieces on without the key, also where two pieces share it."""

    def __init__(self, deltas: Deltas, redactor: Redactor) -> None:
        self._deltas = deltas
        self._pieces = redactor.pieces()

    def push(self, text: str) -> None:
        """Takes a piece; what could begin the key waits for the next one."""
        self._pass_on(self._pieces.feed(text))

    def room(self) -> Awaitable[None] | None:
        """As the receiver has room."""
        return self._deltas.room()

    def flush(self) -> None:
        """Passes on what waits; no more pieces follow."""
        self._pass_on(self._pieces.flush())

    def _pass_on(self, text: str) -> None:
        if text:
            self._deltas.push(text)


def hide(failed: CallFailed, redactor: Redactor) -> None:
    """The last look at a message before it leaves; whatever was quoted in it is redacted here."""
    error = failed.error
    text = redactor.text(error.message)
    if text != error.message:
        error.message, error.args, failed.args = text, (text,), (text,)


def redacted(answer: Answer, redactor: Redactor) -> Answer:
    """The answer without secrets."""
    content = redactor.answer(answer.content)
    refusal = None if answer.refusal is None else redactor.answer(answer.refusal)
    if content == answer.content and refusal == answer.refusal:
        return answer
    return evolve(answer, content=content, refusal=refusal)
