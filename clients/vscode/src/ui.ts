// Everything that is asked of a person or told to one, in one place.
import * as vscode from "vscode";

/** One thing to choose. */
export interface Choice<T> extends vscode.QuickPickItem {
  readonly value: T;
}

export interface Question {
  title: string;
  prompt?: string;
  placeHolder?: string;
  value?: string;
  password?: boolean;
  /** What is wrong with an answer, or undefined. */
  check?: (answer: string) => string | undefined;
}

export class Ui {
  /** The value chosen; undefined if none was. */
  async pick<T>(
    items: readonly Choice<T>[],
    options: { title: string; placeHolder?: string },
    token?: vscode.CancellationToken,
  ): Promise<T | undefined> {
    const chosen = await vscode.window.showQuickPick(
      items,
      { ...options, matchOnDescription: true, matchOnDetail: true, ignoreFocusOut: true },
      token,
    );
    return chosen?.value;
  }

  /** The text given; undefined if the box was left. */
  ask({ check, ...question }: Question, token?: vscode.CancellationToken): Promise<string | undefined> {
    const options = { ...question, ignoreFocusOut: true, validateInput: (text: string) => check?.(text) };
    return Promise.resolve(vscode.window.showInputBox(options, token));
  }

  error(message: string, ...actions: string[]): Promise<string | undefined> {
    return Promise.resolve(vscode.window.showErrorMessage(message, ...actions));
  }

  warn(message: string, ...actions: string[]): Promise<string | undefined> {
    return Promise.resolve(vscode.window.showWarningMessage(message, ...actions));
  }

  say(message: string, ...actions: string[]): Promise<string | undefined> {
    return Promise.resolve(vscode.window.showInformationMessage(message, ...actions));
  }
}
