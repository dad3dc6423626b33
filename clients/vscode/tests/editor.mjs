// A real editor for tests: code-server with fresh data, and a browser window on it.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const START_MS = 120_000;

export const here = resolve(import.meta.dirname, "..");
const checkout = resolve(here, "../..");
const { EDITOR_NODE, EDITOR_ENTRY, CHROMIUM, PROMPTKIT_PYTHON } = process.env;

/** A folder of its own for the workspace, the editor's data and the server's command. */
export function lodging(settings = {}) {
  const base = mkdtempSync(join(tmpdir(), "promptkit-vscode-"));
  const command = join(base, "promptkit-rpc");
  writeFileSync(
    command,
    `#!/bin/sh\nPYTHONPATH="${checkout}" exec "${PROMPTKIT_PYTHON}" -m promptkit_rpc "$@"\n`,
  );
  chmodSync(command, 0o755);
  const workspace = join(base, "workspace");
  run(command, ["init", workspace]);
  const machine = join(base, "data/Machine");
  mkdirSync(machine, { recursive: true });
  writeFileSync(
    join(machine, "settings.json"),
    JSON.stringify({ "promptkit.server.command": command, ...settings }),
  );
  return { base, workspace, remove: () => rmSync(base, { recursive: true, force: true }) };
}

/** Starts code-server on it with the packaged extension installed. */
export async function start({ base }) {
  const folders = ["--user-data-dir", join(base, "data"), "--extensions-dir", join(base, "extensions")];
  const env = { ...process.env, PATH: `${join(EDITOR_NODE, "..")}:${process.env.PATH}`, HOME: base };
  run(EDITOR_NODE, [EDITOR_ENTRY, ...folders, "--install-extension", join(here, "promptkit-rpc.vsix")], env);
  const port = await freePort();
  const options = [
    ...["--bind-addr", `127.0.0.1:${port}`, "--auth", "none", "--reconnection-grace-time", "5"],
    ...[
      "--disable-telemetry",
      "--disable-update-check",
      "--disable-workspace-trust",
      "--disable-getting-started-override",
    ],
  ];
  const server = spawn(EDITOR_NODE, [EDITOR_ENTRY, ...folders, ...options], {
    env,
    stdio: "pipe",
    detached: true,
  });
  let log = "";
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (text) => (log += text));
  await new Promise((ready, failed) => {
    const fail = (what) => failed(new Error(`code-server ${what}:\n${log}`));
    setTimeout(fail, START_MS, "does not start").unref();
    server.once("exit", () => fail("ended"));
    server.stdout.on("data", () => /HTTP server listening/.test(log) && ready());
  });
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    log: () => log,
    stop() {
      server.removeAllListeners("exit");
      process.kill(-server.pid, "SIGKILL");
    },
  };
}

/** A window of a browser, English and of one size. */
export async function browse() {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const context = await browser.newContext({ viewport: { width: 1200, height: 700 }, locale: "en-US" });
  return { browser, page: await context.newPage() };
}

function run(command, args, env = process.env) {
  const done = spawnSync(command, args, { env, encoding: "utf8" });
  if (done.status !== 0)
    throw new Error(`${command} ${args.join(" ")}\n${done.error ?? ""}${done.stdout}${done.stderr}`);
}

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}
