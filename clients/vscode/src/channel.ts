// Output for people, with every key that was handed out left out of it.
import * as vscode from "vscode";

const HIDDEN = "•••";

/** Keys that must not be written anywhere, in the spellings that a message may have. */
export class Secrets {
  readonly #texts = new Set<string>();

  add(key: string): void {
    if (!key) return;
    this.#texts.add(key);
    this.#texts.add(JSON.stringify(key).slice(1, -1));
  }

  redact(text: string): string {
    for (const secret of this.#texts) text = text.replaceAll(secret, HIDDEN);
    return text;
  }
}

const WRITES: readonly PropertyKey[] = [
  "append",
  "appendLine",
  "replace",
  "trace",
  "debug",
  "info",
  "warn",
  "error",
];

/** The same channel; whatever is written is redacted first. */
export function redacting(channel: vscode.LogOutputChannel, secrets: Secrets): vscode.LogOutputChannel {
  return new Proxy(channel, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (!WRITES.includes(name)) return member.bind(target);
      return (first: unknown, ...rest: unknown[]) =>
        member.apply(
          target,
          [first, ...rest].map((one) =>
            secrets.redact(one instanceof Error ? String(one.stack) : String(one)),
          ),
        );
    },
  });
}

/**
 * A channel that shows traces while `promptkit.trace.server` is on, whatever its own log level: the
 * language client asks the level whether to trace at all.
 */
export function tracing(channel: vscode.LogOutputChannel): vscode.LogOutputChannel & vscode.Disposable {
  const changed = new vscode.EventEmitter<vscode.LogLevel>();
  const on = () => vscode.workspace.getConfiguration("promptkit").get("trace.server", "off") !== "off";
  const level = () => (on() ? vscode.LogLevel.Trace : channel.logLevel);
  const listening = [
    channel.onDidChangeLogLevel(() => changed.fire(level())),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("promptkit.trace.server")) changed.fire(level());
    }),
    changed,
  ];
  return new Proxy(channel, {
    get(target, name) {
      if (name === "logLevel") return level();
      if (name === "onDidChangeLogLevel") return changed.event;
      if (name === "trace") return (text: string) => (on() ? target.info(text) : target.trace(text));
      if (name === "dispose")
        return () => {
          for (const one of listening) one.dispose();
          target.dispose();
        };
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
