// The editor's own language models, for backends of kind `client`.
import * as vscode from "vscode";
import type { CallbackContext } from "../../typescript/src/client.js";
import { GenerationFailed } from "../../typescript/src/errors.js";
import type { GenerateParams, GenerateResult, Reason } from "../../typescript/src/protocol.js";

/** Names of a profile's model that leave the choice to the editor. */
const ANY = ["host", "any"];

export async function generate(
  params: GenerateParams,
  { signal, piece }: CallbackContext & { piece(text: string): void },
): Promise<GenerateResult> {
  const model = await choose(params.model);
  const source = new vscode.CancellationTokenSource();
  const cancel = () => source.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const options = { modelOptions: parameters(params), justification: `PromptKit runs ${params.promptId}` };
    const response = await model.sendRequest(params.messages.map(message), options, source.token);
    let content = "";
    for await (const text of response.text) {
      content += text;
      piece(text);
    }
    signal.throwIfAborted();
    return { content }; // the editor reports neither usage nor why an answer ended
  } catch (error) {
    throw failure(error);
  } finally {
    signal.removeEventListener("abort", cancel);
    source.dispose();
  }
}

async function choose(name: string): Promise<vscode.LanguageModelChat> {
  const models = (await vscode.lm?.selectChatModels({})) ?? [];
  const first = models[0];
  if (!first) throw new GenerationFailed("this editor offers no language model", { reason: "badRequest" });
  const chosen = ANY.includes(name)
    ? first
    : models.find(({ id, family, vendor }) =>
        [id, family, `${vendor}/${id}`, `${vendor}/${family}`].includes(name),
      );
  if (chosen) return chosen;
  const names = models.map(({ id }) => id).join(", ");
  throw new GenerationFailed(`this editor has no model ${name}; it has: ${names}, or say "any"`, {
    reason: "badRequest",
  });
}

/** The editor knows two roles: what is not the assistant's is the user's. */
function message({ role, content }: GenerateParams["messages"][number]): vscode.LanguageModelChatMessage {
  return role === "assistant"
    ? vscode.LanguageModelChatMessage.Assistant(content)
    : vscode.LanguageModelChatMessage.User(content);
}

function parameters({ parameters }: GenerateParams): Record<string, unknown> {
  const { extra, maxTokens, temperature, topP, stop, seed } = parameters;
  const named = { max_tokens: maxTokens, temperature, top_p: topP, stop, seed };
  const given = Object.entries(named).filter(([, value]) => value !== undefined && value !== null);
  return { ...Object.fromEntries(given), ...extra };
}

const REASONS: Record<string, Reason> = {
  NoPermissions: "authentication",
  Blocked: "contentFilter",
  NotFound: "badRequest",
};

function failure(error: unknown): unknown {
  if (!(error instanceof vscode.LanguageModelError)) return error;
  return new GenerationFailed(error.message, { reason: REASONS[error.code] ?? "server" });
}
