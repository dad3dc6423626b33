"""That `schema/rules.md` states the program's own numbers and codes, and no others."""

import re
from pathlib import Path

from promptkit_rpc import jsontext, secret
from promptkit_rpc.backends import anthropic, anthropic_wire, credentials
from promptkit_rpc.backends.http import endpoint, message, transport
from promptkit_rpc.definitions import (
    beside,
    fields,
    folder,
    inputs,
    problem,
    scalars,
    source,
    template,
)
from promptkit_rpc.definitions.sandbox import arithmetic, budget, engine, environment
from promptkit_rpc.definitions.settings import RetryPolicy, Timeouts
from promptkit_rpc.errors import Kind, Reason
from promptkit_rpc.output import aside, listing, repair, validate
from promptkit_rpc.rpc import codes, daemon, faults, framing, messages
from promptkit_rpc.rpc.started import Options
from tests.support.source import ROOT

RULES = ROOT / "schema" / "rules.md"
KIB, MIB = 1024, 1024 * 1024

PHRASES = [
    f"A header block has at most {framing.MAX_HEADER // MIB} MiB",
    f"A body has at most {framing.MAX_BODY // MIB} MiB",
    f"first {framing.HEAD} bytes",
    f"may be nested {messages.MAX_NESTING} levels deep, and what it carries {jsontext.MAX_NESTING}",
    f"An integer has at most {jsontext.MAX_INTEGER} characters",
    f"At most {faults.MAX_FAULTS} faults are told",
    f"no more than {jsontext.MAX_NESTING} levels",
    f"At most {listing.MAX_VIOLATIONS} violations are listed",
    f"A message has at most {listing.MAX_MESSAGE} characters",
    f"An answer of more than {validate.CHECKED_HERE // KIB} KiB",
    f"one of more than {validate.LISTED_HERE // KIB} KiB",
    f"at most {aside.LIMIT:g} seconds",
    f"At most {aside.AT_ONCE} such processes",
    f"at most {repair.MAX_CANDIDATE} characters are sent, or {repair.MAX_CUT_OFF} of one",
    f"At most {repair.MAX_NAMED} violations are named",
    f"{RetryPolicy().attempts} unless configured",
    f"`baseDelay` is {RetryPolicy().base_delay:g} s, `maxDelay` {RetryPolicy().max_delay:g} s",
    f"closed within {transport.NEWS:g} s",
    f"`timeouts.connect` is {Timeouts().connect:g} s",
    f"{Timeouts().read:g} s unless configured",
    f"An answer has at most {endpoint.LONGEST_ANSWER // MIB} MiB when decoded",
    f"Of an error {endpoint.LONGEST_ERROR // KIB} KiB are read",
    f"Response headers have at most {message.LONGEST_HEAD // KIB} KiB",
    f"An idle connection is kept for {transport.KEEP_ALIVE:g} s",
    f"The newest {anthropic_wire.MOST_MARKS} cache marks",
    f"`maxTokens` is {anthropic.DEFAULT_MAX_TOKENS} for Anthropic",
    f"{budget.MAX_STEPS} steps, {template.MAX_SECONDS:g} seconds",
    f"{budget.MAX_TEXT // MIB} Mi characters of a text or value",
    f"{budget.MAX_MADE // MIB} Mi characters of all values",
    f"{budget.MAX_BITS} bits of an integer",
    f"{environment.MAX_RANGE} numbers of a `range`",
    f"a width of {arithmetic.MAX_WIDTH} in a format",
    f"at most {engine.MAX_CODE} characters of code",
    f"of at most {folder.MAX_INCLUDED // MIB} MiB",
    f"at most {source.MAX_TEXT // MIB} Mi characters, {source.MAX_NODES} values",
    f"{source.MAX_DEPTH} levels",
    f"A count is at most {fields.MOST}",
    f"At most {problem.MAX_PROBLEMS} problems are told",
    f"at most {folder._MAX_ID} characters, printable",  # pyright: ignore[reportPrivateUsage]
    f"at most {folder.MAX_PROMPTS} prompts, {folder.MAX_LEVELS} folders deep",
    f"at most {inputs.MAX_BYTES // MIB} MiB, its line ends kept",
    f"A command may take {credentials.COMMAND_TIMEOUT:g} seconds",
    f"a key has at most {credentials.LONGEST // KIB} KiB",
    f"from {secret.SHORTEST} characters on, in a model's words from {secret.SHORTEST_IN_ANSWERS}",
    f"get {Options().grace:g} seconds",
    f"after {daemon.PATIENCE:g} s more",
]
"""With a number of the program's in each."""

SAID_OTHERWISE = [
    "It may be 255 levels deep",  # the validator's own limit, tried below
    "`\\d` is 0 to 9",
    "A wait of 0",
    "A reported 0 is a known 0",
    "is never 0",
    '`true` is not 1, `"5"` is not 5',
    "exit code 1",
    "exit code is 0",
    "and 1 after any other end",
]
NAMES = re.compile(r"UTF-\d+|2020-12|ECMA 262|YAML 1\.2|U\+[0-9A-F]{4}|base64")
CODE = re.compile(r"`[^`]*`")


def text() -> str:
    return " ".join(Path(RULES).read_text(encoding="utf-8").split())


def test_every_number_that_is_stated_is_the_programs() -> None:
    """R-14, S-07, S-09: and none stands there that this test does not know."""
    rest = text()
    for phrase in (*PHRASES, *SAID_OTHERWISE):
        assert phrase in rest, phrase
        rest = rest.replace(phrase, "")
    rest = CODE.sub("", NAMES.sub("", rest))
    left = re.findall(r".{0,40}\d.{0,40}", rest)
    assert not left


def test_a_schema_may_be_as_deep_as_is_stated() -> None:
    """S-07."""
    for levels, usable in ((255, True), (256, False)):
        schema = '{"items":' * (levels - 1) + "{}" + "}" * (levels - 1)
        assert (validate.check_schema(jsontext.Json(schema.encode())) is None) is usable


def test_numbers_that_are_said_once_are_so_everywhere() -> None:
    """S-16: what one part reads another can write."""
    assert jsontext.MAX_INTEGER == scalars.MAX_DIGITS
    assert beside.MAX_BYTES == 4 * source.MAX_TEXT


def test_every_code_kind_and_reason_that_is_stated_is_one() -> None:
    """X-03."""
    known = {str(value) for value in vars(codes).values() if isinstance(value, int)}
    stated = set(re.findall(r"`(-32\d+)`", text()))
    assert stated <= known
    assert stated >= {"-32600", "-32602", "-32700", "-32800", "-32803", "-32002"}
    words = {*Kind, *Reason, "valid", "exhausted", "cancelled", "undelivered", "finishReason"}
    for word in re.findall(r"`([a-z]+[A-Z][A-Za-z]+)`", text()):
        if word.endswith(("Invalid", "NotFound", "Missing", "Exceeded", "Response", "Length")):
            assert word in words, word


def test_every_statement_is_a_line_of_its_topic() -> None:
    """Each topic has statements, each in sentences, none over the width of a page."""
    topics = RULES.read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(topics) == len({topic.partition("\n")[0] for topic in topics})
    for topic in topics:
        name, _, body = topic.partition("\n")
        assert re.fullmatch("[A-Z][A-Za-z ]+", name)
        for statement in body.strip().split("\n- "):
            assert statement.rstrip().endswith((".", ":")), statement
    assert max(map(len, RULES.read_text(encoding="utf-8").splitlines())) <= 110
