// The errors a caller sees, and the one place where a connection's become ours.
import { ConnectionError, ErrorCodes, ResponseError } from "vscode-jsonrpc";
import type { ErrorData, GenerateFailure, Kind } from "./protocol.js";

/** LSP's code for a request that failed; what failed is told by `data.kind`. */
export const REQUEST_FAILED = -32803;
/** LSP's code for a request that was cancelled. */
export const REQUEST_CANCELLED = -32800;

/** The server answered with an error. */
export class RequestFailed extends Error {
  override name = "RequestFailed";

  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
    /** As it came; of the server's own errors it is `ErrorData`, of a callback's whatever that gave. */
    readonly data?: unknown,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** `data.kind` of one of the server's own errors. */
  get kind(): Kind | undefined {
    return this.details?.kind;
  }

  /** `data` of one of the server's own errors. */
  get details(): ErrorData | undefined {
    const data = this.data as Partial<ErrorData> | null | undefined;
    return typeof data?.kind === "string" ? (data as ErrorData) : undefined;
  }
}

/** The request was cancelled; `cause` is the reason of the signal that did it. */
export class Cancelled extends RequestFailed {
  override name = "AbortError";
}

/** The server ended, or the connection was closed, before the answer came. */
export class ConnectionLost extends Error {
  override name = "ConnectionLost";
}

/** Thrown by a callback: the server gets exactly this code, message and data. */
export class CallbackFailed extends Error {
  override name = "CallbackFailed";

  constructor(
    message: string,
    readonly data?: unknown,
    readonly code: number = REQUEST_FAILED,
  ) {
    super(message);
  }
}

/** Thrown by a `generate` handler: says why, and so whether the call is repeated. */
export class GenerationFailed extends CallbackFailed {
  override name = "GenerationFailed";

  constructor(message: string, failure: GenerateFailure) {
    super(message, failure);
  }
}

const LOST: readonly number[] = [
  ErrorCodes.PendingResponseRejected,
  ErrorCodes.ConnectionInactive,
  ErrorCodes.MessageWriteError,
  ErrorCodes.MessageReadError,
];

/** What a rejected request is to its caller. */
export function received(method: string, error: unknown, signal?: AbortSignal): unknown {
  if (error instanceof ConnectionError) return new ConnectionLost(`${method}: the connection is closed`);
  if (!(error instanceof ResponseError)) return error;
  const { code, message, data } = error;
  if (LOST.includes(code)) return new ConnectionLost(`${method}: the server has ended`);
  if (code !== REQUEST_CANCELLED) return new RequestFailed(method, code, message, data);
  return new Cancelled(method, code, message, data, signal?.aborted ? { cause: signal.reason } : {});
}

/** What a callback threw, as an answer. */
export function answered(thrown: unknown): ResponseError<unknown> {
  if (thrown instanceof ResponseError) return thrown;
  if (thrown instanceof CallbackFailed) return new ResponseError(thrown.code, thrown.message, thrown.data);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ResponseError(REQUEST_FAILED, message || "the callback failed");
}
