"""Groups: collectors that a client attaches to chosen runs."""

from typing import Annotated

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Count, Doc, Open
from promptkit_rpc.rpc.protocol.usage import Usage


@frozen(kw_only=True)
class GroupParams(Open):
    """Names a group."""

    group_id: Annotated[str, Doc("As `promptkit/group/create` answered.")]


@frozen(kw_only=True)
class GroupCreated:
    """A new, empty group."""

    group_id: Annotated[str, Doc("Names it in requests until it is released.")]


@frozen(kw_only=True)
class GroupMember:
    """A run that the group has seen an observation of."""

    run_id: Annotated[str, Doc("The run.")]
    terminal: Annotated[bool, Doc("Whether its terminal observation has come.")]


@frozen(kw_only=True)
class GroupSnapshot:
    """The group at one moment. Coverage and the completeness of usage are separate things."""

    group_id: Annotated[str, Doc("The group.")]
    runs: Annotated[tuple[GroupMember, ...], Doc("The members, in the order they joined.")]
    complete: Annotated[bool, Doc("No member without a terminal observation.")]
    attempts: Annotated[Count, Doc("Summed over terminal observations.")]
    transient_retries: Annotated[Count, Doc("Summed over terminal observations.")]
    repairs: Annotated[Count, Doc("Summed over terminal observations.")]
    usage: Annotated[Usage, Doc("Summed over terminal observations.")]
