import assert from "node:assert/strict";
import * as vscode from "vscode";
import { command, extension, file, fresh, Person, until, write } from "./support.js";

const settings = () => vscode.workspace.getConfiguration("promptkit.server");

describe("the server", () => {
  it("is started with the workspace, and the status bar says so", async () => {
    const api = await extension();
    await until(api.server.onDidChange, () => api.server.condition === "running");
    assert.equal(api.status.item.text, "$(check) PromptKit");
    assert.match(String(api.status.item.tooltip), /running for .*workspace/);
  });

  it("that is not there is told with what to do, and found when the setting is right", async () => {
    const { api, person } = await fresh();
    const scope = vscode.ConfigurationTarget.Workspace;
    const missing = until(api.server.onDidChange, () => api.server.condition === "missing");
    await settings().update("command", "promptkit-not-installed", scope);
    await missing;
    assert.match(
      person.told[0]!,
      /promptkit-not-installed.*PromptKit RPC with pip.*promptkit\.server\.command/,
    );
    assert.match(api.status.item.text, /error/);
    const running = until(api.server.onDidChange, () => api.server.condition === "running");
    await settings().update("command", undefined, scope);
    await running;
  });

  it("gives diagnostics for definition files, which go when the fault is gone", async () => {
    await fresh();
    const path = "prompts/broken.prompt.yaml";
    await write(path, "messages:\n  - {role: usher, content: Hello}\n");
    const document = await vscode.workspace.openTextDocument(file(path));
    await vscode.window.showTextDocument(document);
    const faults = () => vscode.languages.getDiagnostics(document.uri);
    await until(vscode.languages.onDidChangeDiagnostics, () => faults().length > 0);
    assert.match(faults()[0]!.message, /'role' must be one of/);
    assert.equal(faults()[0]!.range.start.line, 1);
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, document.lineAt(1).range, "  - {role: user, content: Hello}");
    const fixed = until(vscode.languages.onDidChangeDiagnostics, () => faults().length === 0);
    await vscode.workspace.applyEdit(edit);
    await fixed;
    await document.save();
    await vscode.workspace.fs.delete(document.uri);
  });

  it("that is restarted begins a new session", async () => {
    const { api } = await fresh();
    new Person(api);
    await command("run", { promptId: "research/study", variables: { case: "bridge" } });
    assert.equal(api.exchanges.held.length, 1);
    await command("server.restart");
    assert.equal(api.exchanges.held.length, 0);
  });

  it("that ends by itself is started anew", async () => {
    const { api } = await fresh();
    await command("run", { promptId: "research/study", variables: { case: "bridge" } });
    const { pid } = api.server;
    const begun = new Promise<void>((resolve) => api.server.onDidBegin(resolve));
    process.kill(pid!, "SIGKILL");
    await begun;
    assert.notEqual(api.server.pid, pid);
    assert.equal(api.exchanges.held.length, 0);
    await command("run", { promptId: "research/study", variables: { case: "bridge" } });
    assert.equal(api.exchanges.held.length, 1);
  });

  it("offers every command in one menu", async () => {
    const { person } = await fresh(["Run a Prompt…", undefined]);
    await command("menu");
    assert.deepEqual(person.asked, ["PromptKit", "Run which prompt?"]);
  });
});
