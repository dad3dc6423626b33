// What documents say: plain functions from values of the wire to text.
import type {
  ExchangeDetails,
  GroupSnapshot,
  Message,
  PreparedDetails,
  TokenTotal,
  Usage,
} from "../../typescript/src/protocol.js";

export function exchange(details: ExchangeDetails): string {
  const from = details.parentRunId ? `continues ${details.parentRunId}` : "continues nothing";
  return [`exchange ${details.runId}`, from, "", ...details.messages.map(message)].join("\n");
}

export function prepared(details: PreparedDetails): string {
  const { output } = details;
  const schema =
    output.schema === undefined || output.schema === null ? "" : ` ${JSON.stringify(output.schema)}`;
  const facts: [string, unknown][] = [
    ["prompt", details.promptId],
    ["profile", details.profile],
    ["backend", details.backend],
    ["model", details.model],
    ["parameters", JSON.stringify(details.parameters)],
    ["session id", details.sessionId],
    ["contract", `${output.format}${schema}${output.repairs ? `, ${output.repairs} repairs` : ""}`],
    ["continues", details.parentRunId],
    ["captured", details.capture ? "yes" : "no"],
    ["key from", details.credentialSource],
  ];
  const lines = facts.map(([name, value]) => `${name.padEnd(12)}${value ?? "none"}`);
  return ["This would be sent:", "", ...lines, "", ...details.messages.map(message)].join("\n");
}

export function group(name: string, snapshot: GroupSnapshot): string {
  const { runs, usage } = snapshot;
  const open = runs.filter(({ terminal }) => !terminal);
  const counts: [string, number][] = [
    ["runs", runs.length],
    ["attempts", snapshot.attempts],
    ["retries", snapshot.transientRetries],
    ["repairs", snapshot.repairs],
  ];
  return [
    name,
    snapshot.complete
      ? "every run has ended"
      : `${open.length} of ${runs.length} runs have not ended; sums leave them out`,
    "",
    ...counts.map(([what, count]) => `${what.padEnd(16)}${count}`),
    "",
    ...FIELDS.map(([what, field]) => `${what.padEnd(16)}${total(usage[field])}`),
    "",
    ...runs.map(({ runId, terminal }) => `${terminal ? "ended " : "open  "}${runId}`),
  ].join("\n");
}

const FIELDS: readonly [string, keyof Usage][] = [
  ["input tokens", "inputTokens"],
  ["  from cache", "cachedInputTokens"],
  ["  into cache", "cacheCreationTokens"],
  ["output tokens", "outputTokens"],
  ["  reasoning", "reasoningTokens"],
  ["total tokens", "totalTokens"],
];

/** Unknown is not 0, and a part is not the whole. */
export function total({ value, complete }: TokenTotal): string {
  if (value === null) return "unknown";
  return complete ? String(value) : `${value}, and more that is unknown`;
}

function message({ role, content, cache }: Message): string {
  const mark = cache ? `  cache ${JSON.stringify(cache)}` : "";
  return `──── ${role}${mark} ────\n${content}${content.endsWith("\n") ? "" : "\n"}`;
}
