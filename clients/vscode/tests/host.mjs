// Runs the tests in out/host inside the extension host of a real editor, and prints what they say.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { browse, here, lodging, start } from "./editor.mjs";

const LIMIT_MS = 300_000;

const home = lodging();
const editor = await start(home);
const { browser, page } = await browse();
let code = 1;
try {
  const finished = new Promise((resolve) => page.exposeFunction("codeAutomationExit", resolve));
  await page.exposeFunction("codeAutomationLog", (_severity, args) => print(args.join(" ")));
  await page.addInitScript(allowTests);
  await page.goto(`${editor.url}/?${query(home.workspace)}`);
  // The editor asks once whether the extension may use the model of another extension.
  page
    .getByRole("button", { name: "Allow", exact: true })
    .click({ timeout: LIMIT_MS })
    .catch(() => {});
  const late = new Promise((resolve) => setTimeout(resolve, LIMIT_MS, 1).unref());
  code = await Promise.race([finished, late]);
  if (code === 0) checkLogs(join(home.base, "data/logs"));
  else if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
} finally {
  await browser.close();
  editor.stop();
  home.remove();
}
process.exit(code);

/** Only what the tests say; the editor's own log comes the same way. */
function print(text) {
  for (const line of text.split("\n"))
    if (line.startsWith("[test] ")) console.log(line.slice("[test] ".length));
}

/** The messages were traced, and no log holds the key of the tests. */
function checkLogs(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".log"));
  const texts = files.map((name) => [name, readFileSync(join(folder, name), "utf8")]);
  const trace = texts.find(([name]) => name.endsWith("PromptKit Trace.log"));
  if (!trace?.[1].includes("promptkit/credential/get")) throw new Error(`nothing was traced: ${files}`);
  const leaks = texts.filter(([, text]) => text.includes("sk-canary-"));
  if (leaks.length) throw new Error(`a key was logged: ${leaks.map(([name]) => name)}`);
}

function query(folder) {
  const remote = (path) => `vscode-remote://${editor.host}${path}`;
  const payload = [
    ["extensionDevelopmentPath", remote(join(here, "tests/provider"))],
    ["extensionTestsPath", remote(join(here, "out/host/index"))],
  ];
  return new URLSearchParams({ folder, payload: JSON.stringify(payload) });
}

/** A built editor runs tests only with the driver that its own smoke tests switch on. */
function allowTests() {
  const read = Element.prototype.getAttribute;
  Element.prototype.getAttribute = function (name) {
    const value = read.call(this, name);
    if (this.id !== "vscode-workbench-web-configuration" || name !== "data-settings") return value;
    const settings = JSON.parse(value);
    settings.developmentOptions = { ...settings.developmentOptions, enableSmokeTestDriver: true };
    return JSON.stringify(settings);
  };
}
