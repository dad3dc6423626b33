// What a run needs to be told by a person: which prompt, which exchange, which variables.
import * as vscode from "vscode";
import type { Client } from "../../typescript/src/client.js";
import type { JsonObject, PromptInspection, VariableInspection } from "../../typescript/src/protocol.js";
import type { Exchanges, Node } from "./exchanges.js";
import type { Choice, Ui } from "./ui.js";

/** The prompts of the workspace, to choose from. */
export async function prompts(client: Client): Promise<Choice<string>[]> {
  const { items } = await client.request("promptkit/prompt/list", {});
  return items.map(({ name, description }) => ({
    label: name,
    value: name,
    ...(description ? { detail: description } : {}),
  }));
}

/** The prompt that a definition file is, if it is one. */
export async function promptAt(
  client: Client,
  file: vscode.Uri,
  root: vscode.Uri,
): Promise<string | undefined> {
  const { items } = await client.request("promptkit/prompt/list", {});
  const at = (path: string) => vscode.Uri.joinPath(root, path).toString();
  return items.find(({ location }) => at(location.file) === file.toString())?.name;
}

/** A held exchange; `first` stands at the top. */
export function exchange(
  ui: Ui,
  exchanges: Exchanges,
  title: string,
  first?: Node,
): Promise<Node | undefined> {
  const nodes = exchanges.held.filter((node) => node !== first);
  const items = [...(first ? [first] : []), ...nodes].map((node) => ({
    label: node.promptId,
    description: node.runId,
    detail: node.opening,
    value: node,
  }));
  if (items.length === 0) {
    void ui.say("There is no exchange yet. Run a prompt first.");
    return Promise.resolve(undefined);
  }
  return ui.pick(items, { title, placeHolder: "Which exchange?" });
}

/** A value for each declared variable; undefined as soon as one is not answered. */
export async function variables(
  ui: Ui,
  { promptId, variables }: PromptInspection,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  const values: JsonObject = {};
  for (const declared of variables) {
    const answer = await value(ui, promptId, declared, signal);
    if (answer === undefined) return undefined;
    if (answer !== "default") values[declared.name] = answer.value;
  }
  return values;
}

type Answer = "default" | { value: unknown } | undefined;
interface Shape {
  type?: unknown;
  enum?: readonly unknown[];
  description?: string;
}

async function value(
  ui: Ui,
  promptId: string,
  declared: VariableInspection,
  signal?: AbortSignal,
): Promise<Answer> {
  const shape: Shape = typeof declared.schema === "boolean" ? {} : declared.schema;
  const options = shape.enum ?? (shape.type === "boolean" ? [true, false] : undefined);
  const title = `${promptId}: ${declared.name}`;
  const prompt = shape.description ?? describe(shape);
  const fallback = declared.required ? "" : `, default ${JSON.stringify(declared.default ?? null)}`;
  return cancellable(signal, async (token): Promise<Answer> => {
    if (options) {
      const items: Choice<Answer>[] = options.map((one) => ({ label: text(one), value: { value: one } }));
      if (!declared.required)
        items.unshift({ label: `Default: ${text(declared.default)}`, value: "default" });
      return ui.pick(items, { title, placeHolder: prompt }, token);
    }
    const check = (given: string) => (given || declared.required ? read(given, shape).problem : undefined);
    const given = await ui.ask({ title, prompt: `${prompt}${fallback}`, check }, token);
    if (given === undefined) return undefined;
    if (given === "" && !declared.required) return "default";
    return { value: read(given, shape).value };
  });
}

/** What was typed, as the declared type says: text stays as it is, all else is JSON. */
function read(given: string, { type }: Shape): { value?: unknown; problem?: string } {
  if (type === "string") return { value: given };
  try {
    const value: unknown = JSON.parse(given);
    if (type === "integer" && !Number.isInteger(value)) return { problem: "A whole number is needed." };
    if (type === "number" && typeof value !== "number") return { problem: "A number is needed." };
    if (type === "array" && !Array.isArray(value))
      return { problem: 'A JSON array is needed, such as ["one", "two"].' };
    return { value };
  } catch {
    if (type === undefined) return { value: given };
    return { problem: `JSON is needed: ${describe({ type })}` };
  }
}

function describe({ type }: Shape): string {
  return type === undefined ? "text, or JSON" : type === "string" ? "text" : `JSON, of type ${text(type)}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

/** Asks something that goes away when the signal says so. */
export async function cancellable<T>(
  signal: AbortSignal | undefined,
  ask: (token: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const source = new vscode.CancellationTokenSource();
  const cancel = () => source.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    signal?.throwIfAborted();
    return await ask(source.token);
  } finally {
    signal?.removeEventListener("abort", cancel);
    source.dispose();
  }
}
