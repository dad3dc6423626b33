// Where the server is, and which folder it serves.
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import * as vscode from "vscode";

export interface Found {
  readonly command: string;
  readonly args: string[];
  readonly root: vscode.WorkspaceFolder;
}

/** Why there is no server to start, in words for people. */
export class NotFound extends Error {}

/** The first folder with settings, else the first. */
export function find(): Found {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const root = folders.find(({ uri }) => existsSync(join(uri.fsPath, "promptkit.yaml"))) ?? folders[0];
  if (!root) throw new NotFound("Open a folder first: PromptKit reads its definition files.");
  const settings = vscode.workspace.getConfiguration("promptkit.server", root);
  const command = settings.get("command", "promptkit-rpc").trim() || "promptkit-rpc";
  const args = settings.get<string[]>("args", ["serve"]);
  return { command: resolve(expand(command, root)), args, root };
}

function expand(command: string, root: vscode.WorkspaceFolder): string {
  const path = command.replaceAll("${workspaceFolder}", root.uri.fsPath);
  return path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
}

function resolve(command: string): string {
  const extensions = process.platform === "win32" ? (process.env.PATHEXT ?? ".EXE").split(";") : [];
  const places = isAbsolute(command)
    ? [command]
    : (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, command));
  const found = places.flatMap((place) => [place, ...extensions.map((end) => place + end)]).find(executable);
  if (found) return found;
  throw new NotFound(
    `The server was not found: ${command}. Install PromptKit RPC with pip, or set promptkit.server.command to where it is.`,
  );
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
