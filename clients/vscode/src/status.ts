// The status bar: whether there is a server, and what it is doing.
import * as vscode from "vscode";
import type { Activity } from "./activity.js";
import type { Server } from "./server.js";

export class Status implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem("promptkit", vscode.StatusBarAlignment.Left);

  constructor(server: Server, activity: Activity) {
    this.item.name = "PromptKit";
    this.item.command = "promptkit.menu";
    const draw = () => this.#draw(server, activity.count);
    server.onDidChange(draw);
    activity.onDidChange(() => {
      draw();
      void vscode.commands.executeCommand("setContext", "promptkit.running", activity.count > 0);
    });
    draw();
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
  }

  #draw({ condition, problem, root }: Server, running: number): void {
    const busy = running > 0 && condition === "running";
    const icon =
      busy || condition === "starting" ? "$(sync~spin)" : condition === "running" ? "$(check)" : "$(error)";
    this.item.text = `${icon} PromptKit${busy ? `: ${running} running` : ""}`;
    const well = condition === "running" || condition === "starting";
    this.item.tooltip = well
      ? `PromptKit is ${condition}${root ? ` for ${root.fsPath}` : ""}`
      : problem || "PromptKit is stopped";
    this.item.backgroundColor = well ? undefined : new vscode.ThemeColor("statusBarItem.errorBackground");
  }
}
