// The methods of a server over a connection that somebody else made. It assembles no history,
// counts no turns and reads no answers: it calls methods and answers callbacks.
import { CancellationTokenSource, type CancellationToken, ProgressType } from "vscode-jsonrpc";
import { answered, Cancelled, received, REQUEST_CANCELLED } from "./errors.js";
import { type Delta, type Following, live, type Live } from "./live.js";
import type * as protocol from "./protocol.js";
import type {
  ClientRequests,
  ServerRequests,
  WorkDoneBegin,
  WorkDoneEnd,
  WorkDoneReport,
} from "./protocol.js";

/** What a connection must offer. `MessageConnection` and VS Code's `LanguageClient` both do. */
export interface Wire {
  sendRequest<R>(method: string, params: unknown, token?: CancellationToken): Promise<R>;
  sendNotification(method: string, params: unknown): Promise<void>;
  onRequest(method: string, handler: (params: any, token: CancellationToken) => unknown): Closable;
  onNotification(method: string, handler: (params: any) => void): Closable;
  onProgress<P>(type: ProgressType<P>, token: string | number, handler: (value: P) => void): Closable;
}

export interface Closable {
  dispose(): void;
}

/** A callback's surroundings: the signal aborts when the server no longer wants the answer. */
export interface CallbackContext {
  readonly signal: AbortSignal;
}

/** What the server may ask of this program. */
export interface Handlers {
  /** This program's own model, for backends of kind `client`; `piece` streams a part of the answer. */
  generate?(
    params: protocol.GenerateParams,
    context: CallbackContext & { piece(text: string): void },
  ): Promise<protocol.GenerateResult>;
  /** The key of a `credential: {client: name}`; undefined if there is none. */
  credential?(name: string, context: CallbackContext): Promise<string | undefined>;
}

/** Gets each turn of a branch, and answers the next action. */
export type Next = (turn: protocol.NextParams, context: CallbackContext) => Promise<protocol.NextResult>;

/** For people: begin, reports, end. */
export type WorkDone = WorkDoneBegin | WorkDoneReport | WorkDoneEnd;

export interface CallOptions extends Following {
  /** Cancels the call; the server's own answer to that is still awaited. */
  signal?: AbortSignal | undefined;
  onProgress?: (step: WorkDone) => void;
}

type Tokens = "observe" | "partialResultToken" | "workDoneToken";
export type RunRequest = Omit<protocol.RunParams, Tokens>;
export type CoordinateRequest = Omit<protocol.CoordinateParams, Tokens | "coordinationId">;

export class Client implements Closable {
  readonly #wire: Wire;
  readonly #registered: Closable[] = [];
  readonly #turns = new Map<string, Next>();
  readonly #observers = new Map<string | number, (observation: protocol.Observation) => void>();
  #names = 0;

  constructor(wire: Wire, handlers: Handlers = {}) {
    this.#wire = wire;
    this.#registered.push(
      wire.onNotification("promptkit/observation", (observation: protocol.Observation) =>
        this.#observers.get(observation.token)?.(observation),
      ),
    );
    this.#answer("promptkit/coordinator/next", (turn, context) => {
      const next = this.#turns.get(turn.coordinationId);
      if (!next) throw new Error(`no coordination is named ${turn.coordinationId}`);
      return next(turn, context);
    });
    const { generate, credential } = handlers;
    if (generate)
      this.#answer("promptkit/backend/generate", async (params, context) => {
        const pieces = new Pieces(wire, params.partialResultToken);
        try {
          return await generate(params, { ...context, piece: (text) => pieces.send(text) });
        } finally {
          await pieces.sent;
        }
      });
    if (credential)
      this.#answer("promptkit/credential/get", async ({ name }, context) => ({
        credential: (await credential(name, context)) ?? null,
      }));
  }

  /** Any method, by its name. */
  async request<M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<ClientRequests[M]["result"]> {
    if (signal?.aborted)
      throw new Cancelled(method, REQUEST_CANCELLED, "cancelled", undefined, { cause: signal.reason });
    const source = new CancellationTokenSource();
    const cancel = () => source.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#wire.sendRequest<ClientRequests[M]["result"]>(method, params, source.token);
    } catch (error) {
      throw received(method, error, signal);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** One run; with `continueFrom` it is a continuation. */
  run(request: RunRequest, options: CallOptions = {}): Promise<protocol.RunResult> {
    return this.#follow("promptkit/run", request, options);
  }

  /** The same run, followed with `for await` over its text and its observations. */
  stream(request: RunRequest, options: { signal?: AbortSignal } = {}): Live<protocol.RunResult> {
    return live((following) => this.run(request, { ...options, ...following }));
  }

  /** Shows what a request would send, and keeps it to be executed once. */
  prepare(request: RunRequest, options: { signal?: AbortSignal } = {}): Promise<protocol.PrepareResult> {
    return this.request("promptkit/prepare", request, options);
  }

  /** Sends what was prepared, once. */
  execute(preparedId: string, options: CallOptions = {}): Promise<protocol.RunResult> {
    return this.#follow("promptkit/prepared/execute", { preparedId }, options);
  }

  /**
   * Drives one branch. What `next` throws ends it, and is thrown here as the same object. A
   * cancelled coordination is a result, with the one answer that could not be delivered.
   */
  async coordinate(
    request: CoordinateRequest,
    next: Next,
    options: CallOptions = {},
  ): Promise<protocol.CoordinateResult> {
    if (options.signal?.aborted) return { outcome: "cancelled" };
    const coordinationId = this.#name();
    let thrown: { error: unknown } | undefined;
    this.#turns.set(coordinationId, async (turn, context) => {
      try {
        return await next(turn, context);
      } catch (error) {
        if (!context.signal.aborted) thrown = { error };
        throw error;
      }
    });
    try {
      return await this.#follow("promptkit/coordinate", { ...request, coordinationId }, options);
    } catch (error) {
      throw thrown ? thrown.error : error;
    } finally {
      this.#turns.delete(coordinationId);
    }
  }

  /** Listens no longer; the connection stays its owner's. */
  dispose(): void {
    for (const registered of this.#registered.splice(0)) registered.dispose();
  }

  /** A call with the tokens for whatever its caller wants to follow. */
  async #follow<M extends "promptkit/run" | "promptkit/prepared/execute" | "promptkit/coordinate">(
    method: M,
    params: Omit<ClientRequests[M]["params"], Tokens>,
    { signal, onDelta, onObservation, onProgress }: CallOptions,
  ): Promise<ClientRequests[M]["result"]> {
    const tokens: Partial<Record<Tokens, string>> = {};
    const listening: Closable[] = [];
    if (onDelta) {
      tokens.partialResultToken = this.#name();
      listening.push(this.#wire.onProgress(new ProgressType<Delta>(), tokens.partialResultToken, onDelta));
    }
    if (onProgress) {
      tokens.workDoneToken = this.#name();
      listening.push(this.#wire.onProgress(new ProgressType<WorkDone>(), tokens.workDoneToken, onProgress));
    }
    if (onObservation) {
      const token = (tokens.observe = this.#name());
      this.#observers.set(token, onObservation);
      listening.push({ dispose: () => this.#observers.delete(token) });
    }
    try {
      return await this.request(method, { ...params, ...tokens } as ClientRequests[M]["params"], { signal });
    } finally {
      for (const one of listening) one.dispose();
    }
  }

  #answer<M extends keyof ServerRequests>(
    method: M,
    handler: (
      params: ServerRequests[M]["params"],
      context: CallbackContext,
    ) => Promise<ServerRequests[M]["result"]>,
  ): void {
    const serve = async (params: ServerRequests[M]["params"], token: CancellationToken) => {
      const controller = new AbortController();
      if (token.isCancellationRequested) controller.abort();
      const listening = token.onCancellationRequested(() => controller.abort());
      try {
        return await handler(params, { signal: controller.signal });
      } catch (thrown) {
        return answered(thrown);
      } finally {
        listening.dispose();
      }
    };
    this.#registered.push(this.#wire.onRequest(method, serve));
  }

  #name(): string {
    this.#names += 1;
    return `promptkit-${this.#names}`;
  }
}

/** The pieces of one answer; all are on their way before the answer itself is. */
class Pieces {
  sent: Promise<void> = Promise.resolve();

  constructor(
    readonly wire: Wire,
    readonly token: string | number | null | undefined,
  ) {}

  send(text: string): void {
    const { token } = this;
    if (token === undefined || token === null) return;
    const sending = this.wire.sendNotification("$/progress", { token, value: { text } });
    // A lost connection is told to whoever waits for an answer, not to a piece of one.
    this.sent = Promise.allSettled([this.sent, sending]).then(() => {});
  }
}
