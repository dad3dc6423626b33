"""The table of handlers, held against the table of methods."""

from typing import Any

import attrs
import pytest

from promptkit_rpc.rpc.handlers import HANDLERS, handler_of, params_of
from promptkit_rpc.rpc.protocol.methods import METHODS, Direction, Method, MethodKind

ASKED = [
    method
    for method in METHODS
    if (method.direction, method.kind) == (Direction.CLIENT, MethodKind.REQUEST)
]


def test_every_request_of_a_client_has_a_handler_and_no_other_has_one() -> None:
    assert list(HANDLERS) == [method.name for method in ASKED]


@pytest.mark.parametrize("method", ASKED, ids=lambda method: method.name)
def test_a_handler_takes_and_gives_what_its_method_says(method: Method) -> None:
    """One that encodes its result by itself gives plain data; its own tests look at that."""
    handler: Any = handler_of(method.name)
    given = handler.__annotations__["return"]
    assert params_of(handler) is method.params
    assert given is method.result or not attrs.has(given)
