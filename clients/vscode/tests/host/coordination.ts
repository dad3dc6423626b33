import assert from "node:assert/strict";
import { command, fresh, Person, shows } from "./support.js";
import type { CoordinateResult } from "../../../typescript/src/protocol.js";

const STUDY = { promptId: "research/study", variables: { case: "bridge" } };

describe("coordination", () => {
  // COO-2, COO-3, COO-4.
  it("asks for each next action, and stops when it is told to", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const start = api.exchanges.latest!;
    const person = new Person(api, [
      ...["2", "research/investigate", "What is the worst damage?"],
      ...["research/investigate", "What should be done first?"],
      "$(debug-stop) Stop here",
    ]);
    const ended = await command<CoordinateResult>("coordinate", start);
    person.done();
    assert.equal(ended.outcome, "stopped");
    assert.deepEqual(
      person.asked.filter((title) => title.startsWith("What next?")),
      ["What next? 2 more turns", "What next? 1 more turn", "What next? 0 more turns"],
    );
    await shows("Load-test the bridge; the last test is nine years old.");
    const [second] = api.exchanges.getChildren(start);
    const [third] = api.exchanges.getChildren(second);
    assert.equal(third, api.exchanges.latest);
    assert.deepEqual(person.told, ["The branch was stopped."]);
  });

  // COO-6.
  it("that is asked for more than its budget has used up its turns", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const again = ["research/investigate", "And then?"];
    const person = new Person(api, ["1", ...again, ...again]);
    const ended = await command<CoordinateResult>("coordinate", api.exchanges.latest);
    assert.equal(ended.outcome, "exhausted");
    assert.deepEqual(person.told, ["The branch has used up its turns."]);
  });

  it("that is left with Escape stops", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const person = new Person(api, ["1", undefined]);
    const ended = await command("coordinate", api.exchanges.latest);
    assert.deepEqual(person.told, ["The branch was stopped."]);
    assert.deepEqual(ended, { outcome: "stopped" });
  });

  // COO-10, COO-13.
  it("that is cancelled takes its question away", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    let gone = false;
    const person = new Person(api, [
      "1",
      async ({ token }) => {
        const left = new Promise<void>((resolve) => token!.onCancellationRequested(() => resolve()));
        void command("cancel");
        await left;
        gone = true;
        return undefined;
      },
    ]);
    assert.deepEqual(await command("coordinate", api.exchanges.latest), { outcome: "cancelled" });
    assert.equal(gone, true);
    assert.deepEqual(person.told, ["The branch was cancelled."]);
  });

  // COO-9.
  it("that fails tells why", async () => {
    const { api } = await fresh();
    await command("run", STUDY);
    const person = new Person(api, ["1", "research/study", "not-there"]);
    assert.equal(await command("coordinate", api.exchanges.latest), undefined);
    assert.match(person.told[0]!, /not-there/);
  });
});
