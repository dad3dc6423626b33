// What the editor calls: runs the suites with mocha and says how they went.
import { format } from "node:util";
import Mocha from "mocha";

export async function run(): Promise<void> {
  // The editor's own log shares the console; the mark tells ours from it.
  Mocha.reporters.Base.consoleLog = (...args: unknown[]) =>
    console.log(`[test] ${format(...args).replaceAll("\n", "\n[test] ")}`);
  const mocha = new Mocha({ timeout: 30_000, color: false, reporter: "spec" });
  mocha.suite.emit("pre-require", globalThis as unknown as Mocha.MochaGlobals, "", mocha);
  await import("./server.js");
  await import("./runs.js");
  await import("./coordination.js");
  await import("./host.js");
  const failures = await new Promise<number>((resolve) => mocha.run(resolve));
  if (failures) throw new Error(`${failures} tests failed`);
}
