import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  CallbackFailed,
  type NextParams,
  type NextResult,
  RequestFailed,
  type Session,
} from "../src/index.js";
import { aborted, gate, open } from "./support.js";

const STOP: NextResult = { action: "stop" };
const ask = (text: string, profile?: string): NextResult => ({
  action: "continue",
  request: { promptId: "say", variables: { text }, profile: profile ?? null },
});

async function started(t: TestContext, options = {}): Promise<[Session, string]> {
  const session = await open(t, options);
  const { runId } = await session.run({ promptId: "say", variables: { text: "start" }, capture: true });
  return [session, runId];
}

// COO-2, COO-3, COO-6, COO-8, C-03.
test("a branch is asked for before each turn and after the last, and can run out", async (t) => {
  const [session, exchange] = await started(t);
  const turns: NextParams[] = [];
  const ended = await session.coordinate({ exchange, additionalTurns: 1 }, async (turn) => {
    turns.push(turn);
    return ask(`question ${turn.deliveryIndex}`);
  });
  assert.deepEqual(ended, { outcome: "exhausted" });
  assert.deepEqual(
    turns.map(({ remainingTurns, result }) => [remainingTurns, result?.content]),
    [
      [1, undefined],
      [0, "question 0"],
    ],
  );
  assert.equal(turns[1]?.exchange.parentRunId, exchange);
});

// COO-4, COO-17, ADM-3, C-01.
test("branches run side by side and may ask for other runs in between, at capacity 1", async (t) => {
  const [session, exchange] = await started(t);
  const branch = async (name: string) => {
    const opinions: string[] = [];
    const ended = await session.coordinate({ exchange, additionalTurns: 2 }, async ({ result }) => {
      if (!result) return ask(name);
      opinions.push((await session.run({ promptId: "say", variables: { text: result.content } })).content);
      return STOP;
    });
    return [ended.outcome, ...opinions];
  };
  assert.deepEqual(await Promise.all(["a", "b", "c"].map(branch)), [
    ["stopped", "a"],
    ["stopped", "b"],
    ["stopped", "c"],
  ]);
});

// COO-7.
test("what the callback throws comes back as the same object", async (t) => {
  const [session, exchange] = await started(t);
  const thrown = new TypeError("mine");
  const failure = await session
    .coordinate({ exchange, additionalTurns: 1 }, () => Promise.reject(thrown))
    .catch((error: unknown) => error);
  assert.equal(failure, thrown);
});

// COO-7.
test("over the wire a callback's error keeps code, message and data", async (t) => {
  const [session, exchange] = await started(t);
  const seen: unknown[] = [];
  await session
    .request("promptkit/coordinate", { exchange, additionalTurns: 1, coordinationId: "unknown" })
    .catch((error: unknown) => seen.push(error));
  const [failure] = seen;
  assert(failure instanceof RequestFailed);
  assert.equal(failure.message, "no coordination is named unknown");
  const thrown = new CallbackFailed("mine", { deep: [1] }, 4711);
  const data: unknown[] = [];
  await session
    .coordinate({ exchange, additionalTurns: 1 }, () => Promise.reject(thrown))
    .catch((error: unknown) => data.push(error));
  assert.equal(data[0], thrown);
});

// COO-9.
test("an operational error of a turn ends the branch", async (t) => {
  const [session, exchange] = await started(t);
  let calls = 0;
  const failing = session.coordinate({ exchange, additionalTurns: 3 }, async () => {
    calls += 1;
    return { action: "continue", request: { promptId: "missing" } };
  });
  await assert.rejects(failing, { kind: "promptNotFound" });
  assert.equal(calls, 1);
});

// COO-11, COO-12.
test("an answer that a cancel kept from the callback is returned as undelivered", async (t) => {
  const controller = new AbortController();
  const [session, exchange] = await started(t, {
    async generate() {
      // The answer goes out when this returns, and the cancel right behind it.
      setImmediate(() => controller.abort());
      return { content: "paid for" };
    },
  });
  let calls = 0;
  const ended = await session.coordinate(
    { exchange, additionalTurns: 2 },
    async () => {
      calls += 1;
      return ask("anything", "host");
    },
    { signal: controller.signal },
  );
  assert.equal(ended.outcome, "cancelled");
  assert.equal(ended.undelivered?.content, "paid for");
  assert.equal(calls, 1);
});

// COO-10, COO-13.
test("a cancel while the application decides reaches the callback", async (t) => {
  const [session, exchange] = await started(t);
  const controller = new AbortController();
  const deciding = gate();
  const coordination = session.coordinate(
    { exchange, additionalTurns: 1 },
    async (_, { signal }) => {
      deciding.open();
      await aborted(signal);
      throw signal.reason;
    },
    { signal: controller.signal },
  );
  await deciding.opened;
  controller.abort();
  assert.deepEqual(await coordination, { outcome: "cancelled" });
});

test("a signal that is aborted already asks nothing", async (t) => {
  const [session, exchange] = await started(t);
  const ended = await session.coordinate(
    { exchange, additionalTurns: 1 },
    () => assert.fail("must not be asked"),
    { signal: AbortSignal.abort() },
  );
  assert.deepEqual(ended, { outcome: "cancelled" });
});

// OBS-1.
test("the text and observations of every turn can be followed", async (t) => {
  const [session, exchange] = await started(t);
  const runs = new Set<string>();
  let text = "";
  await session.coordinate(
    { exchange, additionalTurns: 2 },
    async ({ remainingTurns }) => (remainingTurns ? ask(`t${remainingTurns}.`) : STOP),
    {
      onObservation: ({ runId }) => runs.add(runId),
      onDelta: (delta) => (text += "text" in delta ? delta.text : ""),
    },
  );
  assert.equal(text, "t2.t1.");
  assert.equal(runs.size, 2);
});
