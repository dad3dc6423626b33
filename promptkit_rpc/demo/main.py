"""The story the demo tells. Everything it shows is done by the server it starts."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from promptkit_rpc.commands.init import write_samples
from promptkit_rpc.demo import screen
from promptkit_rpc.demo.client import DemoClient, RequestFailed
from promptkit_rpc.demo.sketches import analyse, go_on, review

QUESTIONS = [
    "What is the worst damage?",
    "What should be done first?",
    "Can it wait another year?",
]
SENTENCE = "The committee have decided to wait."


def demo(base_url: str | None, model: str | None, key_env: str | None) -> int:
    """Runs the story, offline or against a chat completions server; exit code 1 if it broke."""
    if (base_url is None) != (model is None):
        print("promptkit-rpc demo: --base-url and --model go together", file=sys.stderr)
        return 2
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        print("promptkit-rpc demo: --base-url must begin with http:// or https://", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="promptkit-demo-") as folder:
        root = Path(folder)
        write_samples(root)
        if base_url is not None and model is not None:
            _use_server(root, base_url, model, key_env)
        try:
            asyncio.run(_story(root, base_url or "scripted answers, no network"))
        except RequestFailed as failed:
            print(f"\npromptkit-rpc demo: {failed}", file=sys.stderr)
            return 1
    return 0


def _use_server(root: Path, base_url: str, model: str, key_env: str | None) -> None:
    """Points the profile `demo` at a real server. JSON is YAML."""
    backend: dict[str, Any] = {"kind": "openai", "baseUrl": base_url, "capacity": 1}
    if key_env is not None:
        backend["credential"] = {"env": key_env}
    settings = {
        "version": 1,
        "inputs": ["data"],
        "backends": {"demo": backend, "host": {"kind": "client"}},
        "profiles": {
            "demo": {
                "backend": "demo",
                "model": model,
                "parameters": {"temperature": 0, "maxTokens": 60},
            },
            "host": {"backend": "host", "model": "host"},
        },
    }
    (root / "promptkit.yaml").write_text(json.dumps(settings, indent=2), encoding="utf-8")


async def _story(root: Path, where: str) -> None:
    async with DemoClient(root) as client:
        screen.heading("PromptKit RPC, a session")
        screen.note(f"A server was started on a sample workspace; models: {where}.")
        group = (await client.request("promptkit/group/create", {}))["groupId"]
        start = await _capture(client, group)
        await _branch(client, group, start)
        await _analyse(client, group, start)
        await _review(client, group)
        await _cancel(client, group, start)
        await _count(client, group)


async def _capture(client: DemoClient, group: str) -> str:
    screen.heading("1. A captured run")
    result = await client.request(
        "promptkit/run",
        {
            "promptId": "research/study",
            "variables": {"case": "bridge"},
            "capture": True,
            "groups": [group],
        },
    )
    exchange = result["runId"]
    screen.note(f"Exchange {exchange} holds exactly what was sent, then the answer:")
    await _tell(client, exchange)
    return exchange


async def _branch(client: DemoClient, group: str, start: str) -> None:
    screen.heading("2. Two branches from it, side by side")

    async def branch(question: str) -> dict[str, Any]:
        return await client.request(
            "promptkit/run",
            {
                "promptId": "research/investigate",
                "variables": {"question": question},
                "continueFrom": start,
                "groups": [group],
            },
        )

    for question, result in zip(
        QUESTIONS, await asyncio.gather(*map(branch, QUESTIONS[:2])), strict=False
    ):
        screen.note(f"Exchange {result['runId']} continues {result['parentRunId']}:")
        screen.said("user", question)
        screen.said("assistant", result["content"])
    held = await client.request("promptkit/exchange/details", {"runId": start})
    screen.note(f"The first exchange is as it was: {len(held['messages'])} messages.")


async def _analyse(client: DemoClient, group: str, start: str) -> None:
    screen.heading("3. An analysis loop of three turns, driven by the application's answers")
    analysis = await analyse(client, start, [group], QUESTIONS)
    for question, answer in zip(analysis.questions, analysis.answers, strict=False):
        screen.said("asks", question)
        screen.said("learns", answer)
    screen.note(
        f"Outcome: {analysis.outcome}. After the last turn the application was called once more,"
        " with the answer, and chose to stop."
    )


async def _review(client: DemoClient, group: str) -> None:
    screen.heading("4. A repair-style loop that the application stops")
    draft = await client.request(
        "promptkit/run",
        {
            "promptId": "review/draft",
            "variables": {"sentence": "The comittee have decided to wait."},
            "capture": True,
            "groups": [group],
        },
    )
    screen.said("draft", SENTENCE)
    branch = await review(client, draft["runId"], [group], SENTENCE)
    for correction, opinion in zip(branch.drafts, branch.opinions, strict=False):
        screen.said("revised", correction)
        screen.said("opinion", opinion)
    if branch.opinions:
        screen.note(
            "Each opinion was asked of the same model inside the callback; the backend admits one"
            " run at a time, and the coordinator holds no place meanwhile."
        )
    verdict = "withdrawn" if branch.withdrawn else "accepted"
    if branch.findings and not branch.withdrawn:
        verdict = "still has: " + "; ".join(branch.findings)
    screen.note(f"Outcome: {branch.outcome}. By the application's own rules: {verdict}.")


async def _cancel(client: DemoClient, group: str, start: str) -> None:
    screen.heading("5. A cancel that meets a finished answer")
    screen.note(
        "This program is the model itself here (a backend of kind client). It answers and cancels"
        " in one breath; the answer is not lost, it comes back as undelivered:"
    )

    async def choose_next(_: dict[str, Any]) -> dict[str, Any]:
        action = go_on("research/investigate", [group], question="May I cross it today?")
        action["request"]["profile"] = "host"
        return action

    client.answer_and_cancel("Not with the pins in this state.")
    ended = await client.coordinate({"exchange": start, "additionalTurns": 2}, choose_next)
    undelivered = ended.get("undelivered")
    screen.note(f"Outcome: {ended['outcome']}.")
    screen.said("undelivered", undelivered["content"] if undelivered else "nothing")


async def _count(client: DemoClient, group: str) -> None:
    screen.heading("6. What all of it used")
    snapshot = await client.request("promptkit/group/snapshot", {"groupId": group})
    runs = snapshot["runs"]
    ended = sum(run["terminal"] for run in runs)
    screen.note(
        f"{len(runs)} runs in all of the above, {ended} of them ended: {snapshot['attempts']}"
        f" calls, {snapshot['transientRetries']} retries, {snapshot['repairs']} repairs. Some"
        " had no usage to report, so the sums are what is known at least:"
    )
    screen.usage(snapshot["usage"])


async def _tell(client: DemoClient, exchange: str) -> None:
    details = await client.request("promptkit/exchange/details", {"runId": exchange})
    for message in details["messages"]:
        screen.said(message["role"], message["content"])
