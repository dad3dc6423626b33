"""Templates as values, and their rendering: small ones at once, others off the event loop.

Rendered text is exactly what the template gives. Knows nothing of prompts; the engine itself is
loaded when a template is more than text and dotted names.
"""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from promptkit_rpc.definitions.files import FileRefused
from promptkit_rpc.definitions.sandbox.budget import (
    BUDGET,
    Budget,
    BudgetSpent,
    MissingVariable,
    TemplateFault,
)
from promptkit_rpc.definitions.sandbox.simple import Plan, fill, members_of, names_of, plan_of
from promptkit_rpc.errors import Location, TemplateFailed

if TYPE_CHECKING:
    from promptkit_rpc.definitions.sandbox.engine import Compiled, Engine, Include, References

MAX_SECONDS = 20.0
"""How long one rendering may take, off the loop; steps are counted besides."""
INLINE_SOURCE = 1_024
"""Characters of a template that is compiled on the loop."""

# Threads of their own: a hostile template must not keep those from the loop that read files.
_SLOW = ThreadPoolExecutor(max_workers=4, thread_name_prefix="render")

MEMBERS_OF = "inputs"
"""The variable whose members are known before rendering."""

_LOADS = ("include", "import", "extends")


def _nothing(_: str) -> NoReturn:
    raise FileRefused("nothing can be included here")


class Sandbox:
    """What a set of templates shares: the files they may include, named below one folder.

    `only` says in words which variables there are, where no request can give others.
    """

    def __init__(self, include: "Include" = _nothing, folder: str = "", only: str = "") -> None:
        self.folder = folder
        self.only = only
        self._include = include
        self._engine: Engine | None = None

    def include_fault(self, name: str) -> str | None:
        """Why a file cannot be included now, or None where it can."""
        try:
            self._include(name)
        except FileRefused as error:
            return str(error)
        return None

    @property
    def engine(self) -> "Engine":
        """The template engine, made when first asked for."""
        if self._engine is None:
            from promptkit_rpc.definitions.sandbox.engine import Engine  # noqa: PLC0415 - 40 ms

            self._engine = Engine(self._include)
        return self._engine


_ALONE = Sandbox()


class Template:
    """An immutable template with the place it stands at.

    `lined` says that each line of the source is a line of the file, from the location on. Without
    a sandbox nothing can be included.
    """

    __slots__ = ("_compiled", "_lined", "_plan", "_references", "_sandbox", "location", "source")

    def __init__(
        self,
        source: str,
        location: Location,
        *,
        lined: bool = False,
        sandbox: Sandbox = _ALONE,
    ) -> None:
        self.source = source
        self.location = location
        self._lined = lined
        self._sandbox = sandbox
        self._plan: Plan | None = plan_of(source)
        self._compiled: Compiled | None = None
        self._references: References | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Template):
            return NotImplemented
        return (self.source, self.location) == (other.source, other.location)

    def __hash__(self) -> int:
        return hash((self.source, self.location))

    def __repr__(self) -> str:
        return f"<Template at {self.location}>"

    def problem(self) -> tuple[str, Location] | None:
        """What is wrong with its syntax, and where; None when nothing is."""
        if self._plan is not None:
            return None
        from promptkit_rpc.definitions.sandbox.engine import SyntaxFault  # noqa: PLC0415 - 40 ms

        try:
            self._sandbox.engine.check(self.source)
        except SyntaxFault as fault:
            return fault.message, self._at(fault.line)
        return None

    def names(self) -> frozenset[str]:
        """The variables it takes from outside, `inputs` among them; empty if it is no template."""
        if self._plan is not None:
            return names_of(self._plan)
        from promptkit_rpc.definitions.sandbox.engine import SyntaxFault  # noqa: PLC0415 - 40 ms

        try:
            return self._sandbox.engine.names(self.source)
        except SyntaxFault:
            return frozenset()

    @property
    def constant(self) -> str | None:
        """Its text, where that is the same whatever the variables."""
        if self._plan is None or len(self._plan) > 1:
            return None
        part = self._plan[0] if self._plan else ""
        return part if isinstance(part, str) else None

    def members(self) -> tuple[tuple[str, Location], ...]:
        """What it takes of `inputs` by a constant name and cannot do without, with the places."""
        if self._plan is not None:
            names = members_of(self._plan, MEMBERS_OF)
            return tuple((name, self._at(self._line_of(f"{MEMBERS_OF}.{name}"))) for name in names)
        return tuple((name, self._at(line)) for name, line in self._referred()[0])

    def includes(self) -> tuple[tuple[str, Location], ...]:
        """The files it includes by a constant name, with the places."""
        if self._plan is not None:
            return ()
        return tuple((name, self._at(line)) for name, line in self._referred()[1])

    def include_fault(self, name: str) -> str | None:
        """Why a file cannot be included now, or None where it can."""
        return self._sandbox.include_fault(name)

    def _referred(self) -> "References":
        if self._references is None:
            from promptkit_rpc.definitions.sandbox.engine import SyntaxFault  # noqa: PLC0415 - 40 ms

            try:
                self._references = self._sandbox.engine.references(self.source, MEMBERS_OF)
            except SyntaxFault:
                self._references = (), ()
        return self._references

    @property
    def quick(self) -> bool:
        """Whether starting to render it cannot hold up the loop."""
        if self._plan is not None:
            return True
        if any(word in self.source for word in _LOADS):
            return False
        return self._compiled is not None or len(self.source) <= INLINE_SOURCE

    def render(self, variables: Mapping[str, Any]) -> str:
        """Renders here and now, under the budget in force; most callers want `render` below.

        Raises:
            BudgetSpent: the budget is too small.
            TemplateFailed: it cannot be rendered with these variables.
        """
        text = None if self._plan is None else fill(self._plan, variables)
        if text is not None:
            return text
        from promptkit_rpc.definitions.sandbox.engine import run  # noqa: PLC0415 - 40 ms

        try:
            return run(self._ready(), variables)
        except BudgetSpent:
            raise
        except TemplateFault as fault:
            raise self.failed(fault) from None
        except Exception as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> TemplateFailed:
        """A fault while rendering, as the error to report."""
        from promptkit_rpc.definitions.sandbox.engine import (  # noqa: PLC0415 - 40 ms
            SyntaxFault,
            describe,
        )

        words, file, line = describe(error)
        if self._sandbox.only and isinstance(error, MissingVariable):
            words = f"the variable {error.name!r} is not set; {self._sandbox.only}"
        if isinstance(error, SyntaxFault):
            location = self._at(error.line)
        elif file is None:
            location = self._at(line)
        else:
            location = Location(f"{self._sandbox.folder}{file}", line)
        return TemplateFailed(f"{location}: {words}", location=location)

    def _ready(self) -> "Compiled":
        if self._compiled is None:
            self._compiled = self._sandbox.engine.compile(self.source)
        return self._compiled

    def _line_of(self, words: str) -> int:
        return self.source.count("\n", 0, self.source.find(words)) + 1

    def _at(self, line: int | None) -> Location:
        first = self.location.line
        if not self._lined or line is None or first is None:
            return self.location
        return Location(self.location.file, first + line - 1, 1)


async def render(template: Template, variables: Mapping[str, Any]) -> str:
    """The text of a template over variables, which are data and are not changed.

    Raises:
        TemplateFailed: a variable is not set, a limit is reached, or the template is at fault;
            with the place, and the variable's name.
    """
    (text,) = await render_all((template,), variables)
    return text


async def render_all(
    templates: Sequence[Template], variables: Mapping[str, Any]
) -> tuple[str, ...]:
    """The texts of several templates, under one budget.

    Raises:
        TemplateFailed: as for `render`.
    """
    if all(template.quick for template in templates):
        try:
            with _budget(Budget.inline()):
                return tuple(template.render(variables) for template in templates)
        except BudgetSpent:
            pass  # once more, with a larger budget, where it delays nobody
    budget = Budget()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_SLOW, _render_each, templates, variables, budget)
    except TimeoutError:
        location = templates[0].location
        message = f"{location}: rendering takes longer than {MAX_SECONDS:g} seconds"
        raise TemplateFailed(message, location=location) from None
    finally:
        budget.stop()


def _render_each(
    templates: Sequence[Template], variables: Mapping[str, Any], budget: Budget
) -> tuple[str, ...]:
    texts: list[str] = []
    with _budget(budget):
        for template in templates:
            try:
                texts.append(template.render(variables))
            except BudgetSpent as spent:
                raise template.failed(spent) from None
    return tuple(texts)


@contextmanager
def _budget(budget: Budget) -> Generator[None]:
    token = BUDGET.set(budget)
    try:
        yield
    finally:
        BUDGET.reset(token)
