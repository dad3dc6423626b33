--- What commands share while one server runs: its group, the exchanges it holds, and runs on show.
local answers = require("promptkit.answers")
local ask = require("promptkit.ask")
local calls = require("promptkit.calls")
local settings = require("promptkit.settings")
local task = require("promptkit.task")
local text = require("promptkit.text")

--- @class promptkit.Session
--- @field client vim.lsp.Client
--- @field exchanges { runId: string, parentRunId: string?, promptId: string }[] Oldest first.
--- @field private group string?
local Session = {}
Session.__index = Session

local M = {}

local sessions = {} --- @type table<integer, promptkit.Session>

--- Shows an error to the user.
function M.complain(err)
  vim.notify("promptkit: " .. (type(err) == "table" and err.message or err), vim.log.levels.ERROR)
end

--- The session of the current workspace; inside a task. Nil if the server could not be started.
--- @return promptkit.Session?
function M.open()
  local err, client = task.await(require("promptkit.server").connect)
  if not client then
    M.complain(err)
    return nil
  end
  sessions[client.id] = sessions[client.id]
    or setmetatable({ client = client, exchanges = {} }, Session)
  return sessions[client.id]
end

--- The session of a client, if commands have used it.
--- @return promptkit.Session?
function M.of(client)
  return client and sessions[client.id]
end

--- Calls a method and waits; inside a task. Errors are shown; the result is nil then.
function Session:ask(method, params)
  local err, result = task.await(function(answer)
    calls.start(self.client, method, params, {}, answer)
  end)
  if err then
    M.complain(err)
    return nil
  end
  return result
end

--- The group that every run of these commands joins.
function Session:collector()
  if not self.group then
    local created = self:ask("promptkit/group/create", {})
    self.group = created and created.groupId
  end
  return self.group
end

--- Lists the prompts.
function Session:prompts()
  local listed = self:ask("promptkit/prompt/list", {})
  return listed and listed.items
end

--- A request for a prompt, with what the prompt declares and what is given; nil if dismissed.
function Session:request(prompt_id, given)
  local inspected = self:ask("promptkit/prompt/inspect", { promptId = prompt_id })
  local variables = inspected and ask.variables(inspected.variables, given)
  return variables and { promptId = prompt_id, variables = variables }
end

--- A section and the options that stream a run into it.
function Session:section(title)
  local section = answers.section(title, self.client.config.root_dir)
  section:status("…")
  return section
end

local function finish(self, section, result, prompt_id)
  section:set(text.answer(result))
  local invalid = result.validation.status == "invalid"
  section:status(text.summary(result), invalid and "DiagnosticWarn" or "Comment")
  if result.exchange and result.exchange ~= vim.NIL then
    table.insert(self.exchanges, {
      runId = result.exchange.runId,
      parentRunId = result.exchange.parentRunId,
      promptId = prompt_id,
    })
  end
end

local function streamed(section_of)
  return {
    on_text = function(piece)
      section_of():append(piece)
    end,
    on_reset = function()
      section_of():set("")
    end,
    on_progress = function(value)
      if value.message and value.kind ~= "end" then
        section_of():status(value.message)
      end
    end,
    -- Asked for all the same: it tells when the client's own model is no longer waited for.
    on_event = function() end,
  }
end

local function failed(section, err)
  local cancelled = err.code == calls.CANCELLED
  section:status(cancelled and "cancelled" or err.message, "DiagnosticError")
  if not cancelled then
    M.complain(err)
  end
end

--- Sends a run or a prepared execution and streams its answer; inside a task.
function Session:run(method, params, prompt_id)
  local group = self:collector()
  if not group then
    return
  end
  if method == "promptkit/run" then
    params.groups = { group }
    params.capture = params.capture or settings.get().capture
  end
  local from = params.continueFrom
  local section = self:section(from and ("%s, after %s"):format(prompt_id, from) or prompt_id)
  local err, result = task.await(function(answer)
    local options = streamed(function()
      return section
    end)
    calls.start(self.client, method, params, options, answer)
  end)
  if err then
    return failed(section, err)
  end
  finish(self, section, result, prompt_id)
end

local STOP = { name = "Stop" }

--- What the user chooses: a request, STOP, or nil if nothing.
local function next_request(self, turn)
  local items = { STOP }
  vim.list_extend(items, self:prompts() or {})
  local asked = ("Next after %s, turns left: %d"):format(turn.exchange.runId, turn.remainingTurns)
  local chosen = ask.item(items, asked)
  if chosen == STOP or not chosen then
    return chosen
  end
  return self:request(chosen.name, {})
end

--- Drives a branch by what the user chooses; inside a task.
function Session:coordinate(run_id, turns)
  local group = self:collector()
  if not group then
    return
  end
  local section, prompt_id -- of the turn under way
  local over = false
  local options = streamed(function()
    section = section or self:section(prompt_id)
    return section
  end)
  options.on_progress = nil -- it would tell of the waiting for this very user
  function options.next(turn)
    if turn.result and turn.result ~= vim.NIL then
      finish(self, section, turn.result, prompt_id)
      section = nil
    end
    local request = next_request(self, turn)
    if over then
      vim.notify("promptkit: that coordination has ended already", vim.log.levels.WARN)
      return { action = "stop" } -- nobody waits for it
    elseif not request or request == STOP then
      return request and { action = "stop" }
    end
    prompt_id = request.promptId
    if turn.remainingTurns > 0 then
      section = self:section(("%s, after %s"):format(prompt_id, turn.exchange.runId))
    end
    return { action = "continue", request = request }
  end
  local params = { exchange = run_id, additionalTurns = turns, groups = { group } }
  local err, result = task.await(function(answer)
    calls.start(self.client, "promptkit/coordinate", params, options, answer)
  end)
  over = true
  if err then
    return failed(section or self:section("coordination after " .. run_id), err)
  end
  if result.undelivered and result.undelivered ~= vim.NIL then
    finish(self, section, result.undelivered, prompt_id)
  elseif section then
    section:status(result.outcome, "DiagnosticError")
  end
  vim.notify(("promptkit: the coordination ended: %s"):format(result.outcome))
end

return M
