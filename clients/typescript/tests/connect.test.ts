import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { connect, ConnectionLost, PROTOCOL_VERSIONS, ServerMissing } from "../src/index.js";
import { checkout, gate, open, server, workspace } from "./support.js";

test("the types are what the published schema says", async () => {
  const script = join(checkout, "clients/typescript/scripts/generate.mjs");
  const { generate } = (await import(script)) as { generate: () => string };
  const committed = await readFile(join(checkout, "clients/typescript/src/protocol.ts"), "utf8");
  assert.equal(committed, generate(), "run: npm run generate");
});

test("a session tells what the server can do, and its end is clean", async (t) => {
  const root = await workspace(t);
  let exited: Promise<number | null>;
  {
    await using session = await connect({ ...server, root });
    assert(PROTOCOL_VERSIONS.includes(session.capabilities.protocolVersion));
    assert(session.capabilities.coordination);
    ({ exited } = session);
  }
  assert.equal(await exited, 0);
});

test("a program that is not there is told with what to do", async () => {
  await assert.rejects(connect({ command: "promptkit-not-installed" }), (error) => {
    assert(error instanceof ServerMissing);
    assert.match(error.message, /promptkit-not-installed.*ENOENT.*PromptKit RPC with pip/);
    return true;
  });
});

test("a program that ends at once is told with its last words", async () => {
  const args = ["-c", "import sys; sys.exit('no such thing')"];
  await assert.rejects(connect({ ...server, args }), (error) => {
    assert(error instanceof ServerMissing);
    assert.match(error.message, /ended before it answered: no such thing/);
    return true;
  });
});

test("a refused initialize is the server's own error", async () => {
  await assert.rejects(connect({ ...server, root: "", config: "" }), {
    code: -32602,
    kind: "requestInvalid",
  });
});

test("a server that dies rejects what waits, and what comes later", async (t) => {
  const asked = gate();
  const ending = new AbortController();
  const session = await open(t, {
    async generate() {
      asked.open();
      await new Promise((resolve) => ending.signal.addEventListener("abort", resolve));
      return { content: "too late" };
    },
  });
  const running = session.run({ promptId: "say", variables: { text: "a" }, profile: "host" });
  await asked.opened;
  session.kill();
  await assert.rejects(running, ConnectionLost);
  ending.abort();
  await assert.rejects(session.run({ promptId: "say" }), ConnectionLost);
  await session.close();
});

test("a broken workspace opens, and only what needs it fails", async (t) => {
  const root = await workspace(t);
  const session = await connect({ ...server, root, config: "absent.yaml" });
  t.after(() => session.close());
  await assert.rejects(session.run({ promptId: "say" }), { kind: "configInvalid" });
  const { items } = await session.request("promptkit/prompt/list", {});
  assert.equal(items.length, 2);
});
