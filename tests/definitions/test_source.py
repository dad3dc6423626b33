"""Reading YAML: what words mean, and a place for everything that is wrong."""

from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.definitions import source
from promptkit_rpc.definitions.problem import Span
from promptkit_rpc.definitions.source import MAX_DEPTH, MAX_NODES, read_bytes, read_text
from promptkit_rpc.definitions.tree import MapNode, ScalarNode, plain
from tests.support.definitions import problems_of, value_of

PROMPT = "messages:\n  - role: user\n    content: |\n      one\n      two é\n"


def test_words_mean_what_yaml_1_2_says() -> None:
    text = """
      [no, on, yes, "true", 'null', 0o17, 0x1F, 0123, +7, 1_000, 12:30, 2001-01-01, =, .5, 1.,
       1e3, true, False, NULL, ~, -0.25]
    """
    assert value_of(text) == (
        [
            "no",
            "on",
            "yes",
            "true",
            "null",
            15,
            31,
            123,
            7,
            "1_000",
            "12:30",
            "2001-01-01",
            "=",
            0.5,
            1.0,
            1000.0,
            True,
            False,
            None,
            None,
            -0.25,
        ]
    )


def test_types_are_kept_apart() -> None:
    kinds: list[object] = [type(value) for value in value_of("[1, 1.0, true, '1', null]")]
    assert kinds == [int, float, bool, str, type(None)]


def test_integers_are_kept_digit_for_digit() -> None:
    assert value_of("n: 123456789012345678901234567890") == {"n": 123456789012345678901234567890}


def test_an_integer_too_long_to_keep_is_a_problem() -> None:
    assert problems_of("n: " + "9" * 4301) == [
        "f.yaml:1:4: an integer may have 4300 digits at most"
    ]


def test_a_key_is_its_text_as_written() -> None:
    assert value_of("404: a\ntrue: b\nnull: c\nno: d") == {
        "404": "a",
        "true": "b",
        "null": "c",
        "no": "d",
    }


def test_tags_of_the_core_schema_are_heeded_and_no_others() -> None:
    assert value_of("[!!str 5, !!float 3, !!int 4, ! 6]") == ["5", 3.0, 4, "6"]
    assert problems_of("a: !!int x\nb: !!python/name:os.system ''\nc: !me {}") == [
        "f.yaml:1:4: this is no value for the tag !!int",
        "f.yaml:2:4: the tag tag:yaml.org,2002:python/name:os.system is not supported",
        "f.yaml:3:4: the tag !me is not supported",
    ]


def test_a_key_given_twice_is_a_problem_and_reading_goes_on() -> None:
    """P-09."""
    text = "messages: [a]\nx: {max_tokens: 1, max_tokens: 2}\nmessages: [b]\n"
    assert problems_of(text) == [
        "f.yaml:2:20: 'max_tokens' is there twice; it was given first on line 2",
        "f.yaml:3:1: 'messages' is there twice; it was given first on line 1",
    ]


def test_a_key_given_twice_in_two_spellings_is_one() -> None:
    """P-09."""
    assert problems_of("1: a\n'1': b") == [
        "f.yaml:2:1: '1' is there twice; it was given first on line 1"
    ]


def test_merge_keys_give_what_the_mapping_does_not_have_itself() -> None:
    """P-09."""
    text = """
      base: &base {a: 1, b: 1, c: 1}
      more: &more {b: 2, d: 2}
      one: {a: 0, <<: *base}
      two: {<<: [*more, *base], c: 9}
    """
    found = value_of(text)
    assert found["one"] == {"a": 0, "b": 1, "c": 1}
    assert found["two"] == {"c": 9, "b": 2, "d": 2, "a": 1}


def test_merging_twice_or_what_is_no_mapping_is_a_problem() -> None:
    """P-09."""
    assert problems_of("a: &a {x: 1}\nb: {<<: *a, <<: *a}\nc: {<<: 5}") == [
        "f.yaml:2:13: '<<' is there twice; it was given first on line 2",
        "f.yaml:3:9: << takes a mapping or a list of them",
    ]


def test_a_quoted_merge_key_is_a_key() -> None:
    assert value_of("'<<': 5") == {"<<": 5}


def test_a_byte_order_mark_changes_nothing() -> None:
    """P-13."""
    plain_one = read_bytes("f", PROMPT.encode())
    assert read_bytes("f", b"\xef\xbb\xbf" + PROMPT.encode()) == plain_one
    assert read_bytes("f", PROMPT.encode("utf-16")) == plain_one
    assert read_bytes("f", b"\xfe\xff" + PROMPT.encode("utf-16-be")) == plain_one
    assert read_text("f", "\ufeff" + PROMPT) == plain_one
    assert problems_of("\ufeffa: \x00") == problems_of("a: \x00")


def test_line_ends_of_any_kind_are_line_feeds() -> None:
    """P-13."""
    assert value_of(PROMPT.replace("\n", "\r\n")) == value_of(PROMPT)
    assert value_of("a: |\r\n  x\r\n  y\r\n") == {"a": "x\ny\n"}
    assert value_of('a: "x\\r\\ny"') == {"a": "x\r\ny"}


def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    """YAML 1.1 knew three more."""
    assert value_of("a: |\n  x\u2028y\x85z\u2029w\nb: 1\n") == {
        "a": "x\u2028y\x85z\u2029w\n",
        "b": 1,
    }


def test_a_tab_that_indents_is_a_problem_with_its_place() -> None:
    """P-13."""
    assert problems_of("a:\n\tb: 1\n") == [
        "f.yaml:2:1: a tab cannot stand here; indent with spaces"
    ]


def test_a_second_document_is_a_problem_with_its_place() -> None:
    """P-13."""
    assert problems_of("a: 1\n---\nb: 2\n") == ["f.yaml:2:1: a file holds one document only"]
    assert value_of("%YAML 1.2\n---\na: 1\n...\n") == {"a": 1}


def test_what_is_no_text_is_a_problem_with_its_place() -> None:
    """P-13."""
    assert problems_of(b"a: x\nb: \xe9\n") == ["f.yaml:2:4: the file is not UTF-8"]
    assert problems_of(b"\xff\xfea") == ["f.yaml:1:1: the file is not UTF-16"]
    assert problems_of(b"\xff\xfe\x00\x00a\x00\x00\x00") == [
        "f.yaml:1:1: the file is UTF-32; save it as UTF-8"
    ]
    for text in ("a: b".encode("utf-16-le"), "a: b".encode("utf-16-be")):
        (problem,) = problems_of(text)
        assert problem.startswith("f.yaml:1:1: the file is not UTF-8")
    assert problems_of("a: é\x00") == ["f.yaml:1:5: the character U+0000 is not allowed"]
    assert problems_of("a: \ud800") == ["f.yaml:1:4: the character U+D800 is not allowed"]


def test_a_template_without_quotes_is_told_to_be_quoted() -> None:
    quote = 'text with {{ }} or {% %} must be quoted: "{{ name }}"'
    assert problems_of("a: {{ x }}\nb: 1") == [f"f.yaml:1:4: {quote}"]
    assert problems_of("- {{ x.y }}") == [f"f.yaml:1:3: {quote}"]
    assert problems_of("a: {% if x %}") == [f"f.yaml:1:5: {quote}"]
    assert problems_of("a: {{ x }} and more\nb: 1")[-1].endswith(quote)
    assert problems_of('a: [x, "y", {{ x }} z]')[-1].endswith(quote)


def test_a_line_at_the_wrong_place_is_told_where_it_should_go_on() -> None:
    """P-13: also where it holds a template, which is not at fault."""
    where = "not YAML: this does not go on with the list that begins on line 2"
    for text in ("x", '"{{ x }}"', "'it {% if x %}'"):
        problem = problems_of(f"m:\n  - role: user\n   content: {text}\n")[-1]
        assert problem == f"f.yaml:3:4: {where}; look at the indentation"
    (problem,) = problems_of("a:\n  - 1\n  b: 2\n")
    assert problem == f"f.yaml:3:3: {where}; look at the indentation"
    (problem,) = problems_of("a: 1\nb: 2\n c: 3\n  d: 4\n")
    assert problem == "f.yaml:3:3: not YAML: mapping values are not allowed in this context"
    (problem,) = problems_of('a:\n    b: "x"\n  c: 1\n')
    where = where.replace("list that begins on line 2", "mapping that begins on line 1")
    assert problem == f"f.yaml:3:3: {where}; look at the indentation"


def test_a_mapping_as_a_key_is_a_problem() -> None:
    assert problems_of("? [a]\n: 1") == ["f.yaml:1:3: a key must be text"]


def test_an_alias_is_followed_and_a_bomb_of_them_refused() -> None:
    assert value_of("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert problems_of("\n".join(lines)) == [
        f"f.yaml:5:5: the aliases in here stand for more than {MAX_NODES} values"
    ]


def test_a_bomb_of_merges_is_refused() -> None:
    """A merge takes over values, and counts like the aliases it stands for."""
    lines = ["a0: &a0 {x0: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}"]
    lines += [
        f"a{n}: &a{n} {{<<: *a{n - 1}, x{n}: [{', '.join([f'*a{n - 1}'] * 10)}]}}"
        for n in range(1, 9)
    ]
    (problem,) = problems_of("\n".join(lines))
    assert f"stand for more than {MAX_NODES} values" in problem


def test_merging_one_large_mapping_often_is_refused_while_reading() -> None:
    keys = ", ".join(f"k{n}: 1" for n in range(1000))
    lines = [f"a: &a {{{keys}}}", *(f"b{n}: {{<<: *a}}" for n in range(200))]
    assert problems_of("\n".join(lines)) == [
        f"f.yaml:1:4: the file holds more than {MAX_NODES} values"
    ]


def test_an_alias_to_nothing_or_to_its_own_inside_is_a_problem() -> None:
    assert problems_of("a: *b") == ["f.yaml:1:4: no anchor &b stands before this"]
    assert problems_of("a: &a [*a]") == ["f.yaml:1:8: *a stands inside what it names"]


def test_nesting_is_bounded_also_through_aliases() -> None:
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert value_of(deep)
    assert problems_of(f"[{deep}]")[0].endswith(f"nested deeper than {MAX_DEPTH} levels")
    half = "[" * 60 + "]" * 60
    twice = f"a: &a {half}\nb: {'[' * 60}*a{']' * 60}"
    assert problems_of(twice)[0].endswith(f"nested deeper than {MAX_DEPTH} levels")


def test_the_number_of_values_and_the_length_are_bounded() -> None:
    assert problems_of("- a\n" * (MAX_NODES + 1)) == [
        f"f.yaml:{MAX_NODES + 1}:3: the file holds more than {MAX_NODES} values"
    ]
    assert problems_of("#" * (source.MAX_TEXT + 1)) == [
        f"f.yaml:1:1: the file is longer than {source.MAX_TEXT} characters"
    ]


def test_nodes_know_their_span_and_where_a_block_begins() -> None:
    node, _ = read_text("f", "é: 'x'\nb: |\n  1\n  2\nc: d\n")
    assert isinstance(node, MapNode)
    first, second, _ = node.entries
    assert first.key_span == Span(1, 1, 1, 2)
    assert first.value.span == Span(1, 4, 1, 7)
    assert isinstance(second.value, ScalarNode)
    assert second.value.block_line == 3


def test_broken_syntax_is_a_problem_inside_the_text() -> None:
    assert problems_of("a: 'x") == ["f.yaml:1:4: this quote is not closed"]
    assert problems_of('a: 1\nb: "x\nc: 2\n') == ["f.yaml:2:4: this quote is not closed"]
    assert problems_of("a: [1")[0].startswith("f.yaml:1:6: not YAML:")


def test_nothing_is_neither_a_value_nor_a_problem() -> None:
    assert read_text("f", "# only a comment\n") == (None, ())


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    """SEC-4."""
    check(*read_bytes("f", data))


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    """SEC-4."""
    check(*read_text("f", text))


@given(st.lists(st.sampled_from([*" \n-:?{}[],&*!|>'\"%@`#ab1~\t", "<<", "{{ x }}", "é"])))
def test_nothing_that_looks_like_yaml_makes_the_reader_raise(pieces: list[str]) -> None:
    """SEC-4."""
    check(*read_text("f", "".join(pieces)))


def check(node: object, problems: tuple[source.Problem, ...]) -> None:
    if node is not None:
        plain(node)  # type: ignore[arg-type]  # the reader's own union
    for problem in problems:
        assert problem.message
        assert problem.location.line is not None
        assert problem.location.line >= 1
