"""The fixture, in projects of its own: with and without an async plugin."""

import importlib.metadata
from pathlib import Path

import pytest

PLAIN = """
    import pytest
    from promptkit_client import STOP, Continue, GenerateError, GenerationFailed

    def test_what_is_sent(promptkit):
        promptkit.prompt("ask", "About {{ place }}: {{ question }}")
        promptkit.reply("Paris.", ("The ", "Seine."))

        async def app(client):
            first = await client.run("ask", variables={"place": "France", "question": "capital?"},
                                     capture=True)
            return await client.continue_(first, "ask",
                                          variables={"place": "it", "question": "river?"})

        assert promptkit.run(app).content == "The Seine."
        assert [sent.text for sent in promptkit.sent] == ["About France: capital?",
                                                          "About it: river?"]
        assert promptkit.sent[1].said[:2] == [("user", "About France: capital?"),
                                              ("assistant", "Paris.")]
        assert promptkit.left == []

    def test_a_branch(promptkit):
        promptkit.prompt("ask", "{{ question }}")
        promptkit.backend(capacity=1)
        promptkit.reply("one", prompt="ask", contains="first")
        promptkit.reply({"n": 2}, lambda call: f"answer {call.attempt}")
        script = promptkit.actions(Continue("ask", variables={"question": "second"}),
                                   Continue("ask", variables={"question": "third"}), STOP)

        async def app(client):
            start = await client.run("ask", variables={"question": "the first"}, capture=True)
            return await client.coordinate(start, script, additional_turns=2)

        assert promptkit.run(app).outcome == "stopped"
        assert [result.content for result in script.results] == ['{"n": 2}', "answer 1"]
        assert script.turns[0].remaining_turns == 2

    def test_faults(promptkit):
        promptkit.prompt("ask", "now")
        promptkit.reply(GenerateError("busy", reason="rateLimited"), "late")
        assert promptkit.run(lambda client: client.run("ask")).transient_retries == 1
        promptkit.reply(GenerateError("no", reason="authentication"))
        with pytest.raises(GenerationFailed, match="no") as raised:
            promptkit.run(lambda client: client.run("ask"))
        assert raised.value.reason == "authentication"
"""

ASYNC = """
    from promptkit_client import watch

    async def test_async(promptkit):
        promptkit.prompt("ask", "now")
        promptkit.reply(("a", "b"))
        async with promptkit.connect() as client, watch(client.run, "ask") as running:
            assert [piece.text async for piece in running.deltas] == ["a", "b"]
            assert (await running).content == "ab"
"""

FAILING = """
    def test_unscripted(promptkit):
        promptkit.prompt("ask", "what now")
        promptkit.reply("unused", contains="something else")
        promptkit.run(lambda client: client.run("ask"))
"""


def test_the_fixture_is_there_once_the_package_is_installed() -> None:
    found = importlib.metadata.entry_points(group="pytest11", name="promptkit")
    assert [point.value for point in found] == ["promptkit_client.pytest_plugin"]


def test_a_plain_test_scripts_replies_and_callbacks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PLAIN)
    done = pytester.runpytest_subprocess("-p", "no:asyncio", "-W", "error")
    done.assert_outcomes(passed=3)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_an_async_test_connects_by_itself(pytester: pytest.Pytester, mode: str) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    marked = ASYNC.replace("    async def test", "    @pytest.mark.asyncio\n    async def test")
    pytester.makepyfile("    import pytest\n" + marked if mode == "strict" else ASYNC)
    done = pytester.runpytest_subprocess(f"--asyncio-mode={mode}", "-W", "error")
    done.assert_outcomes(passed=1)


def test_a_call_without_a_reply_fails_and_the_report_says_what_was_sent(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(FAILING)
    done = pytester.runpytest_subprocess("-p", "no:asyncio")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*GenerationFailed: *promptkit.reply(…) has no answer left for <ask: what now>*",
            "*- promptkit -*",
            "<ask: what now>",
            "not used: 'unused'",
        ],
    )


def test_a_real_workspace_keeps_its_prompts_and_inputs(
    pytester: pytest.Pytester, samples: Path
) -> None:
    pytester.makepyfile(
        f"""
        def test_it(promptkit):
            promptkit.workspace({str(samples)!r}, profiles=["host"])
            promptkit.reply("A bridge.", "", prompt="research/*")

            async def app(client):
                first = await client.run("research/study", variables={{"case": "bridge"}},
                                         capture=True)
                question = {{"question": "So?"}}
                return await client.continue_(first, "research/investigate", variables=question,
                                              profile="host")

            assert promptkit.run(app).model == "host"
            assert promptkit.sent[0].call.model == "demo"
            assert "Inspection of the old footbridge" in promptkit.sent[0].messages[0].content
        """
    )
    pytester.runpytest_subprocess("-p", "no:asyncio").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "inputs",
    ["inputs: [data, more]\n", "inputs:\n- data\n\n# and\n- more\n", "inputs:\n  - more\n"],
)
def test_the_folders_of_a_workspace_are_kept_as_written(tmp_path: Path, inputs: str) -> None:
    from promptkit_client.testing import PromptKit  # noqa: PLC0415 - after pytester's import

    folder = tmp_path / "real"
    (folder / "texts").mkdir(parents=True)
    (folder / "more").mkdir()
    (folder / "more" / "a.txt").write_text("the input")
    (folder / "texts" / "ask.prompt.yaml").write_text(
        "profile: careful\ninputs: {a: {file: more/a.txt}}\n"
        "messages: [{role: user, content: '{{ inputs.a }}'}]\n"
    )
    settings = f"version: 1\nprompts: texts\n{inputs}backends: {{}}\nprofiles: {{}}\n"
    (folder / "promptkit.yaml").write_text(settings)
    kit = PromptKit(tmp_path / "copy")
    kit.workspace(folder)
    kit.reply("yes")
    kit.run(lambda client: client.run("ask"))
    assert kit.sent[0].text == "the input"
