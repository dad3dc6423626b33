from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from promptkit_rpc.backends.http.retry_after import retry_after

NOW = 1_800_000_000.0


def asked(**headers: str) -> float | None:
    return retry_after({name.replace("_", "-"): v for name, v in headers.items()}, lambda: NOW)


def date(offset: float) -> str:
    return format_datetime(datetime.fromtimestamp(NOW + offset, UTC), usegmt=True)


def test_seconds_are_taken_as_they_are() -> None:
    """RET-2, T-01."""
    assert asked(retry_after="7") == 7
    assert asked(retry_after="0.5") == 0.5
    assert asked(retry_after=" 2 ") == 2


def test_a_date_is_counted_from_now() -> None:
    """RET-2, T-01."""
    assert asked(retry_after=date(2)) == 2
    assert asked(retry_after=date(86_400)) == 86_400


@pytest.mark.parametrize("value", ["-5", "0", "-0", date(-1), "Fri, 01 May 2015 10:00:00 GMT"])
def test_what_lies_in_the_past_is_no_wait(value: str) -> None:
    """RET-2, T-01: never a negative wait."""
    assert asked(retry_after=value) == 0


@pytest.mark.parametrize(
    "value",
    ["", "soon", "nan", "inf", "-inf", "٣", "1e999", "Fri, 99 Foo 2015", "9" * 400, "2026-01-01"],
)
def test_what_means_nothing_is_ignored(value: str) -> None:
    """T-01."""
    assert asked(retry_after=value) is None


def test_a_date_without_a_zone_is_in_universal_time() -> None:
    assert asked(retry_after=date(3).replace("GMT", "-0000")) == 3


def test_milliseconds_are_more_exact_and_win() -> None:
    """RET-2."""
    assert asked(retry_after_ms="1500", retry_after="9") == 1.5
    assert asked(retry_after_ms="-3") == 0
    assert asked(retry_after_ms="soon", retry_after="9") == 9


def test_without_a_header_nothing_is_asked() -> None:
    assert asked() is None
