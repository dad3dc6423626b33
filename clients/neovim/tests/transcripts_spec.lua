-- Recorded sessions, played by a server that holds the client to its part; what it says must come
-- out of the public calls unchanged.
local h = require("harness")

local folder = h.checkout .. "/schema/transcripts"
local LIFE = { "initialize", "initialized", "shutdown", "exit" }
local CANCELLED = -32800
local TOKENS = { "observe", "partialResultToken", "workDoneToken", "coordinationId" }
local PLAYER = h.checkout .. "/tests/transcripts/play.py"

local function read(file)
  local lines = {}
  for _, line in ipairs(vim.fn.readfile(folder .. "/" .. file)) do
    table.insert(lines, vim.json.decode(line, { luanil = { object = true } }))
  end
  return lines
end

local function spoken(lines, from)
  return vim
    .iter(lines)
    :filter(function(line)
      return line.from == from
    end)
    :map(function(line)
      return line.message
    end)
    :totable()
end

--- What the server tells of a request under a token, until it answers.
local function told(lines, request, token)
  local params, asked = {}, false
  for _, line in ipairs(lines) do
    local message = line.message
    asked = asked or message == request
    if asked and line.from == "server" then
      if message.id == request.id and not message.method then
        return params, message
      elseif token and message.method and message.params.token == token then
        table.insert(params, message.params)
      end
    end
  end
end

--- Neovim 0.12 has vim.NIL where earlier ones have nothing.
local function without_null(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, member in pairs(value) do
    if member ~= vim.NIL then
      copy[key] = without_null(member)
    end
  end
  return copy
end

local function values(params)
  return vim.tbl_map(function(one)
    return one.value
  end, params)
end

--- Answers the server's requests in order, with the pieces and cancels that stand around each.
local function answering(lines, cancel)
  local asked = 0
  local client_lines = spoken(lines, "client")
  local requests = vim.tbl_filter(function(message)
    return message.method and message.id
  end, spoken(lines, "server"))
  return function(_, context)
    asked = asked + 1
    local request = requests[asked]
    local answer, cancels
    for index, message in ipairs(client_lines) do
      if message.id == request.id and not message.method then
        answer = message
        cancels = (client_lines[index + 1] or {}).method == "$/cancelRequest"
      elseif
        message.method == "$/progress"
        and message.params.token == request.params.partialResultToken
      then
        context.piece(message.params.value.text)
      end
    end
    if not answer then
      cancel()
      coroutine.yield() -- for ever: nobody waits for an answer
    elseif cancels then
      vim.schedule(cancel)
    end
    return answer.result, answer.error
  end
end

--- Options that collect what a call hears, and a check of it all against the transcript.
local function listening(lines, request, answer)
  local heard = { events = {}, texts = {}, steps = {} }
  local asked = request.params
  local options = { next = answer }
  options.on_event = asked.observe
    and function(event, run_id, seq)
      table.insert(heard.events, { event = event, runId = run_id, seq = seq })
    end
  options.on_text = asked.partialResultToken
    and function(text, attempt)
      table.insert(heard.texts, { attempt = attempt, text = text })
    end
  options.on_reset = function(attempt)
    table.insert(heard.texts, { attempt = attempt, reset = true })
  end
  options.on_progress = asked.workDoneToken
    and function(value)
      table.insert(heard.steps, vim.deepcopy(value))
    end
  return options, function(err, result)
    local events, expected = told(lines, request, asked.observe)
    if expected.error and expected.error.code == CANCELLED then
      h.equal(err.code, CANCELLED) -- Neovim drops what else it says
    else
      h.equal(err and { code = err.code, message = err.message, data = err.data }, expected.error)
      h.equal(without_null(result), expected.result)
    end
    h.equal(without_null(heard), {
      events = vim.tbl_map(function(one)
        return { event = one.event, runId = one.runId, seq = one.seq }
      end, events),
      texts = values(told(lines, request, asked.partialResultToken)),
      steps = values(told(lines, request, asked.workDoneToken)),
    })
  end
end

--- Sends each request where it stands, and awaits it where its answer stands.
local function play(file)
  local lines = read(file)
  local open, done = {}, {}
  local answer = answering(lines, function()
    for _, call in pairs(open) do
      call.cancel()
    end
  end)
  local exit = vim.fn.tempname()
  h.open({
    cmd = { "sh", "-c", '"$@"; echo $? > "$0"', exit, h.python, PLAYER, folder .. "/" .. file },
    generate = answer,
  })
  for _, line in ipairs(lines) do
    local id, method = line.message.id, line.message.method
    if line.from == "client" and id and method and not vim.list_contains(LIFE, method) then
      local options, check = listening(lines, line.message, answer)
      local params = vim.deepcopy(line.message.params)
      for _, token in ipairs(TOKENS) do
        params[token] = nil
      end
      open[id] = require("promptkit").call(method, params, options, function(err, result)
        open[id] = nil
        done[id] = { pcall(check, err, result) }
      end)
    elseif line.from == "server" and open[id] and not method then
      h.wait(function()
        return done[id]
      end, "the answer to request " .. id)
    end
  end
  for _, checked in pairs(done) do
    assert(checked[1], checked[2])
  end
  h.reset()
  h.equal(vim.fn.readfile(exit), { "0" })
end

local specs = {}
for file in vim.fs.dir(folder) do
  if file:match("%.jsonl$") then
    table.insert(specs, {
      file .. " is played through the public calls",
      function()
        play(file)
      end,
    })
  end
end
assert(#specs > 0, "no transcripts in " .. folder)
return specs
