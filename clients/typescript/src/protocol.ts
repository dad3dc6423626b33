// Generated from schema/ by scripts/generate.mjs. Do not edit.

/** A JSON object of yours: nothing inside is read or renamed. */
export type JsonObject = { [key: string]: unknown };

/** Versions of the protocol that these types describe. */
export const PROTOCOL_VERSIONS: readonly number[] = [1];

/** Runs. */
export interface ActiveRuns {
  /** Executions that have not ended. */
  active: number;
}

/** The run holds its lease. */
export interface Admitted {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "admitted";
  /** Milliseconds it waited. */
  waitedMs: number;
}

/** A generation call ended. */
export interface AttemptFinished {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "attemptFinished";
  /** Counts from 1. */
  attempt: number;
  /** What this call reported itself. */
  usage: Usage;
  /** Why the answer ended. */
  finishReason?: FinishReason | null;
  /** Why there is no answer. */
  error?: ErrorNote | null;
}

/** A generation call starts. */
export interface AttemptStarted {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "attemptStarted";
  /** Counts from 1. */
  attempt: number;
}

/** A backend. Query values of its address and its keys are not shown. */
export interface BackendInspection {
  /** Its name. */
  backend: string;
  /** One line. */
  description?: string | null;
  /** Where it is defined. */
  location: Location;
  /** What it speaks. */
  kind: BackendKind;
  /** Its address. */
  baseUrl?: string | null;
  /** Where the key comes from, like `env:NAME`. */
  credentialSource?: string | null;
  /** Runs admitted at a time; absent: unlimited. */
  capacity?: number | null;
  /** Calls in flight at a time; absent: as capacity. */
  permits?: number | null;
  /** Runs that may wait; absent: unlimited. */
  queue?: number | null;
  /** Limits of one attempt. */
  timeouts: TimeoutsInspection;
  /** How failed calls are repeated. */
  retry: RetryInspection;
  /** Headers sent along. */
  headers: readonly HeaderInspection[];
  /** How structured output is asked for. */
  structured: Structured;
  /** The provider's name of `maxTokens`. */
  maxTokensField?: string | null;
}

/** A backend in a list. */
export interface BackendItem {
  /** Its name. */
  name: string;
  /** One line. */
  description?: string | null;
  /** What it speaks. */
  kind: BackendKind;
}

/** What a backend speaks. */
export type BackendKind = "openai" | "anthropic" | "scripted" | "client";

/** All backends. */
export interface BackendList {
  /** In the order of the file. */
  items: readonly BackendItem[];
}

/** How busy a backend is. */
export interface BackendLoad {
  /** The backend. */
  name: string;
  /** Runs admitted at a time; absent: unlimited. */
  capacity?: number | null;
  /** Runs admitted now. */
  leases: number;
  /** Runs that wait to be admitted. */
  waiting: number;
  /** Calls in flight at a time; absent: unlimited. */
  permits?: number | null;
  /** Calls in flight now. */
  generating: number;
}

/** Names a backend. */
export interface BackendParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** `default` if absent. */
  engineId?: string | null;
  /** Its name. */
  backend: string;
}

/** An error behind the error. */
export interface Cause {
  /** `internal` where it is none of ours. */
  kind: Kind;
  /** The cause in words. */
  message: string;
}

/** A piece of text for an open `promptkit/backend/generate`; other tokens are let pass. */
export interface ClientProgress {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** Its `partialResultToken`. */
  token: number | string;
  /** `{text}`, the next piece. */
  value?: unknown;
}

/** Run this request as a continuation of the latest exchange. */
export interface ContinueAction {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The choice. */
  action: "continue";
  /** An ordinary request, without `continueFrom`. */
  request: RunParams;
}

/** Drives a branch; groups and tokens apply to each continuation, beside its request's own. */
export interface CoordinateParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The `runId` string of a held exchange to start from. */
  exchange: string;
  /** How many continuations may start. */
  additionalTurns: number;
  /** The client's name for it, told in each callback; made up if absent. */
  coordinationId?: string | null;
  /** The engine of requests that name none; `default` if absent. */
  engineId?: string | null;
  /** Groups that collect the continuations. */
  groups?: readonly string[] | null;
  /** Token under which observations are sent. */
  observe?: number | string | null;
  /** Milliseconds for each callback; no limit if absent. */
  callbackTimeoutMs?: number | null;
  /** Token under which text is streamed as `$/progress`. */
  partialResultToken?: number | string | null;
  /** Token under which progress for people is sent as `$/progress`. */
  workDoneToken?: number | string | null;
}

/** How it ended: stopped by the client, more was asked than the budget, or cancelled. */
export interface CoordinateResult {
  /** No claim about any answer. */
  outcome: CoordinationOutcome;
  /** The one completed result whose callback was skipped by a cancel. */
  undelivered?: RunResult | null;
}

/** How a coordination ended. */
export type CoordinationOutcome = "stopped" | "exhausted" | "cancelled";

/** Asks for a key that the settings say the client supplies. */
export interface CredentialParams {
  /** As in `credential: {client: name}`. */
  name: string;
}

/** The key; it is used for one run. */
export interface CredentialResult {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The key; absent if there is none. */
  credential?: string | null;
}

/** Nothing is asked. */
export interface Empty {
  /** Anything; it is not read. */
  _meta?: unknown;
}

/** An open engine. */
export interface EngineLoad {
  /** The engine. */
  engineId: string;
  /** Its folder. */
  root?: string | null;
  /** Those that a request has used so far. */
  backends: readonly BackendLoad[];
}

/** Opens another configuration beside the ones that are open. */
export interface EngineOpenParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** A folder, as a path or file URI; relative to the workspace root. */
  root?: string | null;
  /** The settings file in it; `promptkit.yaml` if absent. */
  config?: string | null;
}

/** A new engine; a broken workspace opens too. */
export interface EngineOpened {
  /** Names it in requests until it is closed. */
  engineId: string;
  /** Every fault found in its files. */
  problems: readonly Problem[];
}

/** Names an engine. */
export interface EngineParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** `default` if absent. */
  engineId?: string | null;
}

/** The configuration as it is now on disk. */
export interface EngineReloaded {
  /** Every fault found in its files. */
  problems: readonly Problem[];
}

/** `data` of an error. It never holds a traceback, a credential or a path elsewhere. */
export interface ErrorData {
  /** What went wrong; stable. */
  kind: Kind;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** The run that failed. */
  runId?: string | null;
  /** The place in a definition file. */
  location?: Location | null;
  /** What led to it, nearest first. */
  cause?: readonly Cause[] | null;
  /** For `requestInvalid`: the fields, at most 20. */
  invalid?: readonly InvalidField[] | null;
  /** For `generationFailed`: why. */
  reason?: Reason | null;
  /** For `generationFailed`: who found the fault. */
  origin?: Origin | null;
  /** For `generationFailed`: the provider's status. */
  httpStatus?: number | null;
  /** For `generationFailed`: the wait that the provider asked for. */
  retryAfterMs?: number | null;
  /** For `generationFailed`: calls made by the run. */
  attempts?: number | null;
}

/** An error as an observation tells it: no message, for a provider's may quote content. */
export interface ErrorNote {
  /** As in `data.kind` of an error. */
  kind: Kind;
  /** Why a generation failed. */
  reason?: Reason | null;
  /** The provider's status. */
  httpStatus?: number | null;
}

export type Event = RunStarted | Admitted | AttemptStarted | AttemptFinished | RetryScheduled | RepairStarted | RunFinished;

/** A page of the conversation. Pages joined in order, content too, are the whole. */
export interface ExchangeDetails {
  /** The run it came from. */
  runId: string;
  /** The run whose exchange that run continued. */
  parentRunId?: string | null;
  /** All messages sent, then the final answer; of this page. */
  messages: readonly Message[];
  /** The final answer, also the last message; empty on pages before the last. */
  content: string;
  /** Where the next page starts; absent on the last. */
  nextCursor?: string | null;
}

/** Reads it whole, or page by page. */
export interface ExchangeDetailsParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The run it came from. */
  runId: string;
  /** `nextCursor` of the page before; from the start if absent. */
  cursor?: string | null;
  /** The most bytes of encoded messages in a page, but one message always comes; everything that is left if absent. */
  maxBytes?: number | null;
}

/** Names a held exchange. */
export interface ExchangeParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The run it came from. */
  runId: string;
}

/** Executes it. Tokens given here replace those of the request that was prepared. */
export interface ExecuteParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** As `promptkit/prepare` answered. */
  preparedId: string;
  /** Token under which the run's observations are sent. */
  observe?: number | string | null;
  /** Token under which text is streamed as `$/progress`. */
  partialResultToken?: number | string | null;
  /** Token under which progress for people is sent as `$/progress`. */
  workDoneToken?: number | string | null;
}

/** Why an answer ended. */
export type FinishReason = "stop" | "length" | "contentFilter" | "refusal" | "other";

/** The three kinds of contract. */
export type Format = "text" | "json" | "schema";

/** What is read of `data` when the client answers a generation call with an error. */
export interface GenerateFailure {
  /** Why; decides whether it is tried again. */
  reason?: Reason | null;
  /** Decides instead, where given. */
  retryable?: boolean | null;
  /** The status of the host's own call. */
  httpStatus?: number | null;
  /** Milliseconds to wait before another try. */
  retryAfterMs?: number | null;
}

/** One generation call for a backend of kind `client`. */
export interface GenerateParams {
  /** The run. */
  runId: string;
  /** Counts from 1 within the run. */
  attempt: number;
  /** The backend's name. */
  backend: string;
  /** The prompt. */
  promptId: string;
  /** The profile's model; the host decides what it means. */
  model: string;
  /** Generation parameters. */
  parameters: Parameters;
  /** The contract; enforce it where the model can. */
  output: OutputContract;
  /** Everything to send, in order. */
  messages: readonly Message[];
  /** The session id to send along. */
  sessionId?: string | null;
  /** If present, pieces may be sent as `$/progress` `{token, value: {text}}`. */
  partialResultToken?: number | string | null;
}

/** A completed answer. To fail, answer with an error whose data may be a GenerateFailure. */
export interface GenerateResult {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The whole answer, streamed or not. */
  content: string;
  /** If absent, `refusal` where there is one, else `stop`. */
  finishReason?: FinishReason | null;
  /** The model's words where it refused. */
  refusal?: string | null;
  /** What is absent is unknown. */
  usage?: ReportedUsage | null;
}

/** A new, empty group. */
export interface GroupCreated {
  /** Names it in requests until it is released. */
  groupId: string;
}

/** A run that the group has seen an observation of. */
export interface GroupMember {
  /** The run. */
  runId: string;
  /** Whether its terminal observation has come. */
  terminal: boolean;
}

/** Names a group. */
export interface GroupParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** As `promptkit/group/create` answered. */
  groupId: string;
}

/** The group at one moment. Coverage and the completeness of usage are separate things. */
export interface GroupSnapshot {
  /** The group. */
  groupId: string;
  /** The members, in the order they joined. */
  runs: readonly GroupMember[];
  /** No member without a terminal observation. */
  complete: boolean;
  /** Summed over terminal observations. */
  attempts: number;
  /** Summed over terminal observations. */
  transientRetries: number;
  /** Summed over terminal observations. */
  repairs: number;
  /** Summed over terminal observations. */
  usage: Usage;
}

/** A header that is sent. Its value is never shown. */
export interface HeaderInspection {
  /** Its name. */
  name: string;
  /** The environment variable that holds its value. */
  env?: string | null;
}

/** Handles of one sort. */
export interface Held {
  /** How many. */
  count: number;
}

/** Exchanges held for the client. */
export interface HeldExchanges {
  /** How many. */
  count: number;
  /** Bytes of content and cache metadata; what is shared counts once. */
  bytes: number;
}

/** `initializationOptions.promptkit`. */
export interface InitializeOptions {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** Versions the client can speak; any if absent. */
  protocolVersions?: readonly number[] | null;
  /** The workspace, as a path or file URI; the client's root if absent. */
  root?: string | null;
  /** The settings file in it; `promptkit.yaml` if absent. */
  config?: string | null;
}

/** An input of a prompt. */
export interface InputInspection {
  /** `inputs.<name>` in templates. */
  name: string;
  /** The template of its path. */
  file: string;
}

/** A field of the params that cannot be used. */
export interface InvalidField {
  /** Where it stands, such as `params.parameters.topP`. */
  path: string;
  /** What is wrong with it. */
  message: string;
}

/** Stable names of what went wrong, spelled as on the wire. */
export type Kind = "configInvalid" | "engineNotFound" | "promptNotFound" | "promptInvalid" | "profileNotFound" | "profileMissing" | "backendNotFound" | "templateFailed" | "inputFailed" | "contractInvalid" | "credentialMissing" | "exchangeNotFound" | "groupNotFound" | "preparedNotFound" | "preparedClaimed" | "generationFailed" | "admissionRejected" | "deadlineExceeded" | "callbackInvalid" | "requestInvalid" | "cancelled" | "internal";

/** A place in a file of the workspace. */
export interface Location {
  /** Path relative to the workspace. */
  file: string;
  /** Counts from 1. */
  line?: number | null;
  /** Counts from 1. */
  column?: number | null;
}

/** One message of a conversation, exactly as authored or answered. */
export interface Message {
  /** Who speaks. */
  role: Role;
  /** The text; never rendered, trimmed or moved. */
  content: string;
  /** Cache metadata for the provider; kept in history. */
  cache?: JsonObject | null;
}

/** A message of a prompt as authored. */
export interface MessageInspection {
  /** Who speaks. */
  role: Role;
  /** The template. */
  content: string;
  /** Cache metadata. */
  cache?: JsonObject | null;
}

/** Asks for the next action, and delivers the result of the turn before. */
export interface NextParams {
  /** Which coordination asks. */
  coordinationId: string;
  /** The latest exchange of the branch. */
  exchange: Ref;
  /** How many continuations may still start. */
  remainingTurns: number;
  /** Counts the callbacks from 0. */
  deliveryIndex: number;
  /** The turn just completed; absent the first time. */
  result?: RunResult | null;
}

export type NextResult = ContinueAction | StopAction;

/** One event of one run; all of a run's come before its response. */
export interface Observation {
  /** The request's `observe`. */
  token: number | string;
  /** The run. */
  runId: string;
  /** Counts the run's events from 0. */
  seq: number;
  /** What happened. */
  event: Event;
}

/** Who found the fault. */
export type Origin = "provider" | "promptkit";

/** What the answer must look like. Given in a request, it replaces the prompt's whole. */
export interface OutputContract {
  /** Any text, any JSON value, or JSON that fits `schema`. */
  format: Format;
  /** JSON Schema (2020-12, local references) for `schema`. */
  schema?: JsonObject | boolean | null;
  /** How often to ask again when the answer breaks the contract; 0 if absent. */
  repairs?: number | null;
}

/** Generation parameters, under one name each whatever the backend. */
export interface Parameters {
  /** Sampling temperature. */
  temperature?: number | null;
  /** The most tokens to answer with. */
  maxTokens?: number | null;
  /** Nucleus sampling. */
  topP?: number | null;
  /** Texts that end the answer. */
  stop?: readonly string[] | null;
  /** Seed, where the provider has one. */
  seed?: number | null;
  /** Goes to the provider as it is. */
  extra?: JsonObject | null;
}

/** A new single-use handle. */
export interface PrepareResult {
  /** Names the handle until it is executed or discarded. */
  preparedId: string;
  /** What will be sent. */
  details: PreparedDetails;
}

/** What will be sent, to the letter; never a credential. */
export interface PreparedDetails {
  /** The prompt. */
  promptId: string;
  /** The profile chosen. */
  profile: string;
  /** The backend of the profile. */
  backend: string;
  /** The model of the profile. */
  model: string;
  /** The profile's, with the request's over them. */
  parameters: Parameters;
  /** The session id to send along. */
  sessionId?: string | null;
  /** The contract the answer must meet. */
  output: OutputContract;
  /** All of them: history, the prompt's, the appended. */
  messages: readonly Message[];
  /** The run whose exchange is continued. */
  parentRunId?: string | null;
  /** Whether executing it makes an exchange. */
  capture: boolean;
  /** Where the key comes from, such as `env:NAME` or `request`; null: none. */
  credentialSource: string | null;
}

/** Names a prepared execution. */
export interface PreparedParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** As `promptkit/prepare` answered. */
  preparedId: string;
}

/** A fault in a definition file. Only requests that need that file fail. */
export interface Problem {
  /** What is wrong and what to do. */
  message: string;
  /** Where. */
  location: Location;
  /** A stable word for this sort of fault. */
  code?: string | null;
}

/** A profile. */
export interface ProfileInspection {
  /** Its name. */
  profile: string;
  /** One line. */
  description?: string | null;
  /** Where it is defined. */
  location: Location;
  /** Its backend. */
  backend: string;
  /** Its model. */
  model: string;
  /** Its generation parameters. */
  parameters: Parameters;
}

/** A profile in a list. */
export interface ProfileItem {
  /** Its name. */
  name: string;
  /** One line. */
  description?: string | null;
  /** Its backend. */
  backend: string;
  /** Its model. */
  model: string;
}

/** All profiles. */
export interface ProfileList {
  /** In the order of the file. */
  items: readonly ProfileItem[];
}

/** Names a profile. */
export interface ProfileParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** `default` if absent. */
  engineId?: string | null;
  /** Its name. */
  profile: string;
}

/** A prompt as authored. */
export interface PromptInspection {
  /** The prompt. */
  promptId: string;
  /** One line. */
  description?: string | null;
  /** Its file. */
  location: Location;
  /** Its default profile. */
  profile?: string | null;
  /** The template of its session id. */
  session?: string | null;
  /** Files it reads. */
  inputs: readonly InputInspection[];
  /** Variables it declares. */
  variables: readonly VariableInspection[];
  /** Its messages, in order. */
  messages: readonly MessageInspection[];
  /** Its output contract. */
  output: OutputContract;
}

/** A prompt in a list. */
export interface PromptItem {
  /** Its id. */
  name: string;
  /** One line. */
  description?: string | null;
  /** Its default profile. */
  profile?: string | null;
  /** Its file. */
  location: Location;
}

/** All prompts, by id. */
export interface PromptList {
  /** In the order of their ids. */
  items: readonly PromptItem[];
}

/** Names a prompt. */
export interface PromptParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** `default` if absent. */
  engineId?: string | null;
  /** Path of the prompt below the prompts folder, no suffix. */
  promptId: string;
}

/** Why a generation failed. */
export type Reason = "rateLimited" | "overloaded" | "timeout" | "connection" | "authentication" | "quota" | "badRequest" | "contextLength" | "contentFilter" | "malformedResponse" | "redirect" | "server";

/** An exchange, named by the run it came from. */
export interface Ref {
  /** The run it came from. */
  runId: string;
  /** The run whose exchange that run continued. */
  parentRunId?: string | null;
}

/** The model is asked again because the answer broke its contract. */
export interface RepairStarted {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "repairStarted";
  /** How many faults the answer has. */
  violations: number;
}

/** What a host's model reports; anything but a non-negative integer is unknown. */
export interface ReportedUsage {
  /** Tokens sent, cached ones included. */
  inputTokens?: unknown;
  /** Tokens answered. */
  outputTokens?: unknown;
  /** Input plus output if absent. */
  totalTokens?: unknown;
  /** The part of the input read from a cache. */
  cachedInputTokens?: unknown;
  /** The part of the input put into a cache. */
  cacheCreationTokens?: unknown;
  /** The part of the output that was reasoning. */
  reasoningTokens?: unknown;
}

/** How failed calls are repeated. */
export interface RetryInspection {
  /** The most calls, the first one counted. */
  attempts: number;
  /** Milliseconds, doubled at each retry. */
  baseDelayMs: number;
  /** The longest wait in milliseconds. */
  maxDelayMs: number;
}

/** Another call follows because this one failed in a way that may pass. */
export interface RetryScheduled {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "retryScheduled";
  /** Milliseconds until then. */
  delayMs: number;
  /** Why. */
  reason: Reason;
}

/** Who speaks. */
export type Role = "system" | "developer" | "user" | "assistant";

/** The one terminal event; it sums up everything before it. */
export interface RunFinished {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "runFinished";
  /** How the run ended. */
  outcome: RunOutcome;
  /** Generation calls. */
  attempts: number;
  /** Calls repeated because something failed. */
  transientRetries: number;
  /** Calls repeated because the answer broke the contract. */
  repairs: number;
  /** Over all attempts. */
  usage: Usage;
  /** The verdict on the answer, if there is one. */
  validation?: Status | null;
  /** Why there is no answer. */
  error?: ErrorNote | null;
}

/** How a run ended. */
export type RunOutcome = "completed" | "failed" | "cancelled";

/** A request; with `continueFrom` it is a continuation and always captures. */
export interface RunParams {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The engine that runs it; `default` if absent. */
  engineId?: string | null;
  /** Path of the prompt below the prompts folder, no suffix. */
  promptId: string;
  /** Data for the templates, by name. */
  variables?: JsonObject | null;
  /** Profile to use; the prompt's own if absent. */
  profile?: string | null;
  /** Override those of the profile, one by one. */
  parameters?: Parameters | null;
  /** Replaces the prompt's contract whole. */
  output?: OutputContract | null;
  /** Instead of the prompt's session template. */
  sessionId?: string | null;
  /** Appended after the prompt's messages, as they are. */
  messages?: readonly Message[] | null;
  /** A key for this run alone; it is never kept, shown or fallen back from. */
  credential?: string | null;
  /** Keep the exchange; false if absent. */
  capture?: boolean | null;
  /** Run id of a held exchange whose history comes first. */
  continueFrom?: string | null;
  /** Groups that collect this run. */
  groups?: readonly string[] | null;
  /** Token under which the run's observations are sent. */
  observe?: number | string | null;
  /** Token under which text is streamed as `$/progress`. */
  partialResultToken?: number | string | null;
  /** Token under which progress for people is sent as `$/progress`. */
  workDoneToken?: number | string | null;
  /** Milliseconds for the whole run: waiting, retries, repairs and all. */
  timeoutMs?: number | null;
}

/** A completed run. */
export interface RunResult {
  /** Names the run, its observations and its exchange. */
  runId: string;
  /** The run whose exchange was continued. */
  parentRunId?: string | null;
  /** The final answer, byte for byte. */
  content: string;
  /** The decoded answer of a JSON or schema contract. */
  structured?: unknown;
  /** Whether the answer meets its contract. */
  validation: Validation;
  /** Why the answer ended. */
  finishReason: FinishReason;
  /** The provider's words where it refused. */
  refusal?: string | null;
  /** Over this run's attempts. */
  usage: Usage;
  /** Generation calls: 1 + transientRetries + repairs. */
  attempts: number;
  /** Calls repeated because transport or provider failed. */
  transientRetries: number;
  /** Calls repeated because the answer broke the contract. */
  repairs: number;
  /** The profile used. */
  profile: string;
  /** The backend used. */
  backend: string;
  /** The model asked for. */
  model: string;
  /** The session id sent along. */
  sessionId?: string | null;
  /** The captured exchange, if one was asked for. */
  exchange?: Ref | null;
}

/** A run began. */
export interface RunStarted {
  /** Seconds since the epoch. */
  time: number;
  /** The event. */
  kind: "runStarted";
  /** The prompt. */
  promptId: string;
  /** The profile. */
  profile: string;
  /** The backend. */
  backend: string;
  /** The model. */
  model: string;
  /** The run whose exchange is continued. */
  parentRunId?: string | null;
}

/** `capabilities.experimental.promptkit`. A capability is an object, absent if unsupported. */
export interface ServerCapabilities {
  /** The version spoken from here on. */
  protocolVersion: number;
  /** First 16 hex digits of the schema's SHA-256. */
  schemaHash: string;
  /** `capture` and `continueFrom`. */
  continuation?: JsonObject | null;
  /** `promptkit/coordinate`. */
  coordination?: JsonObject | null;
  /** `promptkit/group/*`. */
  groups?: JsonObject | null;
  /** `promptkit/prepare`, `promptkit/prepared/*`. */
  prepared?: JsonObject | null;
  /** `promptkit/engine/*`. */
  engines?: JsonObject | null;
  /** `partialResultToken`. */
  streaming?: JsonObject | null;
  /** `observe`. */
  observations?: JsonObject | null;
}

/** Progress of a request, for people (`workDoneToken`) or as text (`partialResultToken`). */
export interface ServerProgress {
  /** As the request gave it. */
  token: number | string;
  /** The step. */
  value: WorkDoneBegin | WorkDoneReport | WorkDoneEnd | TextDelta | TextReset;
}

/** Counts and bytes held, and per backend its load. */
export interface SessionStatus {
  /** Held exchanges. */
  exchanges: HeldExchanges;
  /** Groups. */
  groups: Held;
  /** Prepared executions neither executed nor discarded. */
  prepared: Held;
  /** Runs. */
  runs: ActiveRuns;
  /** Open engines. */
  engines: readonly EngineLoad[];
}

/** The verdict on one answer. */
export type Status = "valid" | "invalid" | "notRequired";

/** End the coordination. */
export interface StopAction {
  /** Anything; it is not read. */
  _meta?: unknown;
  /** The choice. */
  action: "stop";
}

/** How a provider is asked for structured output. */
export type Structured = "native" | "prompt";

/** The next piece of an attempt's text. */
export interface TextDelta {
  /** Counts from 1 within the run. */
  attempt: number;
  /** The piece. */
  text: string;
}

/** Everything streamed of this attempt is void; another follows. */
export interface TextReset {
  /** The attempt that is abandoned. */
  attempt: number;
  /** Always true. */
  reset: true;
}

/** Limits of one attempt; absent: none. */
export interface TimeoutsInspection {
  /** Milliseconds to connect. */
  connectMs?: number | null;
  /** Milliseconds between two pieces of the answer. */
  readMs?: number | null;
  /** Milliseconds for the attempt. */
  totalMs?: number | null;
}

/** One count. Unknown is null, never 0. */
export interface TokenTotal {
  /** The known part; null where nothing is known. */
  value: number | null;
  /** Whether everything that may have been billed is in it. */
  complete: boolean;
}

/** Sums, field by field. */
export interface Usage {
  /** Tokens sent, cached ones included. */
  inputTokens: TokenTotal;
  /** Tokens answered. */
  outputTokens: TokenTotal;
  /** As reported, else input plus output. */
  totalTokens: TokenTotal;
  /** The part of the input read from a cache. */
  cachedInputTokens: TokenTotal;
  /** The part of the input written to a cache. */
  cacheCreationTokens: TokenTotal;
  /** The part of the output that was reasoning. */
  reasoningTokens: TokenTotal;
}

/** The verdict on an answer; an invalid answer is a result, not an error. */
export interface Validation {
  /** `notRequired` for a text contract. */
  status: Status;
  /** Every fault; empty unless invalid. */
  violations: readonly Violation[];
}

/** A declared variable of a prompt. */
export interface VariableInspection {
  /** Its name in templates. */
  name: string;
  /** What its value must fit. */
  schema: JsonObject | boolean;
  /** Whether it has no default. */
  required: boolean;
  /** Its value where the request gives none. */
  default?: unknown;
}

/** One fault of an answer. */
export interface Violation {
  /** JSON pointer into the answer. */
  path: string;
  /** The schema keyword that is broken, or what else is wrong. */
  keyword: string;
  /** The fault in words. */
  message: string;
  /** JSON pointer into the schema. */
  schemaPath?: string | null;
}

/** Work began (LSP 3.17, WorkDoneProgressBegin). */
export interface WorkDoneBegin {
  /** The step. */
  kind: "begin";
  /** What is done. */
  title: string;
  /** Whether a cancel is of use. */
  cancellable: boolean;
  /** What goes on at the moment. */
  message?: string | null;
}

/** Work ended (LSP 3.17, WorkDoneProgressEnd). */
export interface WorkDoneEnd {
  /** The step. */
  kind: "end";
  /** How it ended. */
  message?: string | null;
}

/** Work goes on (LSP 3.17, WorkDoneProgressReport). */
export interface WorkDoneReport {
  /** The step. */
  kind: "report";
  /** What goes on at the moment. */
  message?: string | null;
}

/** What the client asks, by method. */
export interface ClientRequests {
  /** Prepares and executes one request; with `continueFrom` it is a continuation. */
  "promptkit/run": { params: RunParams; result: RunResult };
  /** Renders and resolves a request without sending it. */
  "promptkit/prepare": { params: RunParams; result: PrepareResult };
  /** Drives one branch, asking the client for each next action. */
  "promptkit/coordinate": { params: CoordinateParams; result: CoordinateResult };
  /** Shows what a prepared execution will send. */
  "promptkit/prepared/details": { params: PreparedParams; result: PreparedDetails };
  /** Sends it, once. */
  "promptkit/prepared/execute": { params: ExecuteParams; result: RunResult };
  /** Gives it up unsent. */
  "promptkit/prepared/discard": { params: PreparedParams; result: null };
  /** Reads a held exchange, whole or page by page. */
  "promptkit/exchange/details": { params: ExchangeDetailsParams; result: ExchangeDetails };
  /** Lets go of a held exchange; others built on it stay. */
  "promptkit/exchange/release": { params: ExchangeParams; result: null };
  /** Makes an empty group. */
  "promptkit/group/create": { params: Empty; result: GroupCreated };
  /** Shows a group's members and sums as they are now. */
  "promptkit/group/snapshot": { params: GroupParams; result: GroupSnapshot };
  /** Lets go of a group. */
  "promptkit/group/release": { params: GroupParams; result: null };
  /** Opens another configuration; faults in it are listed, not raised. */
  "promptkit/engine/open": { params: EngineOpenParams; result: EngineOpened };
  /** Closes an engine; its runs in flight finish, its exchanges stay. */
  "promptkit/engine/close": { params: EngineParams; result: null };
  /** Reads the definition files again where they changed. */
  "promptkit/engine/reload": { params: EngineParams; result: EngineReloaded };
  /** Lists the prompts. */
  "promptkit/prompt/list": { params: EngineParams; result: PromptList };
  /** Shows a prompt as authored. */
  "promptkit/prompt/inspect": { params: PromptParams; result: PromptInspection };
  /** Lists the profiles. */
  "promptkit/profile/list": { params: EngineParams; result: ProfileList };
  /** Shows a profile. */
  "promptkit/profile/inspect": { params: ProfileParams; result: ProfileInspection };
  /** Lists the backends. */
  "promptkit/backend/list": { params: EngineParams; result: BackendList };
  /** Shows a backend; of a key only where it would come from. */
  "promptkit/backend/inspect": { params: BackendParams; result: BackendInspection };
  /** Counts and bytes held, and how busy each backend is. */
  "promptkit/session/status": { params: Empty; result: SessionStatus };
}

/** What the client tells, by method. */
export interface ClientNotifications {
  /** A piece of text of an open `promptkit/backend/generate`. */
  "$/progress": ClientProgress;
}

/** What the server asks, by method. */
export interface ServerRequests {
  /** Asks for the next action of a branch and delivers the result before it. */
  "promptkit/coordinator/next": { params: NextParams; result: NextResult };
  /** Asks the host's own model, for a backend of kind `client`. */
  "promptkit/backend/generate": { params: GenerateParams; result: GenerateResult };
  /** Asks for a key that the client keeps. */
  "promptkit/credential/get": { params: CredentialParams; result: CredentialResult };
}

/** What the server tells, by method. */
export interface ServerNotifications {
  /** One event of a run that asked with `observe`. */
  "promptkit/observation": Observation;
  /** Progress for people, or streamed text. */
  "$/progress": ServerProgress;
}
