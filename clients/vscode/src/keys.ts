// Keys that the editor keeps, for backends with `credential: {client: NAME}`.
import type * as vscode from "vscode";
import type { Client } from "../../typescript/src/client.js";
import type { Secrets } from "./channel.js";
import type { Ui } from "./ui.js";

const PREFIX = "promptkit.credential.";
const SOURCE = "client:";

export class Keys {
  constructor(
    readonly storage: vscode.SecretStorage,
    readonly secrets: Secrets,
    readonly ui: Ui,
  ) {}

  /** What the server is given; a key that is missing is offered to be stored. */
  async get(name: string): Promise<string | undefined> {
    const key = await this.storage.get(PREFIX + name);
    if (key) this.secrets.add(key);
    else void this.#offer(name);
    return key || undefined;
  }

  async store(names: Client | string): Promise<void> {
    const name = typeof names === "string" ? names : await this.#name(names, "Store a key");
    if (!name) return;
    const key = await this.ui.ask({
      title: `Key "${name}"`,
      prompt: "It goes into the editor's secret storage, and to the server when a run needs it.",
      password: true,
      check: (text) => (text.trim() ? undefined : "A key is not empty."),
    });
    if (!key) return;
    this.secrets.add(key.trim());
    await this.storage.store(PREFIX + name, key.trim());
    void this.ui.say(`The key "${name}" is stored.`);
  }

  async delete(client: Client): Promise<void> {
    const name = await this.#name(client, "Delete a key");
    if (!name) return;
    await this.storage.delete(PREFIX + name);
    void this.ui.say(`The key "${name}" is deleted.`);
  }

  async #offer(name: string): Promise<void> {
    const message = `A backend asks for the key "${name}", which is not stored.`;
    if ((await this.ui.warn(message, "Store It")) === "Store It") await this.store(name);
  }

  /** One of the names that the settings ask for, or another. */
  async #name(client: Client, title: string): Promise<string | undefined> {
    const { items } = await client.request("promptkit/backend/list", {});
    const sources = await Promise.all(
      items.map(async ({ name }) => {
        const { credentialSource } = await client.request("promptkit/backend/inspect", { backend: name });
        return credentialSource?.startsWith(SOURCE) ? credentialSource.slice(SOURCE.length) : undefined;
      }),
    );
    const names = [...new Set(sources.filter((name) => name !== undefined))];
    const other = { label: "Another name…", value: "" };
    const chosen = await this.ui.pick([...names.map((name) => ({ label: name, value: name })), other], {
      title,
    });
    if (chosen !== "") return chosen;
    const check = (text: string) => (text.trim() ? undefined : "As in credential: {client: NAME}.");
    return (await this.ui.ask({ title, prompt: "The name that the settings give it", check }))?.trim();
  }
}
