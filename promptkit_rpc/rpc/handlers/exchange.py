"""`promptkit/exchange/*`."""

import asyncio
from typing import Any

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.values import array, encoded
from promptkit_rpc.rpc.errors import invalid_params
from promptkit_rpc.rpc.faults import Fault
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.exchange import (
    ExchangeDetails,
    ExchangeDetailsParams,
    ExchangeParams,
)
from promptkit_rpc.rpc.state import State

_STRIDE = 1 << 18
"""After so many bytes encoded, others get their turn."""


async def details(state: State, params: ExchangeDetailsParams, _: Call) -> dict[str, Any]:
    """A page of the conversation, as `ExchangeDetails`; the messages are encoded here.

    A page takes messages while they fit in `maxBytes`, the first one always. The last page is the
    one with the final answer, and takes `content` too, which counts there.
    """
    exchange = state.exchanges.get(params.run_id)
    messages = exchange.history.messages()
    start = _start(params.cursor, len(messages))
    bound = params.max_bytes
    page: list[bytes] = []
    size = 0
    for index in range(start, len(messages)):
        text = encoded((messages[index],))
        last = index == len(messages) - 1
        weight = 2 * len(text) if last else len(text)
        if bound is not None and page and size + weight > bound:
            break
        page.append(text)
        size += weight
        if size // _STRIDE != (size - weight) // _STRIDE:
            await asyncio.sleep(0)
    return _page(exchange, page, start + len(page), len(messages))


def release(state: State, params: ExchangeParams, _: Call) -> None:
    """Lets go of it."""
    state.exchanges.release(params.run_id)


def _page(exchange: Exchange, page: list[bytes], end: int, count: int) -> dict[str, Any]:
    whole = end == count
    told = ExchangeDetails(
        run_id=exchange.run_id,
        parent_run_id=exchange.parent_run_id,
        messages=(),
        content=exchange.content if whole else "",
        next_cursor=None if whole else str(end),
    )
    return unstructure(told) | {"messages": array(page)}


def _start(cursor: str | None, count: int) -> int:
    if cursor is None:
        return 0
    if cursor.isascii() and cursor.isdigit() and len(cursor) <= len(str(count)):
        start = int(cursor)
        if 0 < start < count and cursor == str(start):
            return start
    raise invalid_params((Fault("params.cursor", "not a `nextCursor` of this exchange"),))
