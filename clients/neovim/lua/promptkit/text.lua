--- Values of the wire as text for people. An unknown count is never shown as 0.
local M = {}

local COUNTS = {
  { "totalTokens", "total" },
  { "inputTokens", "input" },
  { "cachedInputTokens", "  read from a cache" },
  { "cacheCreationTokens", "  written to a cache" },
  { "outputTokens", "output" },
  { "reasoningTokens", "  reasoning" },
}

--- One count: a number, at least a number, or unknown.
function M.tokens(count)
  if count.value == nil or count.value == vim.NIL then
    return "unknown"
  end
  return (count.complete and "%d" or "at least %d"):format(count.value)
end

--- A group's snapshot.
function M.usage(snapshot)
  local open = {}
  for _, run in ipairs(snapshot.runs) do
    if not run.terminal then
      table.insert(open, run.runId)
    end
  end
  local lines = {
    "# Usage of this session",
    "",
    ("runs: %d%s"):format(
      #snapshot.runs,
      snapshot.complete and "" or (", not ended: " .. table.concat(open, ", "))
    ),
    ("calls: %d, retries: %d, repairs: %d"):format(
      snapshot.attempts,
      snapshot.transientRetries,
      snapshot.repairs
    ),
    "",
    "| tokens | |",
    "| --- | --- |",
  }
  for _, row in ipairs(COUNTS) do
    table.insert(lines, ("| %s | %s |"):format(row[2], M.tokens(snapshot.usage[row[1]])))
  end
  return table.concat(lines, "\n")
end

--- Messages of a conversation, each under its role.
function M.messages(messages)
  local parts = {}
  for _, message in ipairs(messages) do
    local cache = message.cache and message.cache ~= vim.NIL
    local note = cache and ("  cache %s"):format(vim.json.encode(message.cache)) or ""
    table.insert(parts, ("## %s%s\n\n%s"):format(message.role, note, message.content))
  end
  return table.concat(parts, "\n\n")
end

local function field(name, value)
  if value == nil or value == vim.NIL then
    return nil
  end
  return ("%s: %s"):format(name, type(value) == "string" and value or vim.json.encode(value))
end

--- What a prepared execution will send.
function M.prepared(details)
  local lines = { "# " .. details.promptId, "" }
  for _, name in ipairs({
    "profile",
    "backend",
    "model",
    "parameters",
    "sessionId",
    "output",
    "parentRunId",
    "capture",
    "credentialSource",
  }) do
    table.insert(lines, field(name, details[name]))
  end
  return table.concat(lines, "\n") .. "\n\n" .. M.messages(details.messages)
end

--- How a run ended, in few words.
function M.summary(result)
  local words = { result.runId, M.tokens(result.usage.totalTokens) .. " tokens" }
  if result.finishReason ~= "stop" then
    table.insert(words, "finished by " .. result.finishReason)
  end
  if result.validation.status ~= "notRequired" then
    table.insert(words, result.validation.status)
  end
  return table.concat(words, ", ")
end

--- The answer, and what is wrong with it.
function M.answer(result)
  local parts = { result.content }
  for _, violation in ipairs(result.validation.violations) do
    local place = violation.path == "" and "/" or violation.path
    table.insert(parts, ("> %s: %s"):format(place, violation.message))
  end
  return table.concat(parts, "\n")
end

return M
