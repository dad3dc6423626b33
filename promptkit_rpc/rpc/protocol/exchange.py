"""Held exchanges, named by the run they came from."""

from typing import Annotated

from attrs import field, frozen

from promptkit_rpc.rpc.protocol.base import Doc, Open, Positive
from promptkit_rpc.rpc.protocol.message import Message


@frozen(kw_only=True)
class ExchangeParams(Open):
    """Names a held exchange."""

    run_id: Annotated[str, Doc("The run it came from.")]


@frozen(kw_only=True)
class ExchangeDetailsParams(ExchangeParams):
    """Reads it whole, or page by page."""

    cursor: Annotated[
        str | None, Doc("`nextCursor` of the page before; from the start if absent.")
    ] = None
    max_bytes: Annotated[
        Positive | None,
        Doc(
            "The most bytes of encoded messages in a page, but one message always comes; "
            "everything that is left if absent."
        ),
    ] = None


@frozen(kw_only=True)
class ExchangeDetails:
    """A page of the conversation. Pages joined in order, content too, are the whole."""

    run_id: Annotated[str, Doc("The run it came from.")]
    parent_run_id: Annotated[str | None, Doc("The run whose exchange that run continued.")] = None
    messages: Annotated[
        tuple[Message, ...], Doc("All messages sent, then the final answer; of this page.")
    ] = field(repr=False)
    content: Annotated[
        str, Doc("The final answer, also the last message; empty on pages before the last.")
    ] = field(repr=False)
    next_cursor: Annotated[str | None, Doc("Where the next page starts; absent on the last.")] = (
        None
    )
