// Driving a branch: the next action is asked of the person at the keyboard, each time.
import type { CallbackContext, CallOptions, Client } from "../../typescript/src/client.js";
import type { CoordinateResult, NextParams, NextResult } from "../../typescript/src/protocol.js";
import type { Activity } from "./activity.js";
import * as ask from "./ask.js";
import type { Answer, Documents } from "./documents.js";
import { type Node, opening } from "./exchanges.js";
import type { Groups } from "./groups.js";
import type { Runs } from "./runs.js";
import type { Ui } from "./ui.js";

const STOP: NextResult = { action: "stop" };

export class Coordination {
  constructor(
    readonly ui: Ui,
    readonly activity: Activity,
    readonly documents: Documents,
    readonly runs: Runs,
    readonly groups: Groups,
  ) {}

  async coordinate(client: Client, node: Node): Promise<CoordinateResult | undefined> {
    const check = (text: string) => (/^\d{1,6}$/.test(text.trim()) ? undefined : "A whole number is needed.");
    const title = "How many more turns at most?";
    const turns = await this.ui.ask({ title, prompt: `Branch from ${node.promptId}`, value: "3", check });
    if (turns === undefined) return undefined;
    const groups = await this.groups.join(client);
    const request = { exchange: node.runId, additionalTurns: Number(turns), groups };
    const branch = new Branch(this, client);
    try {
      const ended = await this.activity.follow(`branch from ${node.promptId}`, (options) =>
        client.coordinate(request, (turn, context) => branch.next(turn, context), {
          ...options,
          onDelta: branch.take,
        }),
      );
      branch.end(ended);
      return ended;
    } catch (error) {
      branch.fail();
      await this.activity.tell(error);
      return undefined;
    }
  }
}

/** One branch while it is driven: the prompt chosen last, and the document its answer goes to. */
class Branch {
  #last: { promptId: string; answer: Answer } | undefined;

  constructor(
    readonly parts: Coordination,
    readonly client: Client,
  ) {}

  readonly take: CallOptions["onDelta"] = (delta) => this.#last?.answer.take(delta);

  async next({ result, remainingTurns }: NextParams, { signal }: CallbackContext): Promise<NextResult> {
    const { ui, documents, runs } = this.parts;
    if (result && this.#last) runs.keep(this.#last.promptId, result, this.#last.answer);
    this.#last = undefined;
    const stop = { label: "$(debug-stop) Stop here", value: "" };
    const items = [...(await ask.prompts(this.client)), stop];
    const title = `What next? ${remainingTurns} more ${remainingTurns === 1 ? "turn" : "turns"}`;
    const how = remainingTurns ? "A prompt to continue with; Escape stops" : "No turn is left; Escape stops";
    const placeHolder = result ? `“${opening(result.content)}” — ${how}` : how;
    const promptId = await ask.cancellable(signal, (token) => ui.pick(items, { title, placeHolder }, token));
    signal.throwIfAborted();
    if (!promptId) return STOP;
    const inspection = await this.client.request("promptkit/prompt/inspect", { promptId });
    const variables = await ask.variables(ui, inspection, signal);
    signal.throwIfAborted();
    if (!variables) return STOP;
    if (remainingTurns > 0)
      this.#last = {
        promptId,
        answer: await documents.answer(promptId, inspection.output.format !== "text"),
      };
    return { action: "continue", request: { promptId, variables } };
  }

  end({ outcome, undelivered }: CoordinateResult): void {
    const { ui, runs } = this.parts;
    const last = this.#last;
    if (undelivered && last) runs.keep(last.promptId, undelivered, last.answer);
    else last?.answer.fail(outcome);
    const told = {
      stopped: "The branch was stopped.",
      exhausted: "The branch has used up its turns.",
      cancelled: "The branch was cancelled.",
    };
    void ui.say(undelivered ? `${told[outcome]} Its last answer had come, and was kept.` : told[outcome]);
  }

  fail(): void {
    this.#last?.answer.fail("failed");
  }
}
