--- :PromptKit, its subcommands and their completion.
local answers = require("promptkit.answers")
local ask = require("promptkit.ask")
local calls = require("promptkit.calls")
local server = require("promptkit.server")
local sessions = require("promptkit.session")
local settings = require("promptkit.settings")
local task = require("promptkit.task")
local text = require("promptkit.text")

local M = {}

--- Splits words into plain ones and variables: NAME=TEXT, or NAME:=JSON. Words after a variable
--- that are no variable themselves belong to its text.
--- @return string[] plain, table<string, any> variables
function M.parse(words)
  local plain, texts, order = {}, {}, {}
  for _, word in ipairs(words) do
    local name, value = word:match("^([%w_]+:?)=(.*)$")
    if name then
      texts[name] = value
      table.insert(order, name)
    elseif #order > 0 then
      local last = order[#order]
      texts[last] = texts[last] .. " " .. word
    else
      table.insert(plain, word)
    end
  end
  local variables = {}
  for name, value in pairs(texts) do
    if name:sub(-1) == ":" then
      local ok, decoded = pcall(vim.json.decode, value)
      if not ok then
        error(("%s=%s is no JSON"):format(name, value), 0)
      end
      name, value = name:sub(1, -2), decoded
    end
    variables[name] = value
  end
  return plain, variables
end

local function choose_prompt(session, given)
  if given then
    return given
  end
  local items = session:prompts()
  local chosen = items and ask.item(items, "Prompt")
  return chosen and chosen.name
end

local function after(run_id, parent)
  return parent and parent ~= vim.NIL and ("%s, after %s"):format(run_id, parent) or run_id
end

local function exchange_label(exchange)
  return ("%s  (%s)"):format(after(exchange.runId, exchange.parentRunId), exchange.promptId)
end

local function choose_exchange(session)
  if #session.exchanges == 0 then
    sessions.complain("no exchange is held yet; :PromptKit run makes one")
    return nil
  end
  local newest_first = vim.iter(session.exchanges):rev():totable()
  local chosen = ask.select(newest_first, "Exchange", exchange_label)
  return chosen and chosen.runId
end

local function latest(session)
  local exchange = session.exchanges[#session.exchanges]
  if not exchange then
    sessions.complain("no exchange is held yet; :PromptKit run makes one")
  end
  return exchange and exchange.runId
end

local function start_run(session, given_prompt, variables, from)
  local prompt_id = choose_prompt(session, given_prompt)
  local request = prompt_id and session:request(prompt_id, variables)
  if request then
    request.continueFrom = from
    session:run("promptkit/run", request, prompt_id)
  end
end

local function details(session, run_id)
  local messages = {}
  local parent, cursor
  repeat
    local page = session:ask("promptkit/exchange/details", {
      runId = run_id,
      cursor = cursor,
      maxBytes = 1048576,
    })
    if not page then
      return
    end
    vim.list_extend(messages, page.messages)
    parent, cursor = page.parentRunId, page.nextCursor
  until not cursor or cursor == vim.NIL
  local title = "# Exchange " .. after(run_id, parent)
  answers.page("promptkit://exchange/" .. run_id, title .. "\n\n" .. text.messages(messages))
end

local function preview(session, given_prompt, variables)
  local prompt_id = choose_prompt(session, given_prompt)
  local request = prompt_id and session:request(prompt_id, variables)
  local group = request and session:collector()
  if not group then
    return
  end
  request.groups, request.capture = { group }, settings.get().capture
  local prepared = session:ask("promptkit/prepare", request)
  if not prepared then
    return
  end
  answers.page("promptkit://preview", text.prepared(prepared.details))
  local handle = { preparedId = prepared.preparedId }
  if ask.select({ "Send", "Discard" }, "Send this?") == "Send" then
    session:run("promptkit/prepared/execute", handle, prompt_id)
  else
    session:ask("promptkit/prepared/discard", handle)
  end
end

local function call_label(call)
  return call.params.promptId or call.method:gsub("^promptkit/", "")
end

local function cancel()
  local cancellable = vim.tbl_filter(function(call)
    return vim.startswith(call.method, "promptkit/")
  end, calls.pending())
  if #cancellable == 0 then
    return vim.notify("promptkit: nothing is running")
  end
  local chosen = #cancellable == 1 and cancellable[1]
    or ask.select(cancellable, "Cancel", call_label)
  if chosen then
    chosen:cancel()
  end
end

--- By name: what it does, and what its words are completed with.
local subcommands = {
  run = {
    complete = "prompt",
    start = function(session, words, variables)
      start_run(session, words[1], variables)
    end,
  },
  continue = {
    complete = "prompt",
    start = function(session, words, variables)
      local from = latest(session)
      if from then
        start_run(session, words[1], variables, from)
      end
    end,
  },
  branch = {
    complete = "exchange",
    start = function(session, words, variables)
      local from = words[1] or choose_exchange(session)
      if from then
        start_run(session, words[2], variables, from)
      end
    end,
  },
  coordinate = {
    complete = "turns",
    start = function(session, words)
      local from = words[2] or latest(session)
      local turns = from and words[1] or settings.get().turns
      if not tostring(turns):match("^%d+$") then
        sessions.complain(("%q is no number of turns"):format(turns))
      elseif from then
        session:coordinate(from, tonumber(turns))
      end
    end,
  },
  preview = {
    complete = "prompt",
    start = function(session, words, variables)
      preview(session, words[1], variables)
    end,
  },
  details = {
    complete = "exchange",
    start = function(session, words)
      local run_id = words[1] or latest(session)
      if run_id then
        details(session, run_id)
      end
    end,
  },
  usage = {
    start = function(session)
      local group = session:collector()
      local snapshot = group and session:ask("promptkit/group/snapshot", { groupId = group })
      if snapshot then
        answers.page("promptkit://usage", text.usage(snapshot))
      end
    end,
  },
  cancel = { alone = cancel },
  restart = {
    alone = function()
      local err = task.await(server.restart)
      if err then
        return sessions.complain(err)
      end
      vim.notify("promptkit: the server was restarted; it holds no exchanges yet")
    end,
  },
}

--- Runs a subcommand, or asks for one.
--- @param words string[]
function M.run(words)
  task.run(function()
    local names = vim.tbl_keys(subcommands)
    table.sort(names)
    local name = words[1] or ask.select(names, "PromptKit")
    local subcommand = subcommands[name]
    if not subcommand then
      return name and sessions.complain(
        ("no subcommand %q; known: %s"):format(name, table.concat(names, ", "))
      )
    elseif subcommand.alone then
      return subcommand.alone()
    end
    local ok, plain, variables = pcall(M.parse, vim.list_slice(words, 2))
    if not ok then
      return sessions.complain(plain)
    end
    local session = sessions.open()
    if session then
      subcommand.start(session, plain, variables)
    end
  end)
end

local PATIENCE = 5000 -- milliseconds that completion may take; the first time, the server starts

local function prompt_names()
  local client, names = nil, {}
  server.connect(function(_, connected)
    client = connected
  end)
  vim.wait(PATIENCE, function()
    return client ~= nil
  end, 10)
  local listed = client and calls.wait(client, "promptkit/prompt/list", PATIENCE)
  for _, item in ipairs(listed and listed.items or {}) do
    table.insert(names, item.name)
  end
  return names
end

local function exchange_names()
  local session = sessions.of(server.running(server.root()))
  return vim.tbl_map(function(exchange)
    return exchange.runId
  end, session and session.exchanges or {})
end

--- Completes the last word of a command line.
--- @param line string
--- @return string[]
function M.complete(line)
  local words = vim.split(vim.trim(line), "%s+")
  local typed = line:match("%S*$")
  local position = #words - (typed == "" and 0 or 1)
  local candidates = {}
  if position == 1 then
    candidates = vim.tbl_keys(subcommands)
    table.sort(candidates)
  elseif subcommands[words[2]] then
    local kind = subcommands[words[2]].complete
    if kind == "prompt" and position == 2 or kind == "exchange" and position == 3 then
      candidates = prompt_names()
    elseif kind == "exchange" and position == 2 or kind == "turns" and position == 3 then
      candidates = exchange_names()
    end
  end
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, typed)
  end, candidates)
end

return M
