// Calls in flight: shown with progress, cancellable, and their failures told.
import * as vscode from "vscode";
import type { CallOptions } from "../../typescript/src/client.js";
import { Cancelled, RequestFailed } from "../../typescript/src/errors.js";
import type { Ui } from "./ui.js";

interface Call {
  readonly title: string;
  readonly controller: AbortController;
}

export class Activity {
  readonly #calls = new Set<Call>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;

  constructor(
    readonly ui: Ui,
    readonly root: () => vscode.Uri | undefined,
  ) {}

  get count(): number {
    return this.#calls.size;
  }

  /** Makes a call under a progress notification; throws what it throws. */
  async follow<T>(
    title: string,
    make: (options: CallOptions & { signal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const call = { title, controller: new AbortController() };
    const { signal } = call.controller;
    this.#calls.add(call);
    this.#changed.fire();
    try {
      const shown = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
      return await vscode.window.withProgress(shown, (progress, token) => {
        token.onCancellationRequested(() => call.controller.abort());
        const onProgress: CallOptions["onProgress"] = ({ message }) => {
          if (message) progress.report({ message });
        };
        return make({ signal, onProgress });
      });
    } finally {
      this.#calls.delete(call);
      this.#changed.fire();
    }
  }

  /** Cancels the only call, or the one chosen. */
  async cancel(): Promise<void> {
    const [only, ...others] = this.#calls;
    if (!only) return void this.ui.say("Nothing is running.");
    const items = [...this.#calls].map((call) => ({ label: call.title, value: call }));
    const call = others.length ? await this.ui.pick(items, { title: "Cancel which?" }) : only;
    call?.controller.abort();
  }

  /** Tells a failure, with what can be done about it; gives the action that was chosen. */
  async tell(error: unknown, ...actions: string[]): Promise<string | undefined> {
    if (error instanceof Cancelled) {
      vscode.window.setStatusBarMessage("PromptKit: cancelled", 5000);
      return undefined;
    }
    const location = error instanceof RequestFailed ? error.details?.location : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const chosen = await this.ui.error(message, ...actions, ...(location ? ["Open File"] : []));
    const root = this.root();
    if (chosen !== "Open File" || !location || !root) return chosen;
    const at = new vscode.Position((location.line ?? 1) - 1, (location.column ?? 1) - 1);
    const selection = new vscode.Range(at, at);
    await vscode.window.showTextDocument(vscode.Uri.joinPath(root, location.file), { selection });
    return undefined;
  }
}
