// The server's life: found, started, watched, restarted. It knows no prompts and no exchanges.
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn, State } from "vscode-languageclient/node";
import { Client, type Handlers } from "../../typescript/src/client.js";
import { PROTOCOL_VERSIONS } from "../../typescript/src/protocol.js";
import { redacting, type Secrets, tracing } from "./channel.js";
import { find, type Found, NotFound } from "./find.js";
import type { Ui } from "./ui.js";

export type Condition = "missing" | "starting" | "running" | "stopped";

const DOCUMENTS = ["**/*.prompt.yaml", "**/promptkit.yaml"];

export class Server implements vscode.Disposable {
  readonly output: vscode.LogOutputChannel;
  readonly #trace: vscode.LogOutputChannel;
  readonly #changed = new vscode.EventEmitter<Condition>();
  readonly #session = new vscode.EventEmitter<void>();
  /** Also fires when a server that ended was started anew. */
  readonly onDidChange = this.#changed.event;
  /** A new session began: whatever handles there were are gone. */
  readonly onDidBegin = this.#session.event;
  condition: Condition = "stopped";
  /** Why there is no server, if there is none. */
  problem = "";
  root: vscode.Uri | undefined;
  #running: { language: LanguageClient; client: Client } | undefined;
  #starting: Promise<Client | undefined> | undefined;

  constructor(
    readonly ui: Ui,
    readonly handlers: Handlers,
    secrets: Secrets,
  ) {
    this.output = redacting(vscode.window.createOutputChannel("PromptKit", { log: true }), secrets);
    const trace = vscode.window.createOutputChannel("PromptKit Trace", { log: true });
    this.#trace = tracing(redacting(trace, secrets));
  }

  /** The client of a running server, started if need be; undefined if that failed and was said. */
  client(): Promise<Client | undefined> {
    if (this.condition === "running") return Promise.resolve(this.#running?.client);
    const running = this.#running;
    // One that ended by itself is started anew by the language client.
    if (running?.language.state === State.Starting && !this.#starting)
      return running.language.start().then(
        () => running.client,
        () => undefined,
      );
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** The server's process, if there is one. */
  get pid(): number | undefined {
    return this.#running?.language.serverProcess?.pid;
  }

  async restart(): Promise<void> {
    await this.#starting;
    await this.#stop();
    await this.client();
  }

  async dispose(): Promise<void> {
    await this.#stop();
    this.output.dispose();
    this.#trace.dispose();
  }

  async #start(): Promise<Client | undefined> {
    await this.#stop();
    let found: Found;
    try {
      found = find();
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      this.output.error(error.message);
      this.problem = error.message;
      this.#be("missing");
      void this.#advise(error.message);
      return undefined;
    }
    this.root = found.root.uri;
    this.output.info(`starting ${found.command} ${found.args.join(" ")} for ${found.root.uri.fsPath}`);
    const language = this.#language(found);
    const client = new Client(language, this.handlers);
    this.#running = { language, client };
    language.onDidChangeState(({ newState }) => {
      if (this.#running?.language !== language) return;
      if (newState === State.Running) this.#session.fire();
      this.#be(CONDITIONS[newState]);
    });
    try {
      await language.start();
      return client;
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.#be("stopped"); // the language client has told why
      return undefined;
    }
  }

  #language({ command, args, root }: Found): LanguageClient {
    return new LanguageClient(
      "promptkit",
      "PromptKit",
      { command, args, options: { cwd: root.uri.fsPath } },
      {
        documentSelector: DOCUMENTS.map((pattern) => ({ scheme: "file", pattern })),
        initializationOptions: {
          promptkit: { protocolVersions: PROTOCOL_VERSIONS, root: root.uri.fsPath },
        },
        outputChannel: this.output,
        traceOutputChannel: this.#trace,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
      },
    );
  }

  async #stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    running.client.dispose();
    this.#be("stopped");
    if (running.language.state !== State.Running) return;
    await running.language.stop().catch((error: unknown) => this.output.warn(String(error)));
  }

  async #advise(message: string): Promise<void> {
    const chosen = await this.ui.error(message, "Open Settings", "Try Again");
    if (chosen === "Open Settings")
      await vscode.commands.executeCommand("workbench.action.openSettings", "promptkit.server");
    if (chosen === "Try Again") await this.restart();
  }

  #be(condition: Condition): void {
    this.condition = condition;
    this.#changed.fire(condition);
  }
}

const CONDITIONS: Record<State, Condition> = {
  [State.Stopped]: "stopped",
  [State.StartFailed]: "stopped",
  [State.Starting]: "starting",
  [State.Running]: "running",
};
