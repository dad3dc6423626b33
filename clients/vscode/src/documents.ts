// Read-only documents: answers as they come, exchanges, previews, usage. The text is kept while open.
import * as vscode from "vscode";
import { append, type Delta } from "../../typescript/src/live.js";

export const SCHEME = "promptkit";

export class Documents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #registered = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      if (uri.scheme === SCHEME) this.#texts.delete(uri.toString());
    }),
  ];
  #answers = 0;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? "This was shown in an earlier session.\n";
  }

  /** Shows a text under a path, such as `exchange/run-1.promptkit`; an open one is brought up to date. */
  async show(path: string, text: string, beside = false): Promise<vscode.TextDocument> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${path}` });
    this.#set(uri, text);
    const document = await vscode.workspace.openTextDocument(uri);
    const viewColumn = beside ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    await vscode.window.showTextDocument(document, { preview: false, viewColumn });
    return document;
  }

  /** A new document that an answer is streamed into. */
  async answer(promptId: string, json: boolean): Promise<Answer> {
    this.#answers += 1;
    const name = `${promptId.split("/").at(-1)}, answer ${this.#answers}.${json ? "json" : "md"}`;
    const { uri } = await this.show(name, "");
    return new Answer((text) => this.#set(uri, text));
  }

  dispose(): void {
    for (const one of this.#registered) one.dispose();
  }

  #set(uri: vscode.Uri, text: string): void {
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
  }
}

const FRAME_MS = 40;

/** Text that grows; the editor sees it a few times a second, and the end of it at once. */
export class Answer {
  #text = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(readonly show: (text: string) => void) {}

  take(delta: Delta): void {
    this.#text = append(this.#text, delta);
    this.#timer ??= setTimeout(() => this.#flush(), FRAME_MS);
  }

  /** The whole answer, in place of its pieces. */
  end(text: string): void {
    this.#text = text;
    this.#flush();
  }

  /** No answer came: what there is of it is marked as a part. */
  fail(why: string): void {
    this.end(`${this.#text}\n[${why}]\n`);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.show(this.#text);
  }
}
