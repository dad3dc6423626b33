import assert from "node:assert/strict";
import { test } from "node:test";
import { append, Cancelled, GenerationFailed, RequestFailed } from "../src/index.js";
import { aborted, gate, open } from "./support.js";

const pieces = { promptId: "say", variables: { text: "in pieces" } };

// CAP-2, CAP-5, DET-1.
test("a captured run gives its exchange, which holds what was sent", async (t) => {
  const session = await open(t);
  const result = await session.run({ ...pieces, capture: true });
  assert.equal(result.content, "first second");
  assert.deepEqual(result.exchange, { runId: result.runId });
  const details = await session.request("promptkit/exchange/details", { runId: result.runId });
  assert.deepEqual(details.messages, [
    { role: "system", content: "Be brief.", cache: { type: "ephemeral" } },
    { role: "user", content: "in pieces" },
    { role: "assistant", content: "first second" },
  ]);
});

// OWN-1.
test("two continuations of one exchange are branches of it", async (t) => {
  const session = await open(t);
  const start = await session.run({ ...pieces, capture: true });
  const [left, right] = await Promise.all(
    ["left", "right"].map((text) =>
      session.run({ promptId: "say", variables: { text }, continueFrom: start.runId }),
    ),
  );
  assert.equal(left?.exchange?.parentRunId, start.runId);
  assert.equal(right?.exchange?.parentRunId, start.runId);
  assert.notEqual(left?.runId, right?.runId);
});

// OBS-1, OBS-2.
test("text and observations can be followed with for await, to the end", async (t) => {
  const session = await open(t);
  const run = session.stream(pieces);
  let text = "";
  for await (const delta of run.deltas) text = append(text, delta);
  const kinds: string[] = [];
  for await (const { event } of run.observations) kinds.push(event.kind);
  assert.equal(text, (await run.result).content);
  assert.deepEqual(kinds, ["runStarted", "admitted", "attemptStarted", "attemptFinished", "runFinished"]);
});

test("a loop that is left early leaves the run alone", async (t) => {
  const session = await open(t);
  const run = session.stream(pieces);
  for await (const delta of run.deltas) {
    assert.deepEqual(delta, { attempt: 1, text: "first " });
    break;
  }
  assert.equal((await run.result).content, "first second");
});

test("a failed run ends its loops with the same error", async (t) => {
  const session = await open(t);
  const run = session.stream({ promptId: "missing" });
  const reading = (async () => {
    for await (const _ of run.deltas);
  })();
  const failure = await run.result.catch((error: unknown) => error);
  await assert.rejects(reading, (error) => error === failure);
  assert(failure instanceof RequestFailed);
  assert.equal(failure.code, -32803);
  assert.equal(failure.kind, "promptNotFound");
});

test("what was streamed of an abandoned attempt is reset", async (t) => {
  let calls = 0;
  const session = await open(t, {
    async generate(_, { piece }) {
      calls += 1;
      if (calls === 1) {
        piece("lost");
        throw new GenerationFailed("too many", { reason: "rateLimited", retryAfterMs: 1 });
      }
      piece("ke");
      piece("pt");
      return { content: "kept" };
    },
  });
  const run = session.stream({ ...pieces, profile: "host" });
  const deltas = [];
  for await (const delta of run.deltas) deltas.push(delta);
  assert.deepEqual(deltas, [
    { attempt: 1, text: "lost" },
    { attempt: 1, reset: true },
    { attempt: 2, text: "ke" },
    { attempt: 2, text: "pt" },
  ]);
  assert.equal(deltas.reduce(append, ""), "kept");
  assert.equal((await run.result).transientRetries, 1);
});

// USE-1.
test("usage of a host's model is unknown unless it reports it", async (t) => {
  const session = await open(t, {
    generate: async () => ({ content: "hm", usage: { inputTokens: 0 } }),
  });
  const { usage } = await session.run({ ...pieces, profile: "host" });
  assert.deepEqual(usage.inputTokens, { value: 0, complete: true });
  assert.deepEqual(usage.outputTokens, { value: null, complete: false });
});

// RET-3.
test("an abort cancels the run and what it asks of this program", async (t) => {
  const asked = gate();
  let cancelled = false;
  const session = await open(t, {
    async generate(_, { signal }) {
      asked.open();
      await aborted(signal);
      cancelled = true;
      throw signal.reason;
    },
  });
  const controller = new AbortController();
  const running = session.run({ ...pieces, profile: "host" }, { signal: controller.signal });
  await asked.opened;
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(running, (error) => {
    assert(error instanceof Cancelled);
    assert.equal(error.name, "AbortError");
    assert.equal(error.cause, reason);
    return true;
  });
  const { runs, engines } = await session.request("promptkit/session/status", {});
  assert.equal(runs.active, 0);
  assert.equal(engines[0]?.backends[0]?.leases, 0);
  assert.equal(cancelled, true);
});

test("a signal that is aborted already sends nothing", async (t) => {
  const session = await open(t);
  const seen: unknown[] = [];
  await assert.rejects(
    session.run(pieces, { signal: AbortSignal.abort(), onObservation: (one) => seen.push(one) }),
    { name: "AbortError", code: -32800 },
  );
  assert.deepEqual(seen, []);
});

// ENG-1, ENG-2, OWN-6.
test("a prepared run shows what it will send, and is executed once", async (t) => {
  const session = await open(t);
  const { preparedId, details } = await session.prepare(pieces);
  assert.equal(details.messages.at(-1)?.content, "in pieces");
  assert.equal(details.capture, false);
  assert.equal((await session.execute(preparedId)).content, "first second");
  await assert.rejects(session.execute(preparedId), { kind: "preparedClaimed" });
});

// OUT-2, OUT-3.
test("progress for people tells of a repair", async (t) => {
  const session = await open(t);
  const steps: string[] = [];
  const result = await session.run({ promptId: "fix" }, { onProgress: (step) => steps.push(step.kind) });
  assert.equal(result.repairs, 1);
  assert.deepEqual(result.structured, { name: "a" });
  assert.equal(steps[0], "begin");
  assert.equal(steps.at(-1), "end");
});

// GRP-1, GRP-6.
test("a group sums up the runs it was attached to", async (t) => {
  const session = await open(t);
  const { groupId } = await session.request("promptkit/group/create", {});
  const { runId } = await session.run({ ...pieces, groups: [groupId] });
  await session.run(pieces);
  const snapshot = await session.request("promptkit/group/snapshot", { groupId });
  assert.deepEqual(snapshot.runs, [{ runId, terminal: true }]);
  assert.equal(snapshot.complete, true);
  assert.deepEqual(snapshot.usage.inputTokens, { value: 3, complete: true });
});

// CFG-4, SEC-1.
test("the server asks this program for a key, and an error never shows it", async (t) => {
  const asked: string[] = [];
  const log: string[] = [];
  const session = await open(t, {
    async credential(name) {
      asked.push(name);
      return "sk-canary-1234567890";
    },
    onLog: (line) => log.push(line),
  });
  const failure = await session.run({ ...pieces, profile: "keyed" }).catch((error: unknown) => error);
  assert(failure instanceof RequestFailed);
  assert.equal(failure.kind, "generationFailed");
  assert.deepEqual(asked, ["vault"]);
  assert.doesNotMatch(JSON.stringify([failure.message, failure.data, log]), /canary/);
});

test("a key that this program does not have is a missing credential", async (t) => {
  const session = await open(t, { credential: async () => undefined });
  await assert.rejects(session.run({ ...pieces, profile: "keyed" }), { kind: "credentialMissing" });
});
