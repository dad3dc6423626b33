import assert from "node:assert/strict";
import * as vscode from "vscode";
import { command, file, fresh, Person, shows, until, write } from "./support.js";

const STUDY = { promptId: "research/study", variables: { case: "bridge" } };
const ANSWER = "A footbridge whose hangers have begun to rust.";

describe("runs", () => {
  // CAP-2, CAP-5.
  it("ask for the prompt and its declared variables, and keep the exchange", async () => {
    const { api, person } = await fresh(["research/study", "bridge"]);
    await command("run");
    person.done();
    assert.deepEqual(person.asked, ["Run which prompt?", "research/study: case"]);
    await shows(ANSWER);
    const [node] = api.exchanges.getChildren();
    await command("exchange.show", node);
    await shows(/──── system {2}cache \{"type":"ephemeral"\} ────\nYou study reports/);
    await shows(new RegExp(`──── assistant ────\n${ANSWER}\n$`));
    assert.equal(await vscode.commands.executeCommand("type", { text: "x" }), undefined);
    assert.equal(vscode.window.activeTextEditor?.document.isDirty, false, "it is read-only");
  });

  it("start from a definition file that is open", async () => {
    const { person } = await fresh(["Anything?"]);
    await command("run", file("prompts/research/investigate.prompt.yaml"));
    person.done();
    assert.deepEqual(person.asked, ["research/investigate: question"]);
    await shows("Anything?");
  });

  it("read each variable as its declared type", async () => {
    await write(
      "prompts/typed.prompt.yaml",
      [
        "profile: demo",
        "variables:",
        "  words: {type: array, items: {type: string}}",
        "  loud: {type: boolean}",
        "  mood: {enum: [glad, sad]}",
        "  count: {type: integer, default: 2}",
        "messages:",
        "  - {role: user, content: \"{{ words | join('+') }} {{ loud }} {{ mood }} {{ count }}\"}",
      ].join("\n"),
    );
    const { person } = await fresh(["typed", '["a", "b"]', "true", "sad", ""]);
    await command("run");
    person.done();
    await shows("a+b True sad 2");
    await vscode.workspace.fs.delete(file("prompts/typed.prompt.yaml"));
  });

  // OWN-1.
  it("continue the last exchange or a picked one, and branch beside it", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const first = api.exchanges.latest!;
    new Person(api, ["research/investigate", "What is the worst damage?"]);
    await command("continueLast");
    const second = api.exchanges.latest!;
    assert.equal(second.parentRunId, first.runId);
    // Branching offers the parent of the latest first: another answer beside it.
    const person = new Person(api, [
      ({ labels }) => labels[0],
      "research/investigate",
      "What should be done first?",
    ]);
    await command("branch");
    person.done();
    const third = api.exchanges.latest!;
    assert.equal(third.parentRunId, first.runId);
    new Person(api, [second.runId, "research/investigate", "Can it wait?"]);
    await command("continue");
    const tree = (node = first): unknown => [
      node.opening,
      ...api.exchanges.getChildren(node).map(tree as never),
    ];
    assert.deepEqual(api.exchanges.getChildren(), [first]);
    assert.deepEqual(tree(), [
      ANSWER,
      ["The rusted lower pins of two hangers.", ["No, close it until the pins are replaced."]],
      ["Load-test the bridge; the last test is nine years old."],
    ]);
  });

  // OWN-5.
  it("stay in the tree while something is built on what was released", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const first = api.exchanges.latest!;
    await command("continueLast", { promptId: "research/investigate", variables: { question: "And now?" } });
    const second = api.exchanges.latest!;
    await command("exchange.release", first);
    assert.equal(api.exchanges.getTreeItem(api.exchanges.get(first.runId)!).description, "released");
    await command("continue", second);
    await command("exchange.show", second);
    await shows(/And now\?/);
    await command("exchange.release", second);
    assert.deepEqual(api.exchanges.getChildren(), []);
  });

  // ENG-1, ENG-2.
  it("show what would be sent before it is, and send that or nothing", async () => {
    const { api, person } = await fresh(["Discard"]);
    await command("preview", STUDY);
    person.done();
    await shows(/^This would be sent:\n\nprompt {6}research\/study\nprofile {5}demo\n/);
    await shows(/session id {2}case-bridge\n/);
    await shows(/──── user ────\nWhat is this report about\?\n$/);
    assert.equal(api.exchanges.held.length, 0);
    new Person(api, ["Send"]);
    await command("preview", STUDY);
    await shows(ANSWER);
    assert.equal(api.exchanges.held.length, 1);
  });

  // SEC-2.
  it("that lack a variable say which, and can be given it", async () => {
    const { person } = await fresh(["Give Variables…", '{"name": "Ada"}']);
    await command("run", { promptId: "hello", variables: {} });
    person.done();
    assert.match(person.told[0]!, /name/);
    await shows(/hello to Ada/);
  });

  // OUT-2.
  it("whose answer breaks its contract are kept, with a warning", async () => {
    await write(
      "prompts/strict.prompt.yaml",
      "profile: demo\nmessages: [{role: user, content: words}]\noutput: {format: json}\n",
    );
    const { api, person } = await fresh();
    await command("run", { promptId: "strict", variables: {} });
    assert.match(person.told[0]!, /The answer of strict breaks its contract/);
    assert.equal(api.exchanges.latest?.valid, false);
    await vscode.workspace.fs.delete(file("prompts/strict.prompt.yaml"));
  });

  // GRP-6, USE-1.
  it("are collected by the current group, whose usage can be shown", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    await command("group.create");
    await command("run", { promptId: "review/draft", variables: { sentence: "It are." } });
    const person = new Person(api, [({ labels }) => labels[1]]);
    await command("group.show");
    person.done();
    await shows(/every run has ended\n/);
    await shows(/runs {12}1\n/);
    await shows(/input tokens {4}61\n/);
    await shows(/reasoning {5}unknown\n/);
  });

  // RET-3.
  it("can be cancelled, from the command as well", async () => {
    const { api, person } = await fresh();
    const running = command("run", { promptId: "hello", variables: { name: "wait" }, profile: "host" });
    await until(api.activity.onDidChange, () => api.activity.count === 1);
    assert.match(api.status.item.text, /1 running/);
    await command("cancel");
    await running;
    assert.equal(api.activity.count, 0);
    assert.equal(api.exchanges.held.length, 0);
    await shows(/\[cancelled\]/);
    assert.deepEqual(person.told, []);
  });
});
