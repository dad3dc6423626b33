"""The sessions that are recorded. Each takes place in the sample workspace."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.transcripts.session import Json, Session, error, notification, result

STUDY = {"promptId": "research/study", "variables": {"case": "bridge"}, "capture": True}
DRAFT = {
    "promptId": "review/draft",
    "variables": {"sentence": "The comittee have decided to wait."},
    "capture": True,
}
STOP = {"action": "stop"}
NEXT = "promptkit/coordinator/next"
GENERATE = "promptkit/backend/generate"
REQUEST_FAILED = -32803


def investigate(question: str, **more: Any) -> Json:
    """The request for one more question."""
    return {"promptId": "research/investigate", "variables": {"question": question}, **more}


def go_on(question: str, **more: Any) -> Json:
    """The action that asks one more question."""
    return {"action": "continue", "request": investigate(question, **more)}


async def run(session: Session) -> None:
    """A captured run that is observed, and the details of its exchange."""
    done = await session.ask("promptkit/run", {**STUDY, "observe": "events"})
    await session.ask("promptkit/exchange/details", {"runId": done["runId"]})


async def continuation(session: Session) -> None:
    """A run continued twice in a row, the second time with an appended message, and let go."""
    first = (await session.ask("promptkit/run", STUDY))["runId"]
    request = investigate("What is the worst damage?", continueFrom=first)
    second = (await session.ask("promptkit/run", request))["runId"]
    appended = [{"role": "user", "content": "Bitte kurz: naß? 🌉", "cache": {"ttl": "1h"}}]
    request = investigate("Is it wet?", continueFrom=second, messages=appended, sessionId="s-1")
    third = (await session.ask("promptkit/run", request))["runId"]
    await session.ask("promptkit/exchange/release", {"runId": first})
    await session.ask("promptkit/exchange/details", {"runId": third})


async def branch(session: Session) -> None:
    """Two continuations of one exchange, which stays as it was."""
    start = (await session.ask("promptkit/run", STUDY))["runId"]
    for question in ("What is the worst damage?", "What should be done first?"):
        await session.ask("promptkit/run", investigate(question, continueFrom=start))
    await session.ask("promptkit/exchange/details", {"runId": start})


async def coordinate(session: Session, turns: int, *actions: Json, **more: Any) -> None:
    """A coordination of a captured run, answered with one action after the other."""
    start = (await session.ask("promptkit/run", STUDY))["runId"]
    params = {"exchange": start, "additionalTurns": turns, "coordinationId": "branch", **more}
    ident = await session.start("promptkit/coordinate", params)
    for action in actions:
        await session.send(result(await session.asked(NEXT), action))
    await session.answered(ident)


async def stopped(session: Session) -> None:
    """A branch that the client stops when it has got the answer to the last turn."""
    questions = ("What is the worst damage?", "What should be done first?", "Can it wait?")
    await coordinate(session, 3, *map(go_on, questions), STOP, observe="events")


async def exhausted(session: Session) -> None:
    """A branch for which the client asks one turn more than it may have."""
    await coordinate(session, 1, go_on("What is the worst damage?"), go_on("Can it wait?"))


async def callback_error(session: Session) -> None:
    """A callback's error, which comes back as it was."""
    start = (await session.ask("promptkit/run", STUDY))["runId"]
    params = {"exchange": start, "additionalTurns": 2, "coordinationId": "branch"}
    ident = await session.start("promptkit/coordinate", params)
    await session.send(result(await session.asked(NEXT), go_on("What is the worst damage?")))
    asked = await session.asked(NEXT)
    data = {"reader": "gone", "page": 7}
    await session.send(error(asked, REQUEST_FAILED, "the reader has left", data))
    await session.answered(ident)


async def undelivered(session: Session) -> None:
    """A cancel that meets a finished answer: the client is the model, answers and cancels."""
    start = (await session.ask("promptkit/run", STUDY))["runId"]
    params = {"exchange": start, "additionalTurns": 2, "coordinationId": "branch"}
    ident = await session.start("promptkit/coordinate", params)
    action = go_on("May I cross it today?", profile="host")
    await session.send(result(await session.asked(NEXT), action))
    asked = await session.asked(GENERATE)
    await session.send(
        result(asked, {"content": "Not with the pins in this state."}),
        notification("$/cancelRequest", {"id": ident}),
    )
    await session.answered(ident)


async def cancelled(session: Session) -> None:
    """A run that is cancelled while the client's own model works on it."""
    request = {"promptId": "hello", "variables": {"name": "Ada"}, "profile": "host"}
    ident = await session.start("promptkit/run", {**request, "observe": "events"})
    await session.asked(GENERATE)
    await session.send(notification("$/cancelRequest", {"id": ident}))
    await session.answered(ident)


async def group(session: Session) -> None:
    """A group over runs and a coordination, one of which reports no usage."""
    group_id = (await session.ask("promptkit/group/create", {}))["groupId"]
    await session.ask("promptkit/run", {**STUDY, "groups": [group_id]})
    start = (await session.ask("promptkit/run", {**DRAFT, "groups": [group_id]}))["runId"]
    params = {
        "exchange": start,
        "additionalTurns": 2,
        "coordinationId": "branch",
        "groups": [group_id],
    }
    ident = await session.start("promptkit/coordinate", params)
    for finding in ("the number is wrong", "there is a comma too many"):
        request = {"promptId": "review/revise", "variables": {"findings": [finding]}}
        action = {"action": "continue", "request": request}
        await session.send(result(await session.asked(NEXT), action))
    await session.send(result(await session.asked(NEXT), STOP))
    await session.answered(ident)
    await session.ask("promptkit/group/snapshot", {"groupId": group_id})
    await session.ask("promptkit/group/release", {"groupId": group_id})


async def stream(session: Session) -> None:
    """A streamed answer of the client's own model, whose first attempt breaks off."""
    request = {"promptId": "hello", "variables": {"name": "Ada"}, "profile": "host"}
    tokens = {"observe": "events", "partialResultToken": "text", "workDoneToken": "work"}
    ident = await session.start("promptkit/run", {**request, **tokens})
    asked = await session.asked(GENERATE)
    await _piece(session, asked, "Good mor")
    data = {"reason": "rateLimited", "retryAfterMs": 1}
    await session.send(error(asked, REQUEST_FAILED, "slow down", data))
    asked = await session.asked(GENERATE)
    await _piece(session, asked, "Hello, ")
    await _piece(session, asked, "Ada 🌉.")
    usage = {"inputTokens": 7, "outputTokens": 0}
    await session.send(result(asked, {"content": "Hello, Ada 🌉.", "usage": usage}))
    await session.answered(ident)


async def _piece(session: Session, asked: Json, text: str) -> None:
    token = asked["params"]["partialResultToken"]
    await session.send(notification("$/progress", {"token": token, "value": {"text": text}}))
    await session.until(lambda message: message.get("params", {}).get("token") == "text")


async def repair(session: Session) -> None:
    """An answer that is repaired, and one that still breaks its contract: a result as well."""
    for answers in (("{", '{"correction": "It waits.", "withdrawn": false}'), ("no", '{"n": 1}')):
        request = {**DRAFT, "profile": "host", "observe": "events"}
        ident = await session.start("promptkit/run", request)
        for answer in answers:
            await session.send(result(await session.asked(GENERATE), {"content": answer}))
        await session.answered(ident)


async def prepared(session: Session) -> None:
    """A prepared execution: shown, executed once, refused twice; another one is discarded."""
    held = {"preparedId": (await session.ask("promptkit/prepare", STUDY))["preparedId"]}
    await session.ask("promptkit/prepared/details", held)
    await session.ask("promptkit/prepared/execute", {**held, "observe": "events"})
    await session.refused("promptkit/prepared/execute", held)
    request = {"promptId": "hello", "variables": {"name": "Ada"}}
    held = {"preparedId": (await session.ask("promptkit/prepare", request))["preparedId"]}
    await session.ask("promptkit/prepared/discard", held)


async def errors(session: Session) -> None:
    """What cannot be done, and how each is told."""
    await session.refused("promptkit/run", {"promptId": "nothing/here"})
    await session.refused("promptkit/run", {"promptId": "hello"})
    await session.refused("promptkit/run", {"promptId": "hello", "varables": {}})
    await session.refused("promptkit/exchange/details", {"runId": "run-none"})
    await session.refused("promptkit/group/snapshot", {"groupId": "group-9"})
    await session.refused("promptkit/no/such", {})


async def resources(session: Session) -> None:
    """Prompts, profiles, backends, a second engine, and how busy everything is."""
    for noun in ("prompt", "profile", "backend"):
        await session.ask(f"promptkit/{noun}/list", {})
    await session.ask("promptkit/prompt/inspect", {"promptId": "review/draft"})
    await session.ask("promptkit/profile/inspect", {"profile": "demo"})
    await session.ask("promptkit/backend/inspect", {"backend": "demo"})
    engine = {"engineId": (await session.ask("promptkit/engine/open", {}))["engineId"]}
    request = {"promptId": "hello", "variables": {"name": "Ada"}}
    await session.ask("promptkit/run", {**request, **engine})
    await session.ask("promptkit/engine/close", engine)
    await session.ask("promptkit/engine/reload", {})
    await session.ask("promptkit/session/status", {})


SCENARIOS: dict[str, Callable[[Session], Awaitable[None]]] = {
    "run": run,
    "continue": continuation,
    "branch": branch,
    "stopped": stopped,
    "exhausted": exhausted,
    "callback-error": callback_error,
    "undelivered": undelivered,
    "cancelled": cancelled,
    "group": group,
    "stream": stream,
    "repair": repair,
    "prepared": prepared,
    "errors": errors,
    "resources": resources,
}
