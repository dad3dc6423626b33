// Plays the recorded sessions: the client does what each tells through its public calls, and what
// the server says there must come out of them unchanged.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  CallbackFailed,
  type CallbackContext,
  type CallOptions,
  connect,
  type CoordinateRequest,
  RequestFailed,
  type Session,
} from "../src/index.js";
import { aborted, checkout, server } from "./support.js";

// The lines are plain JSON; that the client's types fit them is what the compiler cannot see.
type Message = { id?: number; method?: string; params?: any; result?: any; error?: any };
type Line = { from: "client" | "server"; message: Message };

const folder = join(checkout, "schema/transcripts");
const LIFE = ["initialize", "initialized", "shutdown", "exit"];

for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl")))
  test(`${file} is played through the public calls`, async (t) => {
    const text = readFileSync(join(folder, file), "utf8");
    const lines = text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
    const player = new Player(lines);
    const args = [join(checkout, "tests/transcripts/play.py"), join(folder, file)];
    const log: string[] = [];
    const session = await connect({
      ...server,
      args,
      onLog: (line) => log.push(line),
      generate: (_, context) => player.answer(context),
    });
    t.after(() => session.kill());
    await player.play(session);
    await session.close();
    assert.equal(await session.exited, 0, log.join("\n"));
  });

class Player {
  readonly #lines: Line[];
  readonly #asked: Message[];
  readonly #abort = new AbortController();

  constructor(lines: Line[]) {
    this.#lines = lines;
    const said = lines.filter((line) => line.from === "server").map(({ message }) => message);
    this.#asked = said.filter(({ id, method }) => method && id !== undefined);
  }

  /** Sends each request where it stands, and awaits it where its answer stands. */
  async play(session: Session): Promise<void> {
    const open = new Map<number, Promise<unknown>>();
    for (const { from, message } of this.#lines) {
      const { id, method } = message;
      if (id === undefined || LIFE.includes(method ?? "")) continue;
      if (from === "client" && method) open.set(id, this.#request(session, message));
      else if (from === "server" && !method) await open.get(id);
    }
  }

  /** The answer to the next of the server's requests, and the pieces and cancels around it. */
  async answer(context: CallbackContext & { piece?: (text: string) => void }): Promise<any> {
    const asked = this.#asked.shift();
    assert(asked);
    const from = this.#lines.findIndex(({ message }) => message === asked);
    const after = this.#lines.slice(from + 1).filter((line) => line.from === "client");
    const mine = after.findIndex(({ message }) => message.id === asked.id && !message.method);
    for (const { message } of after.slice(0, mine === -1 ? 0 : mine))
      if (message.method === "$/progress") context.piece?.(message.params.value.text);
    const cancel = after[mine + 1]?.message.method === "$/cancelRequest";
    if (mine === -1) {
      assert(cancel);
      this.#abort.abort();
      await aborted(context.signal);
      throw context.signal.reason;
    }
    if (cancel) setImmediate(() => this.#abort.abort());
    const { result, error } = after[mine]!.message;
    if (error) throw new CallbackFailed(error.message, error.data, error.code);
    return result;
  }

  async #request(session: Session, request: Message): Promise<void> {
    const heard = { observations: [] as unknown[], deltas: [] as unknown[], steps: [] as unknown[] };
    const { observe, partialResultToken, workDoneToken, coordinationId: _, ...params } = request.params;
    const options: CallOptions = { signal: this.#abort.signal };
    if (observe) options.onObservation = ({ token: _, ...told }) => heard.observations.push(told);
    if (partialResultToken) options.onDelta = (delta) => heard.deltas.push(delta);
    if (workDoneToken) options.onProgress = (step) => heard.steps.push(step);
    const [answer, told] = this.#until(request);
    try {
      const result = await this.#call(session, request.method ?? "", params, options);
      assert.deepEqual(result, answer.result);
    } catch (error) {
      if (!(error instanceof RequestFailed || error instanceof CallbackFailed)) throw error;
      const { code, message, data } = error;
      assert.deepEqual({ code, message, ...(data === undefined ? {} : { data }) }, answer.error);
    }
    assert.deepEqual(heard, {
      observations: told("promptkit/observation", observe).map(({ token: _, ...one }) => one),
      deltas: told("$/progress", partialResultToken).map(({ value }) => value),
      steps: told("$/progress", workDoneToken).map(({ value }) => value),
    });
  }

  /** The answer to a request, and what was told before it under a token. */
  #until(request: Message): [Message, (method: string, token: unknown) => any[]] {
    const from = this.#lines.findIndex(({ message }) => message === request);
    const after = this.#lines.slice(from).filter((line) => line.from === "server");
    const to = after.findIndex(({ message }) => message.id === request.id && !message.method);
    const params = (method: string, token: unknown) =>
      after
        .slice(0, to)
        .map(({ message }) => message)
        .filter((message) => message.method === method && message.params.token === token)
        .map((message) => message.params);
    return [after[to]!.message, params];
  }

  #call(session: Session, method: string, request: any, options: CallOptions): Promise<unknown> {
    switch (method) {
      case "promptkit/run":
        return session.run(request, options);
      case "promptkit/prepare":
        return session.prepare(request, options);
      case "promptkit/prepared/execute":
        return session.execute(request.preparedId, options);
      case "promptkit/coordinate":
        return session.coordinate(
          request as CoordinateRequest,
          (_, context) => this.answer(context),
          options,
        );
      default:
        return session.request(method as "promptkit/session/status", request, options);
    }
  }
}
