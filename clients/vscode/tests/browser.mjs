// The main path as a person takes it: with mouse and keyboard, in a real window. Every step is
// checked by what stands on the screen, and leaves a picture in out/screens.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browse, here, lodging, start } from "./editor.mjs";

const STEP_MS = 30_000;
const screens = join(here, "out/screens");
mkdirSync(screens, { recursive: true });

const home = lodging({
  "workbench.startupEditor": "none",
  "workbench.colorTheme": "Default Light Modern",
  "chat.disableAIFeatures": true,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "editor.minimap.enabled": false,
  "window.commandCenter": false,
});
const slow = '- match: {contains: patience}\n  chunks: ["Hold ", "on."]\n  delay: 60\n';
const replies = join(home.workspace, "replies.yaml");
writeFileSync(replies, slow + readFileSync(replies, "utf8"));

const editor = await start(home);
const { browser, page } = await browse();
page.setDefaultTimeout(STEP_MS);
const tree = page.locator(".pane-body .monaco-list-row");
const box = page.locator(".quick-input-widget");
let passed = 0;
try {
  await page.goto(`${editor.url}/?folder=${home.workspace}`);
  await path();
} catch (error) {
  await page.screenshot({ path: join(screens, "failed.png") });
  throw error;
} finally {
  await browser.close();
  editor.stop();
  home.remove();
}
console.log(`${passed} steps on the main path passed`);

async function path() {
  await status(/PromptKit$/);
  await page.locator('.activitybar a[aria-label="PromptKit"]').click();
  await page.getByText("can be continued and branched").waitFor();
  await done("welcome");

  await open("study.prompt.yaml");
  await page.locator('.editor-actions a[aria-label^="Run a Prompt"]').click();
  await answer("research/study: case", "bridge");
  await reads("A footbridge whose hangers have begun to rust.");
  await tree.filter({ hasText: "research/study" }).waitFor();
  await done("run");

  await command("Continue the Last Exchange");
  await choose("Continue with which prompt?", "research/investigate");
  await answer("research/investigate: question", "What is the worst damage?");
  await reads("The rusted lower pins of two hangers.");
  await done("continue");

  const first = tree.filter({ hasText: "research/study" });
  await first.hover();
  await first.locator('a[aria-label^="Branch from"]').click();
  await choose("Continue with which prompt?", "research/investigate");
  await answer("research/investigate: question", "What should be done first?");
  await reads("Load-test the bridge; the last test is nine years old.");
  await tree.nth(2).waitFor();
  await done("branch");

  await command("Coordinate a Branch");
  await choose("Coordinate a branch", "Load-test");
  await answer("How many more turns at most?", "1");
  await choose("What next? 1 more turn", "research/investigate");
  await answer("research/investigate: question", "Can it wait another year?");
  await page.getByText("What next? 0 more turns").waitFor();
  await reads("No, close it until the pins are replaced.");
  await done("coordinate");
  await page.keyboard.press("Escape");
  await page.getByText("The branch was stopped.", { exact: true }).waitFor();
  await tree.nth(3).waitFor();

  await command("Clear All Notifications", "Notifications");
  await widen();
  await tree.filter({ hasText: "No, close it" }).click();
  await reads("──── assistant ────");
  await reads("Can it wait another year?");
  await done("exchange");

  await command("Show a Group's Usage");
  await reads("every run has ended");
  await done("usage");

  await open("investigate.prompt.yaml");
  await page.locator('.editor-actions a[aria-label^="Preview What"]').click();
  await answer("research/investigate: question", "Is patience a virtue?");
  await reads("This would be sent:");
  await done("preview");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await status(/1 running/);
  await done("running");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await reads("[cancelled]");
  await status(/PromptKit$/);
  await done("cancelled");
}

async function done(name) {
  passed += 1;
  await page.screenshot({ path: join(screens, `${String(passed).padStart(2, "0")}-${name}.png`) });
}

/** Gives the tree the room that its texts need. */
async function widen() {
  const { x, width } = await page.locator(".part.sidebar").boundingBox();
  await page.mouse.move(x + width + 2, 600);
  await page.mouse.down();
  await page.mouse.move(540, 600, { steps: 5 });
  await page.mouse.up();
}

function status(text) {
  return page
    .locator(".statusbar-item#promptkit-rpc\\.promptkit-rpc\\.promptkit")
    .filter({ hasText: text })
    .waitFor();
}

/** Opens a file of the workspace by its name. */
async function open(name) {
  await page.keyboard.press("Control+P");
  await box.locator("input").fill(name);
  await box.locator(".monaco-list-row").filter({ hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
}

async function command(name, category = "PromptKit") {
  await page.keyboard.press("F1");
  await box.locator("input").fill(`>${category}: ${name}`);
  await box.locator(".monaco-list-row").filter({ hasText: name }).first().click();
}

/** Takes the row with this text from the list with this title. */
async function choose(title, text) {
  await box.getByText(title).waitFor();
  await box.locator(".monaco-list-row").filter({ hasText: text }).first().click();
}

async function answer(title, text) {
  await box.getByText(title).waitFor();
  await box.locator("input").fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until an editor shows this line. The editor draws spaces that do not break. */
function reads(text) {
  const words = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "\\s");
  return page
    .locator(".editor-instance .view-line")
    .filter({ hasText: new RegExp(words) })
    .first()
    .waitFor();
}
