"""How much one rendering may do: steps, and characters of text made on the way.

A step is about the work of one small expression. The budget in force belongs to the thread of
execution that renders, so that what guards a template need not be told of it.
"""

from contextvars import ContextVar

MAX_STEPS = 2_000_000
"""Steps of one rendering: every expression, loop turn and call, and work on long values."""
MAX_TEXT = 16 * 1024 * 1024
"""Characters of one rendered text, or of any one value on the way to it."""
MAX_MADE = 4 * MAX_TEXT
"""Characters of all values made during one rendering."""
MAX_BITS = 14_000
"""Bits of an integer; as many as can still be written in decimal."""

INLINE_STEPS = 3_000
INLINE_MADE = 256 * 1024

_CHARACTERS_PER_STEP = 256
_ITEMS_PER_STEP = 16


class TemplateFault(Exception):  # noqa: N818 - the base of what stops a template
    """A template did what it may not do, or could not do; the message says what."""


class MissingValue(TemplateFault):
    """A variable, key or attribute that is not there was used."""


class MissingVariable(MissingValue):
    """It was a variable, with this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the variable {name!r} is not set; give it a value in `variables`")
        self.name = name


class Refused(TemplateFault):
    """What a template reached for is out of its bounds."""


class LimitReached(TemplateFault):
    """One value is too large for any budget."""


class BudgetSpent(LimitReached):
    """The budget in force is used up; a larger one may do."""


class Budget:
    """Counts down. `stop` may be called from another thread."""

    __slots__ = ("made", "steps", "stopped")

    def __init__(self, steps: int = MAX_STEPS, made: int = MAX_MADE) -> None:
        self.steps = steps
        self.made = made
        self.stopped = False

    @classmethod
    def inline(cls) -> "Budget":
        """So little that using it up takes a few milliseconds at most."""
        return cls(INLINE_STEPS, INLINE_MADE)

    def stop(self) -> None:
        """Ends the rendering at its next step."""
        self.stopped = True


BUDGET: ContextVar[Budget] = ContextVar("BUDGET")
"""The budget in force."""


def tick(steps: int = 1) -> None:
    """Pays for steps.

    Raises:
        BudgetSpent: there are none left, or the rendering was stopped.
    """
    budget = BUDGET.get()
    budget.steps -= steps
    if budget.steps < 0 or budget.stopped:
        raise BudgetSpent(f"the template takes more than {MAX_STEPS} steps")


def make_text(length: int) -> None:
    """Pays for a text of so many characters, before it is made.

    Raises:
        LimitReached: no text may be that long.
        BudgetSpent: too much text has been made already.
    """
    if length > MAX_TEXT:
        raise LimitReached(f"the template makes a text of more than {MAX_TEXT} characters")
    budget = BUDGET.get()
    budget.made -= length
    if budget.made < 0:
        raise BudgetSpent(f"the template makes more than {MAX_MADE} characters on the way")
    if length >= _CHARACTERS_PER_STEP:
        tick(length // _CHARACTERS_PER_STEP)


def read_text(length: int) -> None:
    """Pays for going through a text once."""
    if length >= _CHARACTERS_PER_STEP:
        tick(length // _CHARACTERS_PER_STEP)


def make_items(count: int) -> None:
    """Pays for a list or mapping of so many items, or for going through one fast."""
    if count >= _ITEMS_PER_STEP:
        tick(count // _ITEMS_PER_STEP)
