// The groups of this session: one collects every run until another is begun.
import type { Client } from "../../typescript/src/client.js";
import type { Documents } from "./documents.js";
import * as text from "./text.js";
import type { Ui } from "./ui.js";

export class Groups {
  readonly #ids: string[] = [];

  constructor(
    readonly ui: Ui,
    readonly documents: Documents,
  ) {}

  /** The groups that a run should join. */
  async join(client: Client): Promise<string[]> {
    const current = this.#ids.at(-1) ?? (await this.create(client));
    return [current];
  }

  /** Runs from now on are collected by a new group. */
  async create(client: Client): Promise<string> {
    const { groupId } = await client.request("promptkit/group/create", {});
    this.#ids.push(groupId);
    return groupId;
  }

  async show(client: Client): Promise<void> {
    await this.join(client);
    const items = this.#ids.map((id) => ({ label: id, value: id })).reverse();
    const groupId =
      items.length === 1 ? this.#ids[0] : await this.ui.pick(items, { title: "Usage of which group?" });
    if (!groupId) return;
    const snapshot = await client.request("promptkit/group/snapshot", { groupId });
    await this.documents.show(`usage/${groupId}.promptkit`, text.group(groupId, snapshot));
  }

  clear(): void {
    this.#ids.length = 0;
  }
}
