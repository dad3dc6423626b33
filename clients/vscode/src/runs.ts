// Running a prompt: from scratch, as a continuation, or after a look at what would be sent.
import * as vscode from "vscode";
import type { CallOptions, Client, RunRequest } from "../../typescript/src/client.js";
import { Cancelled, RequestFailed } from "../../typescript/src/errors.js";
import type { JsonObject, RunResult } from "../../typescript/src/protocol.js";
import type { Activity } from "./activity.js";
import * as ask from "./ask.js";
import type { Answer, Documents } from "./documents.js";
import type { Exchanges } from "./exchanges.js";
import type { Groups } from "./groups.js";
import * as text from "./text.js";
import type { Ui } from "./ui.js";

/** What is known of a run before anybody is asked; all of it may come with a keybinding. */
export interface Wanted {
  promptId?: string;
  variables?: JsonObject;
  profile?: string;
  continueFrom?: string;
}

export class Runs {
  constructor(
    readonly ui: Ui,
    readonly activity: Activity,
    readonly documents: Documents,
    readonly exchanges: Exchanges,
    readonly groups: Groups,
  ) {}

  /** Asks for what is missing and runs it, captured. */
  async run(client: Client, wanted: Wanted): Promise<RunResult | undefined> {
    const asked = await this.#complete(client, wanted);
    if (!asked) return undefined;
    const { request, json } = asked;
    return this.#show(
      request,
      json,
      (options) => client.run(request, options),
      async (error) => {
        const variables = await this.#more(error, request.variables ?? {});
        return variables && this.run(client, { ...wanted, promptId: request.promptId, variables });
      },
    );
  }

  /** Shows what would be sent, and then sends exactly that or nothing. */
  async preview(client: Client, wanted: Wanted): Promise<RunResult | undefined> {
    const asked = await this.#complete(client, wanted);
    if (!asked) return undefined;
    const { request, json } = asked;
    try {
      const { preparedId, details } = await client.prepare(request);
      await this.documents.show(`preview/${preparedId}.promptkit`, text.prepared(details));
      const chosen = await this.ui.say(`Nothing of ${request.promptId} was sent yet.`, "Send", "Discard");
      if (chosen === "Send")
        return await this.#show(request, json, (options) => client.execute(preparedId, options));
      await client.request("promptkit/prepared/discard", { preparedId });
    } catch (error) {
      const variables = await this.#more(error, request.variables ?? {});
      if (variables) return this.preview(client, { ...wanted, promptId: request.promptId, variables });
    }
    return undefined;
  }

  /** Takes what a completed run brought, and tells a verdict that is not good. */
  keep(promptId: string, result: RunResult, answer: Answer): void {
    answer.end(result.content);
    this.exchanges.add(promptId, result);
    const { status, violations } = result.validation;
    if (status !== "invalid") return;
    const faults = violations.map(({ path, message }) => `${path || "/"}: ${message}`).join("; ");
    void this.ui.warn(`The answer of ${promptId} breaks its contract. ${faults}`);
  }

  async #complete(
    client: Client,
    wanted: Wanted,
  ): Promise<{ request: RunRequest; json: boolean } | undefined> {
    const title = wanted.continueFrom ? "Continue with which prompt?" : "Run which prompt?";
    const promptId = wanted.promptId ?? (await this.ui.pick(await ask.prompts(client), { title }));
    if (!promptId) return undefined;
    const inspection = await client.request("promptkit/prompt/inspect", { promptId });
    const variables = wanted.variables ?? (await ask.variables(this.ui, inspection));
    if (!variables) return undefined;
    const groups = await this.groups.join(client);
    const { continueFrom, profile } = wanted;
    const request: RunRequest = { promptId, variables, groups, capture: true };
    if (continueFrom) request.continueFrom = continueFrom;
    if (profile) request.profile = profile;
    return { request, json: inspection.output.format !== "text" };
  }

  async #show(
    { promptId }: RunRequest,
    json: boolean,
    call: (options: CallOptions) => Promise<RunResult>,
    again: (error: unknown) => Promise<RunResult | undefined> = async (error) =>
      void (await this.activity.tell(error)),
  ): Promise<RunResult | undefined> {
    const answer = await this.documents.answer(promptId, json);
    try {
      const result = await this.activity.follow(promptId, (options) =>
        call({ ...options, onDelta: (delta) => answer.take(delta) }),
      );
      this.keep(promptId, result, answer);
      return result;
    } catch (error) {
      answer.fail(error instanceof Cancelled ? "cancelled" : "failed");
      return again(error);
    }
  }

  /** Tells a failure; a template that lacks variables may be given them. */
  async #more(error: unknown, given: JsonObject): Promise<JsonObject | undefined> {
    const lacks = error instanceof RequestFailed && error.kind === "templateFailed";
    const action = "Give Variables…";
    if ((await this.activity.tell(error, ...(lacks ? [action] : []))) !== action) return undefined;
    const check = (text: string) =>
      object(text) ? undefined : 'A JSON object is needed, such as {"name": "Ada"}.';
    const title = "Variables, as a JSON object";
    const value = JSON.stringify(given);
    const answer = await this.ui.ask({ title, value, check });
    return answer === undefined ? undefined : object(answer);
  }
}

function object(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}

/** What a command was called with: nothing, a definition file, the id of a prompt, or all that is wanted. */
export async function wanted(client: Client, given: unknown, root: vscode.Uri | undefined): Promise<Wanted> {
  if (given instanceof vscode.Uri) {
    const promptId = root && (await ask.promptAt(client, given, root));
    return promptId ? { promptId } : {};
  }
  if (typeof given === "string") return { promptId: given };
  return typeof given === "object" && given !== null ? (given as Wanted) : {};
}
