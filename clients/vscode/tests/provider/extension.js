// A model that echoes the last message, word by word, or fails and waits when it is told to.
const vscode = require("vscode");

exports.activate = () => {
  const seen = [];
  const model = {
    id: "echo-1",
    name: "Echo",
    family: "echo",
    version: "1",
    maxInputTokens: 10000,
    maxOutputTokens: 1000,
    capabilities: {},
  };
  vscode.lm.registerLanguageModelChatProvider("promptkit-test", {
    provideLanguageModelChatInformation: async () => [model],
    provideLanguageModelChatResponse: async (_, messages, options, progress, token) => {
      const texts = messages.map(({ role, content }) => [role, content.map(({ value }) => value).join("")]);
      seen.push({ texts, options: options.modelOptions });
      const last = texts.at(-1)[1];
      if (last.includes("wait")) await new Promise((resolve) => token.onCancellationRequested(resolve));
      if (last.includes("blocked")) throw vscode.LanguageModelError.Blocked("not that");
      for (const word of last.split(/(?<= )/)) progress.report(new vscode.LanguageModelTextPart(word));
    },
    provideTokenCount: async () => 1,
  });
  return { seen };
};
