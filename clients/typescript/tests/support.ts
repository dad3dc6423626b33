// A workspace of scripted answers, and sessions with the real server on it.
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { connect, type ConnectOptions, type Session } from "../src/index.js";

/** The checkout; tests run from clients/typescript/out/tests. */
export const checkout = fileURLToPath(new URL("../../../..", import.meta.url));

const venv = join(checkout, ".venv/bin/python");
const python = process.env.PROMPTKIT_PYTHON || (existsSync(venv) ? venv : "python3");

const FILES = {
  "promptkit.yaml": `
version: 1
backends:
  scripted: {kind: scripted, replies: replies.yaml, capacity: 1, retry: {attempts: 2, baseDelay: 0.001, maxDelay: 0.01}}
  host: {kind: client, capacity: 1, retry: {attempts: 2, baseDelay: 0.001, maxDelay: 0.01}}
  keyed: {kind: openai, baseUrl: "http://127.0.0.1:9/v1", credential: {client: vault}, retry: {attempts: 1}}
profiles:
  scripted: {backend: scripted, model: scripted}
  host: {backend: host, model: any}
  keyed: {backend: keyed, model: any}
`,
  "replies.yaml": `
- match: {contains: pieces}
  chunks: ["first ", "second"]
  usage: {inputTokens: 3, outputTokens: 2}
- match: {promptId: fix}
  content: "no json"
  times: 1
- match: {promptId: fix}
  json: {name: a}
`,
  "prompts/say.prompt.yaml": `
profile: scripted
variables: {text: {type: string}}
messages:
  - {role: system, content: Be brief., cache: {type: ephemeral}}
  - {role: user, content: "{{ text }}"}
`,
  "prompts/fix.prompt.yaml": `
profile: scripted
messages: [{role: user, content: Name it.}]
output: {format: json, repairs: 1}
`,
};

/** A folder with definitions, gone when the test is over. */
export async function workspace(test: TestContext): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "promptkit-ts-"));
  test.after(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

/** How the server under test is started. */
export const server = {
  command: python,
  args: ["-m", "promptkit_rpc", "serve"],
  env: { ...process.env, PYTHONPATH: checkout },
};

/** A session on a workspace of its own, closed when the test is over. */
export async function open(test: TestContext, options: ConnectOptions = {}): Promise<Session> {
  const root = await workspace(test);
  const session = await connect({ ...server, root, ...options });
  test.after(() => session.close());
  return session;
}

/** Something to wait for that the test itself opens. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Waits for what must happen soon. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
