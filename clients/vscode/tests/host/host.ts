import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as vscode from "vscode";
import { command, file, fresh, Person, shows, write } from "./support.js";

const HELLO = { promptId: "hello", profile: "host" };
const CANARY = "sk-canary-7d1f0e5b";

interface Seen {
  texts: [number, string][];
  options: unknown;
}

describe("the editor's own model", () => {
  let seen: Seen[];
  before(async () => {
    const model = vscode.extensions.getExtension<{ seen: Seen[] }>("promptkit-rpc.promptkit-test-model");
    ({ seen } = await model!.activate());
  });

  it("answers for backends of kind client, and its answer is streamed", async () => {
    const { api } = await fresh();
    await command("run", { ...HELLO, variables: { name: "Ada" } });
    await shows("Say hello to Ada.");
    assert.equal(api.exchanges.latest?.model, "host");
    await command("continueLast", { ...HELLO, variables: { name: "Bob" } });
    const { User, Assistant } = vscode.LanguageModelChatMessageRole;
    assert.deepEqual(seen.at(-1)?.texts, [
      [User, "Say hello to Ada."],
      [Assistant, "Say hello to Ada."],
      [User, "Say hello to Bob."],
    ]);
  });

  it("that refuses makes the run fail, with the reason", async () => {
    const { api, person } = await fresh();
    await command("run", { ...HELLO, variables: { name: "blocked" } });
    assert.match(person.told[0]!, /not that/);
    assert.equal(api.exchanges.held.length, 0);
  });

  it("that is not there is told with those that are", async () => {
    const settings = await vscode.workspace.fs.readFile(file("promptkit.yaml"));
    await write("promptkit.yaml", `${settings}\n  strange:\n    backend: host\n    model: gpt-none\n`);
    const { person } = await fresh();
    await command("run", { promptId: "hello", variables: { name: "Ada" }, profile: "strange" });
    assert.match(person.told[0]!, /no model gpt-none; it has: echo-1/);
    await write("promptkit.yaml", settings.toString());
  });
});

describe("keys", () => {
  // CFG-4, SEC-1.
  it("are kept by the editor, given to the server, and written nowhere", async () => {
    const headers: (string | undefined)[] = [];
    const provider = createServer((request, response) => {
      headers.push(request.headers.authorization);
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `no such key: ${request.headers.authorization}` } }));
    });
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    const { port } = provider.address() as AddressInfo;
    const settings = await vscode.workspace.fs.readFile(file("promptkit.yaml"));
    const keyed = `kind: openai, baseUrl: "http://127.0.0.1:${port}/v1", credential: {client: vault}`;
    const text = settings
      .toString()
      .replace("profiles:", `  keyed: {${keyed}}\nprofiles:\n  keyed: {backend: keyed, model: m}`);
    await write("promptkit.yaml", text);
    await vscode.workspace.getConfiguration("promptkit").update("trace.server", "verbose");
    const { api, person } = await fresh();
    const run = { promptId: "hello", variables: { name: "Ada" }, profile: "keyed" };

    await command("run", run);
    assert.match(person.told.join("\n"), /A backend asks for the key "vault", which is not stored/);

    new Person(api, ["vault", CANARY]);
    await command("credential.store");
    const after = new Person(api);
    await command("run", run);
    assert.deepEqual(headers, [`Bearer ${CANARY}`]);
    assert.equal(after.told.length, 1);
    assert.doesNotMatch(after.told[0]!, /canary/);

    new Person(api, ["vault"]);
    await command("credential.delete");
    await command("run", run);
    assert.equal(headers.length, 1);
    await vscode.workspace.getConfiguration("promptkit").update("trace.server", undefined);
    await write("promptkit.yaml", settings.toString());
    provider.close();
  });
});
