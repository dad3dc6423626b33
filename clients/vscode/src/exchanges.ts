// The exchanges that this session has seen, as the tree they are, and its view.
import * as vscode from "vscode";
import type { RunResult } from "../../typescript/src/protocol.js";

/** What is remembered of an exchange for people to recognize it; the server holds the rest. */
export interface Node {
  readonly runId: string;
  readonly parentRunId: string | undefined;
  readonly promptId: string;
  readonly model: string;
  /** How its answer begins. */
  readonly opening: string;
  readonly valid: boolean;
  /** No longer held, and shown only for what was built on it. */
  readonly released: boolean;
}

const OPENING = 80;

/** How an answer begins, on one line. */
export function opening(content: string): string {
  const text = content.trim().replace(/\s+/g, " ");
  return text.length > OPENING ? `${text.slice(0, OPENING)}…` : text;
}

/** The view of the exchanges: it opens the branch that grows, and never opens itself. */
export function viewOf(exchanges: Exchanges): vscode.TreeView<Node> {
  const view = vscode.window.createTreeView("promptkit.exchanges", { treeDataProvider: exchanges });
  const reveal = (node: Node | undefined) => {
    if (node && view.visible) void view.reveal(node, { select: true, focus: false, expand: true });
  };
  exchanges.onDidAdd(reveal);
  view.onDidChangeVisibility(() => reveal(exchanges.latest));
  return view;
}

export class Exchanges implements vscode.TreeDataProvider<Node> {
  readonly #nodes = new Map<string, Node>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #added = new vscode.EventEmitter<Node>();
  readonly onDidAdd = this.#added.event;

  /** Those that can be continued, the newest first. */
  get held(): Node[] {
    return [...this.#nodes.values()].filter(({ released }) => !released).reverse();
  }

  get latest(): Node | undefined {
    return this.held[0];
  }

  get(runId: string): Node | undefined {
    return this.#nodes.get(runId);
  }

  /** Takes the exchange of a result, if it has one. */
  add(promptId: string, result: RunResult): Node | undefined {
    if (!result.exchange) return undefined;
    const { runId, parentRunId } = result.exchange;
    const node = {
      runId,
      parentRunId: parentRunId ?? undefined,
      promptId,
      model: result.model,
      opening: opening(result.content),
      valid: result.validation.status !== "invalid",
      released: false,
    };
    this.#nodes.set(runId, node);
    this.#changed.fire();
    this.#added.fire(node);
    return node;
  }

  release(runId: string): void {
    const node = this.#nodes.get(runId);
    if (node) this.#nodes.set(runId, { ...node, released: true });
    this.#prune(runId);
    this.#changed.fire();
  }

  clear(): void {
    this.#nodes.clear();
    this.#changed.fire();
  }

  getChildren(node?: Node): Node[] {
    const parent = (one: Node) => (this.#nodes.has(one.parentRunId ?? "") ? one.parentRunId : undefined);
    return [...this.#nodes.values()].filter((one) => parent(one) === node?.runId);
  }

  getParent(node: Node): Node | undefined {
    return this.#nodes.get(node.parentRunId ?? "");
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = new vscode.TreeItem(node.promptId);
    item.id = node.runId;
    item.description = node.released ? "released" : node.opening;
    item.tooltip = `${node.runId}\n${node.model}`;
    item.contextValue = node.released ? "released" : "held";
    item.iconPath = new vscode.ThemeIcon(node.released ? "circle-slash" : node.valid ? "comment" : "warning");
    if (this.getChildren(node).length) item.collapsibleState = vscode.TreeItemCollapsibleState.Expanded;
    if (!node.released)
      item.command = { command: "promptkit.exchange.show", title: "Show", arguments: [node] };
    return item;
  }

  /** Forgets released ones that nothing is built on, upwards. */
  #prune(runId: string): void {
    const node = this.#nodes.get(runId);
    if (!node?.released || this.getChildren(node).length) return;
    this.#nodes.delete(runId);
    if (node.parentRunId) this.#prune(node.parentRunId);
  }
}
