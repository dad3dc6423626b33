// Puts the parts together and registers the commands.
import * as vscode from "vscode";
import type { Client } from "../../typescript/src/client.js";
import { Activity } from "./activity.js";
import * as ask from "./ask.js";
import { Secrets } from "./channel.js";
import { Coordination } from "./coordination.js";
import { Documents } from "./documents.js";
import { Exchanges, type Node, viewOf } from "./exchanges.js";
import { Groups } from "./groups.js";
import { Keys } from "./keys.js";
import { generate } from "./model.js";
import { Runs, wanted } from "./runs.js";
import { Server } from "./server.js";
import { Status } from "./status.js";
import * as text from "./text.js";
import { Ui } from "./ui.js";

/** What other extensions, and the tests, may hold on to. */
export interface Api {
  readonly ui: Ui;
  readonly server: Server;
  readonly exchanges: Exchanges;
  readonly activity: Activity;
  readonly status: Status;
}

export function activate(context: vscode.ExtensionContext): Api {
  const ui = new Ui();
  const secrets = new Secrets();
  const keys = new Keys(context.secrets, secrets, ui);
  const server = new Server(ui, { generate, credential: (name) => keys.get(name) }, secrets);
  const activity = new Activity(ui, () => server.root);
  const documents = new Documents();
  const exchanges = new Exchanges();
  const groups = new Groups(ui, documents);
  const runs = new Runs(ui, activity, documents, exchanges, groups);
  const coordination = new Coordination(ui, activity, documents, runs, groups);
  const status = new Status(server, activity);
  server.onDidBegin(() => {
    exchanges.clear();
    groups.clear();
  });

  const command = (name: string, act: (client: Client, given: unknown) => Promise<unknown>) =>
    vscode.commands.registerCommand(`promptkit.${name}`, async (given: unknown) => {
      const client = await server.client();
      if (!client) return undefined;
      try {
        return await act(client, given);
      } catch (error) {
        return void activity.tell(error);
      }
    });
  const picked = async (given: unknown, title: string, first?: Node) =>
    isNode(given) ? given : ask.exchange(ui, exchanges, title, first);
  const go = async (client: Client, given: unknown, node: Node | undefined) =>
    node &&
    runs.run(client, {
      ...(isNode(given) ? {} : await wanted(client, given, undefined)),
      continueFrom: node.runId,
    });

  context.subscriptions.push(
    server,
    documents,
    status,
    viewOf(exchanges),
    command("run", async (client, given) => runs.run(client, await wanted(client, given, server.root))),
    command("preview", async (client, given) =>
      runs.preview(client, await wanted(client, given, server.root)),
    ),
    command("continueLast", async (client, given) => {
      if (!exchanges.latest) return ui.say("There is no exchange yet. Run a prompt first.");
      return go(client, given, exchanges.latest);
    }),
    command("continue", async (client, given) =>
      go(client, given, await picked(given, "Continue an exchange")),
    ),
    command("branch", async (client, given) => {
      // Another answer beside the latest one is what is mostly wanted: that is a branch from its parent.
      const parent = exchanges.get(exchanges.latest?.parentRunId ?? "");
      const first = parent?.released ? undefined : parent;
      return go(client, given, await picked(given, "Branch from an exchange", first));
    }),
    command("coordinate", async (client, given) => {
      const node = await picked(given, "Coordinate a branch");
      return node && coordination.coordinate(client, node);
    }),
    command("exchange.show", async (client, given) => {
      const node = await picked(given, "Show an exchange");
      if (!node) return;
      const details = await client.request("promptkit/exchange/details", { runId: node.runId });
      await documents.show(`exchange/${node.runId}.promptkit`, text.exchange(details));
    }),
    command("exchange.release", async (client, given) => {
      const node = await picked(given, "Release an exchange");
      if (!node) return;
      await client.request("promptkit/exchange/release", { runId: node.runId });
      exchanges.release(node.runId);
    }),
    command(
      "group.create",
      async (client) => void ui.say(`Runs are collected by ${await groups.create(client)} from here on.`),
    ),
    command("group.show", (client) => groups.show(client)),
    command("credential.store", (client, given) => keys.store(typeof given === "string" ? given : client)),
    command("credential.delete", (client) => keys.delete(client)),
    vscode.commands.registerCommand("promptkit.cancel", () => activity.cancel()),
    vscode.commands.registerCommand("promptkit.server.restart", () => server.restart()),
    vscode.commands.registerCommand("promptkit.output.show", () => server.output.show()),
    vscode.commands.registerCommand("promptkit.menu", () => menu(context, ui)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("promptkit.server")) void server.restart();
    }),
  );
  void server.client();
  return { ui, server, exchanges, activity, status };
}

function isNode(given: unknown): given is Node {
  return typeof given === "object" && given !== null && "runId" in given && "released" in given;
}

async function menu(context: vscode.ExtensionContext, ui: Ui): Promise<void> {
  const { commands } = (
    context.extension.packageJSON as { contributes: { commands: { command: string; title: string }[] } }
  ).contributes;
  const items = commands.filter(({ command }) => command !== "promptkit.menu");
  const choices = items.map(({ command, title }) => ({ label: title, value: command }));
  const chosen = await ui.pick(choices, { title: "PromptKit" });
  if (chosen) await vscode.commands.executeCommand(chosen);
}
