-- What tests share: a workspace of scripted answers, a user who answers as told, and bounded waits.
local M = {}

local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
M.checkout = assert(vim.uv.fs_realpath(here .. "/../../.."))
M.python = assert(vim.env.PROMPTKIT_PYTHON, "PROMPTKIT_PYTHON is not set")
M.server = {
  cmd = { M.python, "-m", "promptkit_rpc", "serve" },
  cmd_env = { PYTHONPATH = M.checkout },
}

local FILES = {
  ["promptkit.yaml"] = [[
version: 1
backends:
  demo: {kind: scripted, replies: replies.yaml, capacity: 1}
  host: {kind: client, capacity: 1, retry: {attempts: 2, baseDelay: 0.001, maxDelay: 0.01}}
  keyed:
    kind: openai
    baseUrl: http://127.0.0.1:9/v1
    credential: {client: vault}
    retry: {attempts: 1}
profiles:
  demo: {backend: demo, model: scripted}
  host: {backend: host, model: any}
  keyed: {backend: keyed, model: any}
]],
  ["replies.yaml"] = [[
- match: {promptId: study}
  content: "A bridge with rust.\nIt is old."
  usage: {inputTokens: 61, outputTokens: 9}
- match: {contains: worst}
  content: The lower pins.
- match: {contains: first}
  content: A load test.
- match: {promptId: draft}
  json: {n: 1}
]],
  ["prompts/study.prompt.yaml"] = [[
description: Says what a report is about
profile: demo
variables: {case: {type: string, description: Name of a report}}
messages:
  - {role: system, content: Be brief., cache: {type: ephemeral}}
  - {role: user, content: "About {{ case }}?"}
]],
  ["prompts/deep/question.prompt.yaml"] = [[
profile: demo
variables: {question: {type: string}}
messages: [{role: user, content: "{{ question }}"}]
]],
  ["prompts/typed.prompt.yaml"] = [[
profile: demo
variables:
  count: {type: integer}
  loud: {type: boolean}
  tone: {enum: [kind, stern]}
  tags: {type: array}
  depth: {type: integer, default: 2}
messages: [{role: user, content: "{{ count + 1 }} {{ loud }} {{ tone }} {{ tags[0] }} {{ depth }}"}]
]],
  ["prompts/draft.prompt.yaml"] = [[
profile: demo
messages: [{role: user, content: Draft it.}]
output: {format: schema, schema: {type: object, required: [text]}}
]],
  ["prompts/live.prompt.yaml"] = [[
profile: host
messages: [{role: user, content: Live.}]
]],
  ["prompts/locked.prompt.yaml"] = [[
profile: keyed
messages: [{role: user, content: Locked.}]
]],
  ["prompts/bare.prompt.yaml"] = [[
profile: demo
messages: [{role: user, content: "Hi {{ name }}"}]
]],
}

local real = { select = vim.ui.select, input = vim.ui.input, notify = vim.notify }

--- Waits for what must happen soon.
function M.wait(condition, what)
  local value
  local happened = vim.wait(10000, function()
    value = condition()
    return value and true or false
  end, 5)
  what = type(what) == "function" and what() or what
  assert(happened, "it did not happen: " .. what .. "\nmessages: " .. vim.inspect(M.messages))
  return value
end

function M.equal(actual, expected)
  if not vim.deep_equal(actual, expected) then
    error(("expected %s\ngot %s"):format(vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

function M.contains(text, part)
  if not text:find(part, 1, true) then
    error(("expected %q in:\n%s"):format(part, text), 2)
  end
end

--- A folder with definitions.
function M.workspace()
  local root = vim.fn.tempname()
  vim.fn.mkdir(root)
  root = assert(vim.uv.fs_realpath(root))
  for name, content in pairs(FILES) do
    vim.fn.mkdir(vim.fs.dirname(root .. "/" .. name), "p")
    vim.fn.writefile(vim.split(content, "\n"), root .. "/" .. name)
  end
  return root
end

--- A user. `questions` are what was asked; answers are given in order, `false` dismisses.
function M.user(answers)
  local user = { questions = {}, messages = {}, answers = answers or {} }
  M.messages = user.messages
  local function answer(prompt)
    table.insert(user.questions, prompt)
    assert(#user.answers > 0, "nobody answers: " .. prompt)
    return table.remove(user.answers, 1)
  end
  vim.ui.input = function(options, done)
    local given = answer(options.prompt)
    vim.schedule(function()
      done(given == true and options.default or given or nil)
    end)
  end
  vim.ui.select = function(items, options, done)
    local given = answer(options.prompt)
    local format = options.format_item or tostring
    for index, item in ipairs(items) do
      if given and vim.startswith(format(item), given) then
        return done(item, index)
      end
    end
    assert(not given, ("no choice %q for %q"):format(tostring(given), options.prompt))
    done(nil, nil)
  end
  vim.notify = function(message)
    table.insert(user.messages, message)
  end
  function user.told(part)
    M.wait(function()
      return table.concat(user.messages, "\n"):find(part, 1, true)
    end, ("%q is told"):format(part))
  end
  return user
end

--- Sets up the plugin in a workspace of its own.
function M.open(settings)
  local root = M.workspace()
  vim.cmd.cd(root)
  require("promptkit").setup(vim.tbl_extend("force", M.server, settings or {}))
  return root
end

--- The text of a buffer of the plugin, "" if there is none.
function M.text(name)
  local buffer = vim.fn.bufnr(name or "promptkit://answers")
  return buffer == -1 and "" or table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
end

--- What stands beside the last heading of the answers.
function M.status()
  local buffer = vim.fn.bufnr("promptkit://answers")
  local space = vim.api.nvim_get_namespaces().promptkit
  local last = ""
  if buffer == -1 then
    return last
  end
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
    if mark[4].virt_text then
      last = mark[4].virt_text[1][1]
    end
  end
  return last
end

function M.shown(part, name)
  M.wait(function()
    return M.text(name):find(part, 1, true)
  end, function()
    return ("%q in:\n%s"):format(part, M.text(name))
  end)
end

function M.settled(part)
  M.wait(function()
    return M.status():find(part, 1, true)
  end, function()
    return ("%q beside the heading, not %q"):format(part, M.status())
  end)
end

--- A task's gate, and whether somebody waits at it.
function M.gate()
  local gate = {}
  function gate.pass()
    return require("promptkit.task").await(function(open)
      gate.open = open
    end)
  end
  function gate.reached()
    return M.wait(function()
      return gate.open
    end, "the gate is reached")
  end
  return gate
end

--- Ends every server and closes every buffer; the next test starts as the first one did.
function M.reset()
  for _, client in ipairs(vim.lsp.get_clients()) do
    require("promptkit.server").stop(client)
  end
  M.wait(function()
    return #vim.lsp.get_clients() == 0
  end, "all servers end")
  vim.cmd("silent! %bwipeout!")
  vim.ui.select, vim.ui.input, vim.notify = real.select, real.input, real.notify
end

return M
