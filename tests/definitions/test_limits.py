"""What templates may not reach, and how much they may do."""

import asyncio
import copy
from typing import Any

import pytest

from promptkit_rpc.definitions import template as engine
from promptkit_rpc.definitions.sandbox import budget
from promptkit_rpc.definitions.sandbox.engine import run
from promptkit_rpc.definitions.template import Sandbox, Template, render
from promptkit_rpc.errors import Location, TemplateFailed
from tests.support.definitions import template

GROW = "{% set ns = namespace(a=START, b=START) %}{% for i in range(99) %}STEP{% endfor %}"


def grown(start: str, step: str, use: str) -> str:
    """A template that doubles `ns.a` and `ns.b` ninety-nine times, then uses them."""
    twice = step.replace("x", "ns.a")
    again = step.replace("x", "ns.b")
    body = f"{{% set ns.a = {twice} %}}{{% set ns.b = {again} %}}"
    return GROW.replace("START", start).replace("STEP", body) + use


REACHES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ x.__class__ }}",
    "{{ (1).__class__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ namespace.mro() }}",
    "{{ joiner.__call__.__globals__ }}",
    "{{ range.__self__ }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{% for i in x %}{{ loop._iterator }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
    "{{ x|map(attribute='__class__')|list }}",
    "{{ x|map('attr', '__class__')|list }}",
    "{{ x|sort(attribute='__class__') }}",
    "{{ x|groupby('__class__') }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '{0[__class__]}'.format('') }}",
    "{{ '{a.__class__}'.format_map({'a': 1}) }}",
    "{{ 'x'.format.__globals__ }}",
    "{{ x.append(1) }}",
    "{{ x.sort() }}",
    "{{ x.clear() }}",
    "{{ d.update({'k': 2}) }}",
    "{{ d.pop('k') }}",
    "{{ d.setdefault('n', 1) }}",
    "{{ d.fromkeys(x, 1) }}",
    "{{ dict.fromkeys(x, 1) }}",
    "{% do x.append(1) %}",
    "{% set x.y = 1 %}",
    "{% set d.k = 1 %}",
    "{{ x.append }}",
    "{{ d.items }}",
    "{{ range }}",
    "{{ self }}",
    "{{ namespace(a=1) }}",
    "{{ [namespace(a=1)] }}",
    "{{ [range] }}",
    "{{ x|random }}",
    "{{ lipsum() }}",
    "{{ x() }}",
    "{{ d.get('k')() }}",
    "{{ 'x'.encode() }}",
    "{{ (5).to_bytes(10**9, 'big') }}",
]

TOO_MUCH = [
    "{{ 'a' * 10**9 }}",
    "{{ 10**9 * 'a' }}",
    "{{ [1] * 10**9 }}",
    "{{ 10**(10**9) }}",
    "{{ 2**14000 * 2**14000 }}",
    "{% set ns = namespace(n=3) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "{% for i in range(10**9) %}{% endfor %}",
    "{{ range(0, 10**99, 1)|list }}",
    "{{ 'a'.center(10**9) }}",
    "{{ 'a'.ljust(10**9) }}",
    "{{ 'a'.rjust(10**9) }}",
    "{{ 'a'.zfill(10**9) }}",
    "{{ '\t'.expandtabs(10**9) }}",
    "{{ 'a'|center(10**9) }}",
    "{{ 'a\n'|indent(10**9) }}",
    "{{ ('a\n' * 10**6)|indent(99) }}",
    "{{ ('a ' * 10**6)|wordwrap(1, true, 'b' * 99) }}",
    "{{ ('a' * 10**7)|wordwrap(1) }}",
    "{{ 'a'.replace('', 'b' * 10**7).replace('b', 'bb') }}",
    "{{ ('a' * 10**6)|replace('a', 'b' * 99) }}",
    "{{ ('b' * 10**5).join('a' * 10**5) }}",
    "{{ ('a' * 10**5)|join('b' * 10**5) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%.1000000000f' % 1 }}",
    "{{ '%*d' % (10**9, 1) }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '%1000000000d' is divisibleby(1) }}",
    "{{ '%1000000000d' is even }}",
    "{{ ('%(a)s' * 10**4) % {'a': 'b' * 10**6} }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:{w}}'.format(1, w=10**9) }}",
    "{{ 1.5|round(10**9, 'ceil') }}",
    "{{ x|batch(10**9, 1)|list }}",
    "{{ x|slice(10**9)|list }}",
    "{{ x|slice(slices=10**9)|list }}",
    "{{ {'a': x}|tojson(indent=10**9) }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{% set y = range(99999)|map('string')|list %}{% endfor %}",
    "{% for i in range(99999) %}{% set y = range(99999)|list|length %}{% endfor %}",
    "{% for i in range(99999) %}{% set y = 'q' in range(99999) %}{% endfor %}",
    "{% set l = range(99999)|list %}{% for i in l %}{% set y = l[:] %}{% endfor %}",
    "{% set l = range(99999)|list %}{% for i in l %}{% set y = [l == l[:]] %}{% endfor %}",
    "{% set s = 'a' * 10**7 %}{% for i in range(99999) %}{% set y = s == s ~ '' %}{% endfor %}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% for i in [x] recursive %}{{ loop([x, x]) }}{% endfor %}",
    grown("'ab'", "x ~ x", "{{ ns.a }}"),
    grown("'ab'", "x + x", "{{ ns.a }}"),
    grown("[1]", "x + x", "{{ ns.a }}"),
    grown("'ab'", "[x, x]|join", "{{ ns.a }}"),
    grown("[1]", "[x, x]", "{{ ns.a }}"),
    grown("[1]", "[x, x]", "{{ ns.a == ns.b }}"),
    grown("[1]", "[x, x]", "{{ ns.a < ns.b }}"),
    grown("[1]", "[x, x]", "{{ ns.a in [ns.b] }}"),
    grown("[1]", "[x, x]", "{{ [ns.b].index(ns.a) }}"),
    grown("[1]", "[x, x]", "{{ [ns.b].count(ns.a) }}"),
    grown("[1]", "[x, x]", "{{ [ns.a, ns.b]|sort }}"),
    grown("[1]", "[x, x]", "{{ [ns.a, ns.b]|max }}"),
    grown("[1]", "[x, x]", "{{ ns.a is eq ns.b }}"),
    grown("[1]", "[x, x]", "{{ [ns.a]|select('eq', ns.b)|list }}"),
    grown("[1]", "[x, x]", "{{ ns.a|tojson }}"),
    grown("[1]", "[x, x]", "{{ ns.a|string|length }}"),
    grown("[1]", "[x, x]", "{{ ns.a|upper }}"),
    grown("[1]", "[x, x]", "{{ ns.a|urlencode }}"),
    grown("[1]", "[x, x]", "{{ '%s' % ns.a }}"),
    grown("[1]", "[x, x]", "{{ '%s' % [ns.a] }}"),
    grown("[1]", "[x, x]", "{{ '{}'.format(ns.a) }}"),
    grown("[1]", "[x, x]", "{{ '{!r:.1}'.format(ns.a) }}"),
    grown("[1]", "[x, x]", "{{ 'a'.replace('a', ns.a|string) }}"),
    grown("[1]", "[x, x]", "{{ [1, ns.a]|join }}"),
    grown("[1]", "[x, x]", "{{ ns.a ~ '' }}"),
    grown("[1]", "[x, x]", "{% for i in [ns.a, ns.b] %}{{ loop.changed(i) }}{% endfor %}"),
    grown("(1, 2)", "(x, x)", "{{ {ns.a: 1} }}"),
    grown("(1, 2)", "(x, x)", "{{ {}[ns.a] }}"),
    grown("(1, 2)", "(x, x)", "{{ {}.get(ns.a) }}"),
    grown("(1, 2)", "(x, x)", "{{ ns.a in {} }}"),
    grown("(1, 2)", "(x, x)", "{{ [ns.a]|unique|list }}"),
    grown("{'k': 1}", "{'k': x, 'l': x}", "{{ ns.a }}"),
    grown("{'k': 1}", "{'k': x, 'l': x}", "{{ ns.a.items() }}"),
    grown("{'k': 1}", "{'k': x, 'l': x}", "{{ ns.a.values()|list }}"),
    grown("{'k': 1}", "dict(k=x, l=x)", "{{ ns.a|dictsort(by='value') }}"),
    grown("{'k': 1}", "[x, x]|batch(2, x)|list", "{{ ns.a }}"),
]


async def failure_of(one: Template, variables: dict[str, Any]) -> TemplateFailed:
    async with asyncio.timeout(60):
        with pytest.raises(TemplateFailed) as caught:
            await render(one, variables)
    return caught.value


@pytest.mark.parametrize("source", REACHES)
async def test_a_template_reaches_nothing_but_data(source: str) -> None:
    """P-03, SEC-2: and the caller's data stays as it was."""
    variables: dict[str, Any] = {"x": [3, 1], "d": {"k": [1]}}
    before = copy.deepcopy(variables)
    error = await failure_of(template(source), variables)
    assert variables == before
    assert "object at 0x" not in error.message
    assert error.location is not None
    assert error.location.line == 10


@pytest.mark.parametrize("source", TOO_MUCH)
async def test_a_template_that_does_too_much_is_stopped(source: str) -> None:
    """P-03."""
    error = await failure_of(template(source), {"x": [1, 2]})
    words = ("more than", "at most", "nested too deep")
    assert any(word in error.message for word in words), error.message


async def test_the_limits_are_these() -> None:
    assert (budget.MAX_STEPS, budget.MAX_TEXT) == (2_000_000, 16 * 1024 * 1024)
    text = await render(template("{{ 'a' * n }}"), {"n": budget.MAX_TEXT})
    assert len(text) == budget.MAX_TEXT
    await failure_of(template("{{ 'a' * n }}"), {"n": budget.MAX_TEXT + 1})
    half = "a" * (budget.MAX_TEXT // 2)
    assert len(await render(template("{{ a }}{{ a }}"), {"a": half})) == budget.MAX_TEXT
    await failure_of(template("{{ a }}{{ a }}b"), {"a": half})
    await failure_of(template("{{ a|string }}{{ a }}b"), {"a": half})


async def test_other_work_goes_on_while_a_template_does_too_much() -> None:
    """P-03: what is not done at once is done off the loop."""
    source = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    hostile = asyncio.create_task(failure_of(template(source), {}))
    turns = 0
    while not hostile.done():
        await asyncio.sleep(0)
        turns += 1
    assert "more than 2000000 steps" in hostile.result().message
    assert turns > 50


async def test_cancelling_stops_a_template_that_is_being_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RET-3."""
    made: list[budget.Budget] = []
    begun = asyncio.Event()
    original = budget.Budget

    def watched(*args: int) -> budget.Budget:
        made.append(original(*args))
        begun.set()
        return made[-1]

    monkeypatch.setattr(watched, "inline", original.inline, raising=False)
    monkeypatch.setattr(engine, "Budget", watched)
    source = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    task = asyncio.create_task(render(template(source), {}))
    async with asyncio.timeout(10):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert made[0].stopped


async def test_a_template_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted, but a time limit stands behind them."""
    monkeypatch.setattr(engine, "MAX_SECONDS", 0.0)
    source = "{% for i in range(9999) %}{{ i }}{% endfor %}"
    error = await failure_of(Template(source, Location("f.yaml", 3, 1)), {})
    assert error.message == "f.yaml:3:1: rendering takes longer than 0 seconds"


async def test_what_is_long_but_within_bounds_is_rendered_off_the_loop() -> None:
    source = "{% for i in range(50000) %}{{ i }},{% endfor %}"
    text = await render(template(source), {})
    assert text == "".join(f"{i}," for i in range(50000))


class Bystander:
    """An object of a host program among the variables."""

    def __init__(self) -> None:
        self.name = "n"
        self.called = False

    def act(self) -> str:
        """Must not be called by a template."""
        self.called = True
        return "acted"

    def __str__(self) -> str:
        return "shown"


async def test_objects_of_the_host_show_what_they_hold_and_are_not_called() -> None:
    """SEC-2: variables are data, also in process."""
    one = Bystander()
    assert await render(template("{{ o.name }} {{ o }}"), {"o": one}) == "n shown"
    for source in ("{{ o.act() }}", "{{ o.act }}", "{{ o.__init__ }}", "{{ f() }}", "{{ f }}"):
        await failure_of(template(source), {"o": one, "f": one.act})
    for source in ("{{ g.gi_frame.f_globals }}", "{{ g }}", "{{ o.__dict__ }}"):
        await failure_of(template(source), {"o": one, "g": (i for i in [1])})
    assert not one.called


async def test_functions_among_the_variables_are_not_called() -> None:
    """SEC-2."""
    calls: list[object] = []

    def function(*args: object) -> str:
        calls.append(args)
        return "called"

    class Callable:
        def __call__(self) -> str:
            return function()

    variables = {"f": function, "c": Callable(), "t": Callable, "l": [function]}
    for source in ("{{ f() }}", "{{ c() }}", "{{ t() }}", "{{ l[0](1) }}", "{{ l|map('f')|list }}"):
        await failure_of(template(source), variables)
    assert calls == []


def test_compiling_does_nothing_beforehand() -> None:
    """What is constant is paid for by the rendering as well."""
    token = budget.BUDGET.set(budget.Budget())
    try:
        compiled = Sandbox().engine.compile("{{ 'a'|center(20) }}")
        budget.BUDGET.set(budget.Budget(made=10))
        with pytest.raises(budget.BudgetSpent):
            run(compiled, {})
    finally:
        budget.BUDGET.reset(token)
