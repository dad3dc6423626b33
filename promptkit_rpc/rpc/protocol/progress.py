"""What `$/progress` carries in both directions, as LSP has it and for streamed text."""

from typing import Annotated, Any, Literal

from attrs import field, frozen

from promptkit_rpc.rpc.protocol.base import Doc, Open, Positive, Token


@frozen(kw_only=True)
class WorkDoneBegin:
    """Work began (LSP 3.17, WorkDoneProgressBegin)."""

    kind: Annotated[Literal["begin"], Doc("The step.")] = "begin"
    title: Annotated[str, Doc("What is done.")]
    cancellable: Annotated[bool, Doc("Whether a cancel is of use.")]
    message: Annotated[str | None, Doc("What goes on at the moment.")] = None


@frozen(kw_only=True)
class WorkDoneReport:
    """Work goes on (LSP 3.17, WorkDoneProgressReport)."""

    kind: Annotated[Literal["report"], Doc("The step.")] = "report"
    message: Annotated[str | None, Doc("What goes on at the moment.")] = None


@frozen(kw_only=True)
class WorkDoneEnd:
    """Work ended (LSP 3.17, WorkDoneProgressEnd)."""

    kind: Annotated[Literal["end"], Doc("The step.")] = "end"
    message: Annotated[str | None, Doc("How it ended.")] = None


@frozen(kw_only=True)
class TextDelta:
    """The next piece of an attempt's text."""

    attempt: Annotated[Positive, Doc("Counts from 1 within the run.")]
    text: Annotated[str, Doc("The piece.")] = field(repr=False)


@frozen(kw_only=True)
class TextReset:
    """Everything streamed of this attempt is void; another follows."""

    attempt: Annotated[Positive, Doc("The attempt that is abandoned.")]
    reset: Annotated[Literal[True], Doc("Always true.")] = True


@frozen(kw_only=True)
class ServerProgress:
    """Progress of a request, for people (`workDoneToken`) or as text (`partialResultToken`)."""

    token: Annotated[Token, Doc("As the request gave it.")]
    value: Annotated[
        WorkDoneBegin | WorkDoneReport | WorkDoneEnd | TextDelta | TextReset, Doc("The step.")
    ]


@frozen(kw_only=True)
class ClientProgress(Open):
    """A piece of text for an open `promptkit/backend/generate`; other tokens are let pass."""

    token: Annotated[Token, Doc("Its `partialResultToken`.")]
    value: Annotated[Any, Doc("`{text}`, the next piece.")] = field(default=None, repr=False)
