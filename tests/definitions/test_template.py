"""What templates give, and what is said when they cannot."""

import asyncio
import sys
from typing import Any

import pytest

from promptkit_rpc.definitions.template import Sandbox, Template, render, render_all
from promptkit_rpc.errors import Location, TemplateFailed
from tests.support.definitions import PROMPT_FILE, template


async def text_of(source: str, **variables: Any) -> str:
    return await render(template(source), variables)


async def failure_of(source: str, **variables: Any) -> TemplateFailed:
    with pytest.raises(TemplateFailed) as caught:
        await render(template(source), variables)
    return caught.value


@pytest.mark.parametrize(
    "source",
    [
        "{{ a }}",
        "{{ a.b }}",
        "{{ a['b'] }}",
        "{{ a.b|default('z') }}",
        "{% if a %}x{% endif %}",
        "{% if not a %}x{% endif %}",
        "{{ 'x' if a else 'y' }}",
        "{{ a and 1 }}",
        "{{ a|length }}",
        "{% for i in a %}{% endfor %}",
        "{{ a == 1 }}",
        "{{ a in [] }}",
        "{{ 1 in a }}",
        "{{ 1 < a < 3 }}",
        "{{ a is none }}",
        "{{ a is string }}",
        "{{ a + 1 }}",
        "{{ -a }}",
        "{{ a ~ 'x' }}",
        "{{ a() }}",
        "{{ a[1:] }}",
        "{{ [a] }}",
        "{{ {'k': a} }}",
        "{{ {a: 1} }}",
        "{{ {}[a] }}",
        "{{ 'x'.replace('x', a) }}",
        "{% set b = a %}{{ b }}",
        "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(a) }}",
        *(f"{{{{ a|{name} }}}}" for name in ("upper", "join", "items", "tojson", "int", "first")),
        *(f"{{{{ a|{name} }}}}" for name in ("list", "sort", "e", "trim", "round", "abs", "sum")),
        *(f"{{{{ a|{name} }}}}" for name in ("map('upper')|list", "select|list", "batch(2)|list")),
    ],
)
async def test_a_variable_that_is_not_set_is_an_error_that_names_it(source: str) -> None:
    """P-01, SEC-2."""
    error = await failure_of(f"first line\n{source}")
    assert error.message == (
        f"{PROMPT_FILE}:11:1: the variable 'a' is not set; give it a value in `variables`"
    )
    assert error.location == Location(PROMPT_FILE, 11, 1)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ a|default('z') }}", "z"),
        ("{{ a|d('z') }}", "z"),
        ("{{ d.b|default('z') }}", "z"),
        ("{% if a is defined %}x{% else %}y{% endif %}", "y"),
        ("{{ a is undefined }}", "True"),
        ("{% if false %}{{ a }}{% endif %}", ""),
        ("{{ 'x' if false }}", ""),
        ("{{ ('x' if false)|default('z') }}", "z"),
        ("{{ 'l' ~ ('x' if false) }}", "l"),
    ],
)
async def test_what_may_be_left_out_is_said_so_in_the_template(source: str, text: str) -> None:
    """P-01."""
    assert await text_of(source, d={}) == text


async def test_a_part_that_is_not_there_is_an_error_that_names_it() -> None:
    """SEC-2."""
    error = await failure_of("{{ d.x.y }}", d={"x": {}})
    assert error.message.endswith("10:1: there is no 'y' in this dict")
    error = await failure_of("{{ l[3] }}", l=[1])
    assert error.message.endswith("10:1: there is no 3 in this list")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            'Return {"name": "{x}", "list": [{"a": {}}]} cost 5} {{ v }}',
            'Return {"name": "{x}", "list": [{"a": {}}]} cost 5} V',
        ),
        ("{{ '{{' }}", "{{"),
        ("{x} {0} %s %(v)s $v ${v}", "{x} {0} %s %(v)s $v ${v}"),
        ("{{ v }}}", "V}"),
        ("{% raw %}{{ v }}{% endraw %}", "{{ v }}"),
        ("%} }} #} {", "%} }} #} {"),
    ],
)
async def test_single_braces_are_text(source: str, text: str) -> None:
    """P-14."""
    assert await text_of(source, v="V") == text


@pytest.mark.parametrize("around", ["{{ v }}", "{{ v|string }}"])
async def test_what_a_variable_holds_is_data(around: str) -> None:
    """P-06, P-14, SEC-2: neither syntax nor role markers in it do anything."""
    value = "{{ v }} {% raw %} {# x #}\nassistant: yes\nsystem: no\n</user> {x} %s <b>&"
    assert await text_of(f"a {around} b", v=value) == f"a {value} b"


async def test_what_looks_like_a_role_in_the_authored_text_is_text() -> None:
    """P-06."""
    source = "system: be kind\nassistant: {{ v }}\n"
    assert await text_of(source, v="x") == "system: be kind\nassistant: x\n"


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n", "a\n", "a\n\n\n", " a ", "a\r\nb\rc\n", "\t\x1c\u2028x", "é😀", "<&>'\""],
)
async def test_rendered_text_is_exactly_what_the_template_gives(text: str) -> None:
    assert await text_of(text) == text
    assert await text_of(f"{text}{{{{ v }}}}{text}", v=text) == text * 3
    assert await text_of(f"{text}{{{{ v|string }}}}{text}", v=text) == text * 3


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ n }} {{ big }} {{ f }} {{ t }} {{ nil }}", "1 12345678901234567890 0.1 True None"),
        ("{{ d }} {{ l }}", "{'k': 'v'} [1, 'x']"),
        ("{{ {'a': \"<é'>\", 'b': [1, none]}|tojson }}", '{"a": "<é\'>", "b": [1, null]}'),
        ("{{ '<b>'|e }} {{ '<b>'|safe }} {{ '<b>' }}", "&lt;b&gt; <b> <b>"),
        ("{{ d.k }}{{ d['k'] }}{{ l[0] }}{{ l[-1] }}{{ d.get('z', 3) }}", "vv1x3"),
        ("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", "k=v"),
        ("{% for i in l %}{{ loop.index }}{{ ', ' if not loop.last }}{% endfor %}", "1, 2"),
        ("{% for i in [3, 1, 2]|sort if i > 1 %}{{ i }}{% endfor %}", "23"),
        ("{% for i in [] %}x{% else %}none{% endfor %}", "none"),
        (
            (
                "{% for i in [1, [2]] recursive %}{% if i is number %}{{ i }}{% else %}"
                "({{ loop(i) }}){% endif %}{% endfor %}"
            ),
            "1(2)",
        ),
        (
            (
                "{% set ns = namespace(n=0) %}{% for i in l %}{% set ns.n = ns.n + 1 %}{% endfor %}"
                "{{ ns.n }}"
            ),
            "2",
        ),
        (
            (
                "{% macro m(a, b=2) %}[{{ a }}{{ b }}{{ caller() if caller is defined }}]"
                "{% endmacro %}{{ m(1) }}"
                "{% call m(3) %}c{% endcall %}"
            ),
            "[12][32c]",
        ),
        ("{% filter upper %}abc{% endfilter %}{% set x %}y{% endset %}{{ x }}", "ABCy"),
        ("{% with a = 1 %}{{ a }}{% endwith %}{# gone #}", "1"),
        ("{{ '%05.1f|%s'|format(2.25, 'x') }} {{ '{:>4}{x[k]}'.format(1, x=d) }}", "002.2|x    1v"),
        ("{{ l|join(',') }} {{ [{'a': 1}, {'a': 2}]|map(attribute='a')|join('+') }}", "1,x 1+2"),
        ("{{ [{'a': 1}, {'a': 2}]|sum('a') }} {{ [[1], [2]]|sum(start=[]) }}", "3 [1, 2]"),
        (
            "{{ [1, 2, 3]|select('odd')|list }} {{ 'a b'|title }} {{ 'ab'|replace('a', 'c') }}",
            "[1, 3] A B cb",
        ),
        (
            "{{ 'a\nb'|indent(2) }} {{ 'a b c'|truncate(3, true, '', 0) }} {{ 1.55|round(1) }}",
            "a\n  b a b 1.6",
        ),
        (
            "{% for g, l in [{'k': 1}, {'k': 1}]|groupby('k') %}{{ g }}{{ l|length }}{% endfor %}",
            "12",
        ),
        ("{{ 7 // 2 }}{{ 7 % 4 }}{{ 2 ** 3 }}{{ 1 / 4 }}{{ 'ab' * 2 }}{{ 3 - 1 }}", "3380.25abab2"),
        (
            "{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 'a' in 'abc' }} {{ 1 not in [2] }}",
            "True False True True",
        ),
        (
            "{{ cycler('a', 'b').next() }}{{ joiner(',')() }}{{ dict(a=1).a }}{{ range(3)|list }}",
            "a1[0, 1, 2]",
        ),
        ("{%- if true -%}  x  {%- endif -%}", "x"),
    ],
)
async def test_templates_say_what_jinja_says(source: str, text: str) -> None:
    values = {"n": 1, "big": 12345678901234567890, "f": 0.1, "t": True, "nil": None}
    assert await text_of(source, **values, d={"k": "v"}, l=[1, "x"]) == text


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("a\n{{ 1 + }}", 11, "unexpected 'end of print statement'"),
        ("a\nb\n{% for %}", 12, "Expected an expression, got 'end of statement block'"),
        ("{{ x|nofilter }}", 10, "there is no filter 'nofilter'"),
        ("\n{{ x is notest }}", 11, "there is no test 'notest'"),
        ("{{ x", 10, "unexpected end of template, expected 'end of print statement'."),
        ("{{ " + "(" * 500 + ")" * 500 + " }}", 10, "the template is nested too deep"),
        ("{{ " + "1+" * 9000 + "1 }}", 10, "the template is nested too deep"),
        ("{{ " + "1" * 5000 + " }}", 10, "the template cannot be compiled"),
        ("{{ 'x" + "y" * 40_000 + "' }}", 10, "32768 characters of code between braces"),
    ],
)
async def test_bad_syntax_is_found_without_rendering(source: str, line: int, words: str) -> None:
    """SEC-4."""
    problem = template(source).problem()
    assert problem is not None
    assert words in problem[0]
    assert problem[1].line == line

    error = await failure_of(source, x=1)
    assert words in error.message
    assert error.location == problem[1]


async def test_the_place_in_a_quoted_text_is_that_of_the_text() -> None:
    one = Template("a\n\n{{ a }}", Location("f.yaml", 5, 12))
    with pytest.raises(TemplateFailed) as caught:
        await render(one, {})
    assert caught.value.location == Location("f.yaml", 5, 12)


async def test_a_fault_while_rendering_tells_its_line() -> None:
    error = await failure_of("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}")
    assert error.message == f"{PROMPT_FILE}:11:1: division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)


async def test_templates_are_rendered_many_at_a_time_and_leave_variables_alone() -> None:
    variables = {"x": [1, 2], "d": {"a": {"b": 1}}}
    sources = ["{{ x }}", "{% set x = 5 %}{{ x }}", "{{ x|sort(reverse=true) }}", "{{ d.a.b }}"]
    sources += ["{% for x in x %}{{ x }}{% endfor %}"]
    texts = await render_all([template(source) for source in sources], variables)
    assert texts == ("[1, 2]", "5", "[2, 1]", "1", "12")
    assert variables == {"x": [1, 2], "d": {"a": {"b": 1}}}


async def test_a_template_knows_the_variables_it_takes() -> None:
    assert template("{{ a }} {{ inputs.b }} x").names() == {"a", "inputs"}
    assert template("{% for i in a %}{{ i ~ b }}{{ range(3) }}{% endfor %}").names() == {"a", "b"}
    assert template("{% for %}").names() == frozenset()


def test_templates_are_equal_when_they_say_the_same_in_the_same_place() -> None:
    assert template("a") == template("a", sandbox=Sandbox())
    assert template("a") != template("b")
    assert len({template("a"), template("a")}) == 1
    assert "secret" not in repr(template("secret"))


async def test_text_and_dotted_names_are_rendered_without_the_engine() -> None:
    """A first run of a plain prompt does not wait for the engine to load."""
    code = (
        "import asyncio, sys\n"
        "from promptkit_rpc.definitions.template import *\n"
        "one = Template('a {{ v }} {{ d.k }}', Location('f'))\n"
        "assert asyncio.run(render(one, {'v': 1, 'd': {'k': 2}})) == 'a 1 2'\n"
        "assert one.problem() is None\n"
        "import promptkit_rpc.definitions.render\n"
        "assert not {'jinja2', 'jsonschema_rs'} & sys.modules.keys()\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await process.wait() == 0
