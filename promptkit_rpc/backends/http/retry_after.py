"""When a provider wants to be asked again. Pure.

RFC 9110, section 10.2.3 (seconds or a date); `retry-after-ms` is OpenAI's.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    """Seconds to wait from now: never negative; None where nothing usable is said.

    `now` gives seconds since the epoch. Header names are in lower case.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    return _until(text, now) if seconds is None else seconds


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None and text.isascii() else math.nan
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _until(text: str, now: Callable[[], float]) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        when = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        return max(0.0, when.timestamp() - now())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
