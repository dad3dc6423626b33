"""What was measured under load: told at the end of the test run, never asserted."""

FIGURES: list[str] = []
"""Lines for people."""


def tell(line: str) -> None:
    """Keeps a line for the end."""
    FIGURES.append(line)


def megabytes(size: int) -> str:
    """A size in words."""
    return f"{size / 1_000_000:.1f} MB"
