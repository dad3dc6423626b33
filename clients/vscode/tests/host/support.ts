// The extension under test, and a person at the keyboard who answers what a test says.
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Api } from "../../src/extension.js";
import type { Choice, Question } from "../../src/ui.js";

export async function extension(): Promise<Api> {
  const found = vscode.extensions.getExtension<Api>("promptkit-rpc.promptkit-rpc");
  assert(found, "the extension is not installed");
  return found.activate();
}

/** An answer: to a choice by its label, to a question by its text; undefined leaves it. */
export type Reply =
  | string
  | undefined
  | ((asked: { title: string; labels: string[]; token?: vscode.CancellationToken | undefined }) => unknown);

export class Person {
  readonly told: string[] = [];
  readonly asked: string[] = [];
  readonly #replies: Reply[];

  /** From here on the extension's questions are answered from this list, in order. */
  constructor(api: Api, replies: Reply[] = []) {
    this.#replies = replies;
    api.ui.pick = (items, { title }, token) => this.#pick(items, title, token);
    api.ui.ask = (question, token) => this.#answer(question, token);
    api.ui.say = api.ui.warn = api.ui.error = (message, ...actions) => this.#hear(message, actions);
  }

  /** Every reply was asked for. */
  done(): void {
    assert.deepEqual(this.#replies, []);
  }

  async #pick<T>(
    items: readonly Choice<T>[],
    title: string,
    token?: vscode.CancellationToken,
  ): Promise<T | undefined> {
    const labels = items.map(({ label }) => label);
    const reply = await this.#reply(title, labels, token);
    const chosen = items.find(({ label, description }) =>
      [label, description ?? label].includes(reply ?? ""),
    );
    assert(chosen || reply === undefined, `${title}: nothing is labelled ${reply} in ${labels}`);
    return chosen?.value;
  }

  async #answer({ title, check }: Question, token?: vscode.CancellationToken): Promise<string | undefined> {
    const reply = await this.#reply(title, [], token);
    if (reply !== undefined) assert.equal(check?.(reply), undefined, `${title}: ${reply} is refused`);
    return reply;
  }

  async #hear(message: string, actions: string[]): Promise<string | undefined> {
    this.told.push(message);
    const next = this.#replies[0];
    return typeof next === "string" && actions.includes(next) ? (this.#replies.shift() as string) : undefined;
  }

  async #reply(
    title: string,
    labels: string[],
    token?: vscode.CancellationToken,
  ): Promise<string | undefined> {
    this.asked.push(title);
    assert(this.#replies.length, `nobody expected the question: ${title}`);
    const reply = this.#replies.shift();
    return (typeof reply === "function" ? await reply({ title, labels, token }) : reply) as
      string | undefined;
  }
}

/** Waits until something is so, looking whenever the event fires. */
export async function until<T>(event: vscode.Event<T>, so: () => boolean): Promise<void> {
  if (so()) return;
  await new Promise<void>((resolve) => {
    const listening = event(() => {
      if (!so()) return;
      listening.dispose();
      resolve();
    });
  });
}

export const root = (): vscode.Uri => vscode.workspace.workspaceFolders![0]!.uri;

export function file(path: string): vscode.Uri {
  return vscode.Uri.joinPath(root(), path);
}

export async function write(path: string, text: string): Promise<void> {
  await vscode.workspace.fs.writeFile(file(path), Buffer.from(text));
}

export function command<T = unknown>(name: string, ...args: unknown[]): Promise<T> {
  return Promise.resolve(vscode.commands.executeCommand<T>(`promptkit.${name}`, ...args));
}

/** The text of the document in front. */
export function shown(): string {
  return vscode.window.activeTextEditor?.document.getText() ?? "";
}

/** Waits until the document in front has this text, or text like it. */
export async function shows(text: string | RegExp): Promise<void> {
  const so = () => (typeof text === "string" ? shown() === text : text.test(shown()));
  const changed = new vscode.EventEmitter<void>();
  const listening = [
    vscode.workspace.onDidChangeTextDocument(() => changed.fire()),
    vscode.window.onDidChangeActiveTextEditor(() => changed.fire()),
  ];
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`shown is: ${shown()}`)), 10_000).unref(),
  );
  await Promise.race([until(changed.event, so), late]).finally(() =>
    listening.forEach((one) => one.dispose()),
  );
}

/** Ready for a test: a running server with nothing in its session. */
export async function fresh(replies: Reply[] = []): Promise<{ api: Api; person: Person }> {
  const api = await extension();
  const person = new Person(api, replies);
  await command("server.restart");
  assert.equal(api.server.condition, "running");
  return { api, person };
}
