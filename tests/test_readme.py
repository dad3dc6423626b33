"""What the README says of the program is so."""

import re
from pathlib import Path

from promptkit_rpc.rpc.schema import markdown

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_methods_is_the_generated_one() -> None:
    """Renewed by pasting what `promptkit-rpc schema --markdown` prints."""
    table = README.partition("<!-- methods:")[2].partition("-->\n")[2].partition("<!-- end")[0]
    assert table.strip() == markdown().strip()


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if ":" not in link and not (ROOT / link).exists()] == []


def test_the_first_two_shell_blocks_are_one_command_each() -> None:
    """The first runs the demo, the second the tests."""
    first, second = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[:2]
    assert [block.count("\n") for block in (first, second)] == [1, 1]
    assert first.rstrip().endswith("promptkit-rpc demo")
    assert second.rstrip().endswith("-m pytest")


def test_both_consumer_sketches_are_short() -> None:
    """Under forty lines each, as ordinary application code."""
    source = (ROOT / "promptkit_rpc/demo/sketches.py").read_text(encoding="utf-8")
    for name in ("analyse", "review"):
        body = re.search(rf"^async def {name}\(.*?(?=^\S)", source, re.MULTILINE | re.DOTALL)
        assert body
        assert body.group().strip().count("\n") < 40
