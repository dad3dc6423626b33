"""Compiles templates, runs them, and finds the place of a fault."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, cast

import jinja2
from jinja2 import meta
from jinja2 import nodes as syntax
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from promptkit_rpc.definitions.files import FileRefused
from promptkit_rpc.definitions.sandbox import filters, values
from promptkit_rpc.definitions.sandbox.budget import MAX_TEXT, LimitReached, TemplateFault
from promptkit_rpc.definitions.sandbox.environment import GLOBALS, Environment, Undefined
from promptkit_rpc.definitions.sandbox.methods import method_of

MAX_CODE = 32 * 1024
"""Characters of one template between braces."""

_CODE = re.compile(r"\{[{%](?:.*?[}%]\}|.*)", re.DOTALL)
_BLANKS = "\x1c\x1d\x1e\x1f\u2028\u2029"
_MAX_WORDS = 300
_GUARDS = frozenset(("defined", "undefined", "default", "d"))

Include = Callable[[str], tuple[str, Callable[[], bool]]]
"""The text of a file named in a template, and what tells whether it is unchanged since.

Raises `FileRefused`, with a whole phrase for its message, where the file may not be included.
"""


References = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]
"""Members of a variable and files to include, each name with its line from 1."""


class _Loader(jinja2.BaseLoader):
    def __init__(self, include: Include) -> None:
        self._include = include

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        del environment
        try:
            text, unchanged = self._include(template)
        except FileRefused as error:
            raise jinja2.TemplateNotFound(template, str(error)) from None
        return text, template, unchanged


class SyntaxFault(Exception):  # noqa: N818 - a fault of a template, not of this program
    """A template cannot be compiled; `line` counts from 1 in its source."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


Compiled = jinja2.Template


class _Exact(Environment):
    """Reads an included file as it reads a template."""

    def compile(self, source: Any, name: str | None = None, *rest: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - what is passed on is theirs
        """Text comes here for what is included only."""
        if isinstance(source, str):
            try:
                source = _parsed(self, source)
            except SyntaxFault as fault:
                raise jinja2.TemplateSyntaxError(fault.message, fault.line, name) from None
        return cast("Any", super()).compile(source, name, *rest)


class Engine:
    """Compiles and runs templates that share what they can include."""

    def __init__(self, include: Include) -> None:
        self._environment = _Exact(
            undefined=Undefined,
            autoescape=False,
            keep_trailing_newline=True,
            optimized=False,
            finalize=values.text,
            loader=_Loader(include),
        )
        with_environment = {
            name: jinja2.pass_environment(function)
            for name, function in filters.WITH_ENVIRONMENT.items()
        }
        self._environment.globals = dict(GLOBALS)
        self._environment.filters = {**filters.made_of(FILTERS), **with_environment}
        self._environment.tests = filters.tests_made_of(TESTS)

    def check(self, source: str) -> None:
        """Parses a template without compiling it.

        Raises:
            SyntaxFault: it is none, or names a filter or test that there is not.
        """
        try:
            unknown = self._unknown(_parsed(self._environment, source))
        except RecursionError as error:
            raise _syntax_fault(error) from None
        if unknown is not None:
            raise unknown

    def _unknown(self, tree: syntax.Template) -> SyntaxFault | None:
        for node in tree.find_all((syntax.Filter, syntax.Test)):
            what, known = "filter", self._environment.filters
            if isinstance(node, syntax.Test):
                what, known = "test", self._environment.tests
            if node.name not in known:
                return SyntaxFault(f"there is no {what} {node.name!r}", node.lineno)
        return None

    def compile(self, source: str) -> Compiled:
        """Compiles a template.

        Raises:
            SyntaxFault: it is none.
        """
        self.check(source)
        try:
            code = self._environment.compile(_parsed(self._environment, source))
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises is the template's
            raise _syntax_fault(error) from None
        return Compiled.from_code(self._environment, code, self._environment.make_globals(None))

    def references(self, source: str, variable: str) -> References:
        """The constant names under which a template takes members of a variable, and files.

        Raises:
            SyntaxFault: it is no template.
        """
        tree = _parsed(self._environment, source)
        try:
            return tuple(_members(tree, variable)), tuple(_includes(tree))
        except Exception as error:  # noqa: BLE001 - as in compile
            raise _syntax_fault(error) from None

    def names(self, source: str) -> frozenset[str]:
        """The variables a template takes from outside.

        Raises:
            SyntaxFault: it is no template.
        """
        tree = _parsed(self._environment, source)
        try:
            return frozenset(meta.find_undeclared_variables(tree) - GLOBALS.keys())
        except Exception as error:  # noqa: BLE001 - as in compile
            raise _syntax_fault(error) from None


def _includes(tree: syntax.Template) -> Iterator[tuple[str, int]]:
    for node in tree.find_all((syntax.Include, syntax.Import, syntax.FromImport, syntax.Extends)):
        name = getattr(node, "template", None)
        optional = isinstance(node, syntax.Include) and node.ignore_missing
        if isinstance(name, syntax.Const) and isinstance(name.value, str) and not optional:
            yield name.value, node.lineno


def _members(tree: syntax.Template, variable: str) -> Iterator[tuple[str, int]]:
    """Members of a variable from outside, but those the template can do without."""
    taken = [
        (node, _member(node))
        for node in tree.find_all((syntax.Getattr, syntax.Getitem))
        if isinstance(node.node, syntax.Name) and node.node.name == variable
    ]
    if not taken or variable not in meta.find_undeclared_variables(tree):
        return
    guards = tree.find_all((syntax.Filter, syntax.Test))
    guarded = {id(guard.node) for guard in guards if guard.name in _GUARDS}
    spared = {name for node, name in taken if id(node) in guarded}
    for node, name in taken:
        if name is not None and name not in spared and not method_of({}, name):
            yield name, node.lineno


def _member(node: syntax.Getattr | syntax.Getitem) -> str | None:
    if isinstance(node, syntax.Getattr):
        return node.attr
    name = node.arg
    return name.value if isinstance(name, syntax.Const) and isinstance(name.value, str) else None


def _parsed(environment: Environment, source: str) -> syntax.Template:
    if sum(map(len, _CODE.findall(source))) > MAX_CODE:
        message = f"a template may hold {MAX_CODE} characters of code between braces"
        raise SyntaxFault(message, 1)
    # The lexer turns every carriage return into a line feed; text must come out as it went in.
    stand_in = next((char for char in _BLANKS if char not in source), "\n")
    try:
        tree = environment.parse(source.replace("\r", stand_in))
    except Exception as error:  # noqa: BLE001 - whatever the parser raises is the template's
        raise _syntax_fault(error) from None
    if "\r" in source and stand_in != "\n":
        for data in tree.find_all(syntax.TemplateData):
            data.data = data.data.replace(stand_in, "\r")
        for constant in tree.find_all(syntax.Const):
            if isinstance(constant.value, str):
                constant.value = constant.value.replace(stand_in, "\r")
    return tree


def _syntax_fault(error: Exception) -> SyntaxFault:
    if isinstance(error, jinja2.TemplateSyntaxError):
        return SyntaxFault(error.message or "the template cannot be read", error.lineno)
    if isinstance(error, RecursionError | MemoryError):
        return SyntaxFault("the template is nested too deep", 1)
    return SyntaxFault("the template cannot be compiled", 1)


def run(compiled: Compiled, variables: Mapping[str, Any]) -> str:
    """Renders under the budget in force; raises whatever happens."""
    pieces: list[str] = []
    length = 0
    for piece in compiled.root_render_func(compiled.new_context(dict(variables))):
        length += len(piece)
        if length > MAX_TEXT:
            raise LimitReached(f"the template makes a text of more than {MAX_TEXT} characters")
        pieces.append(piece)
    return "".join(pieces)


def describe(error: Exception) -> tuple[str, str | None, int | None]:
    """What went wrong in a rendering: words, the included file if it was in one, and the line."""
    file, line = _place(error.__traceback__)
    match error:
        case TemplateFault():
            words = str(error)
        case jinja2.TemplateSyntaxError():
            return error.message or "no template", error.name, error.lineno
        case jinja2.TemplateNotFound():
            words = error.message or "a file to include is missing"
        case RecursionError():
            words = "macros, loops or includes are nested too deep"
        case MemoryError():
            words = "the template takes too much memory"
        case _:
            words = str(error)[:_MAX_WORDS] or type(error).__name__
    return words, file, line


def _place(traceback: TracebackType | None) -> tuple[str | None, int | None]:
    """The file and line of the innermost template that was running."""
    file: str | None = None
    line: int | None = None
    while traceback is not None:
        template = traceback.tb_frame.f_globals.get("__jinja_template__")
        if isinstance(template, Compiled):
            file = template.name
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return file, line
