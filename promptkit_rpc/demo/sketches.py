"""Two applications as their authors would write them: an analysis loop and a repair-style loop.

Neither assembles history, counts turns or retries: they only say what comes next, and why.
"""

import json
from typing import Any, Protocol

from attrs import define, field

STOP = {"action": "stop"}


class Client(Protocol):
    """What an application needs of its connection."""

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """One request's result."""
        ...

    async def coordinate(self, params: dict[str, Any], next_action: Any) -> dict[str, Any]:
        """Drives a branch; the callback gets each turn and answers the next action."""
        ...


def go_on(prompt: str, groups: list[str], **variables: Any) -> dict[str, Any]:
    """The action that asks for another turn."""
    return {
        "action": "continue",
        "request": {"promptId": prompt, "variables": variables, "groups": groups},
    }


# -- an analysis loop ----------------------------------------------------------------------------


@define
class Analysis:
    """What the application has asked and learnt; only it knows when that is enough."""

    questions: list[str]
    answers: list[str] = field(factory=list[str])
    outcome: str = ""


async def analyse(client: Client, start: str, groups: list[str], questions: list[str]) -> Analysis:
    """Asks question after question about what was read, until none is left."""
    analysis = Analysis(questions)

    async def choose_next(turn: dict[str, Any]) -> dict[str, Any]:
        if result := turn.get("result"):
            analysis.answers.append(result["content"])
        if len(analysis.answers) == len(analysis.questions):
            return STOP
        question = analysis.questions[len(analysis.answers)]
        return go_on("research/investigate", groups, question=question)

    ended = await client.coordinate({"exchange": start, "additionalTurns": 3}, choose_next)
    analysis.outcome = ended["outcome"]
    return analysis


# -- a repair-style loop --------------------------------------------------------------------------


@define
class Review:
    """One candidate with its findings; what counts as good is this application's business."""

    candidate: str
    findings: list[str]
    drafts: list[str] = field(factory=list[str])
    opinions: list[str] = field(factory=list[str])
    withdrawn: bool = False
    outcome: str = ""


async def review(client: Client, start: str, groups: list[str], candidate: str) -> Review:
    """Sends a draft back with what is wrong until it passes, is withdrawn, or turns run out."""
    branch = Review(candidate, assess(candidate))

    async def choose_next(turn: dict[str, Any]) -> dict[str, Any]:
        if result := turn.get("result"):
            if result["validation"]["status"] != "valid":
                return go_on("review/revise", groups, findings=["this was not the JSON asked for"])
            reply = json.loads(result["content"])
            if reply["withdrawn"]:
                branch.withdrawn = True
                return STOP
            branch.candidate = reply["correction"]
            branch.drafts.append(branch.candidate)
            branch.findings = assess(branch.candidate)
            branch.opinions.append(await second_opinion(client, groups, branch.candidate))
            if not branch.findings:
                return STOP
        return go_on("review/revise", groups, findings=branch.findings)

    ended = await client.coordinate({"exchange": start, "additionalTurns": 3}, choose_next)
    branch.outcome = ended["outcome"]
    return branch


def assess(sentence: str) -> list[str]:
    """This application's own rules."""
    rules = {
        "a committee is singular: `has`": " have " in sentence,
        "no comma before the infinitive": ", to " in sentence,
    }
    return [finding for finding, broken in rules.items() if broken]


async def second_opinion(client: Client, groups: list[str], sentence: str) -> str:
    """Another run on the same backend while the coordination is open, even at capacity 1."""
    request = {
        "promptId": "review/assess",
        "variables": {"sentence": sentence},
        "groups": groups,
    }
    return (await client.request("promptkit/run", request))["content"]
