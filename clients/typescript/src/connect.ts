// A server of one's own, as a child process, and its life from `initialize` to `exit`.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createMessageConnection, type MessageConnection } from "vscode-jsonrpc/node";
import { Client, type Handlers } from "./client.js";
import { received } from "./errors.js";
import { PROTOCOL_VERSIONS, type ServerCapabilities } from "./protocol.js";

export interface ConnectOptions extends Handlers {
  /** The program; `promptkit-rpc` on the path if absent. */
  command?: string;
  /** Its arguments; `["serve"]` if absent. */
  args?: readonly string[];
  /** The workspace, a path or file URI; the working directory if absent. */
  root?: string;
  /** The settings file in it; `promptkit.yaml` if absent. */
  config?: string;
  env?: NodeJS.ProcessEnv;
  /** A line of the server's log, from standard error or `window/logMessage`. */
  onLog?: (line: string) => void;
}

/** The server could not be started. */
export class ServerMissing extends Error {
  override name = "ServerMissing";
}

/** A client with a server of its own; `await using` ends it. */
export class Session extends Client implements AsyncDisposable {
  readonly #connection: MessageConnection;
  readonly #server: ChildProcessWithoutNullStreams;
  /** Its exit code, null after a signal. */
  readonly exited: Promise<number | null>;

  constructor(
    connection: MessageConnection,
    server: ChildProcessWithoutNullStreams,
    readonly capabilities: ServerCapabilities,
    handlers: Handlers,
  ) {
    super(connection, handlers);
    this.#connection = connection;
    this.#server = server;
    this.exited = ended(server);
  }

  /** Lets requests in flight finish, then ends the server; it gets five seconds. */
  async close(): Promise<void> {
    if (this.#server.exitCode === null && this.#server.signalCode === null) {
      const timer = setTimeout(() => this.#server.kill("SIGKILL"), 5000);
      try {
        await this.#connection.sendRequest("shutdown");
        await this.#connection.sendNotification("exit");
      } catch {
        this.#server.kill(); // it does not listen any more
      }
      await this.exited;
      clearTimeout(timer);
    }
    this.dispose();
    this.#connection.dispose();
  }

  /** Ends the server at once; what waits is rejected. */
  kill(): void {
    this.#server.kill("SIGKILL");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Starts a server and opens a session with it.
 *
 * @throws ServerMissing if the program cannot be started or ends at once.
 * @throws RequestFailed if it refuses, such as a protocol version that is not common.
 */
export async function connect(options: ConnectOptions = {}): Promise<Session> {
  const { command = "promptkit-rpc", args = ["serve"], root, config, onLog = () => {} } = options;
  const server = spawn(command, args, { stdio: "pipe", env: options.env ?? process.env });
  const tail = listen(server, onLog);
  try {
    await once(server, "spawn");
  } catch (error) {
    const hint = "install PromptKit RPC with pip, or give its path as `command`";
    throw new ServerMissing(`cannot start ${command}: ${(error as Error).message}; ${hint}`, {
      cause: error,
    });
  }
  server.stdin.on("error", () => {}); // the connection notices by the end of the output
  const connection = createMessageConnection(server.stdout, server.stdin);
  connection.onNotification("window/logMessage", ({ message }: { message: string }) => onLog(message));
  connection.onClose(() => connection.dispose()); // which rejects what is still waiting
  connection.listen();
  const capabilities = await initialize(connection, { root, config }).catch(async (error: unknown) => {
    connection.dispose();
    server.kill();
    await ended(server);
    if ((error as Error).name === "RequestFailed") throw error;
    throw new ServerMissing(`${command} ended before it answered${tail()}`, { cause: error });
  });
  return new Session(connection, server, capabilities, options);
}

async function initialize(
  connection: MessageConnection,
  options: { root: string | undefined; config: string | undefined },
): Promise<ServerCapabilities> {
  const params = {
    processId: process.pid,
    clientInfo: { name: "promptkit-rpc-client" },
    rootUri: null,
    capabilities: {},
    initializationOptions: { promptkit: { protocolVersions: PROTOCOL_VERSIONS, ...options } },
  };
  try {
    const { capabilities } = await connection.sendRequest<{
      capabilities: { experimental?: { promptkit?: ServerCapabilities } };
    }>("initialize", params);
    await connection.sendNotification("initialized", {});
    const ours = capabilities.experimental?.promptkit;
    if (!ours) throw new Error("the program is a language server, but not of PromptKit RPC");
    return ours;
  } catch (error) {
    throw received("initialize", error);
  }
}

/** Passes standard error on by lines, and keeps the last of it for an error's message. */
function listen(server: ChildProcessWithoutNullStreams, onLog: (line: string) => void): () => string {
  let rest = "";
  let last = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      last = line;
      onLog(line);
    }
  });
  return () => (rest || last ? `: ${rest || last}` : "");
}

async function ended(server: ChildProcessWithoutNullStreams): Promise<number | null> {
  if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
  return server.exitCode;
}
