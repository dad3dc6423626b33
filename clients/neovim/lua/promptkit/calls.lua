--- Requests in flight: their tokens, what is streamed under them, cancelling, and their end.
--- They are sent by the client's `rpc` object, which is the same in every version of Neovim.
local M = {}

M.FAILED = -32803
M.CANCELLED = -32800

--- @class promptkit.CallOptions
--- @field on_text? fun(text: string, attempt: integer) The next piece of the answer.
--- @field on_reset? fun(attempt: integer) All pieces of this attempt are void.
--- @field on_event? fun(event: table, run_id: string, seq: integer) An observation of a run.
--- @field on_progress? fun(value: table) What is being done, for people.
--- @field next? fun(turn: table): table?, table? The next action of a coordination, or an error.

--- @class promptkit.Call
--- @field client vim.lsp.Client
--- @field method string
--- @field params table
--- @field options promptkit.CallOptions
--- @field done fun(err: table?, result: any)
--- @field id integer?
--- @field private tokens table<string, string>
local Call = {}
Call.__index = Call

local pending = {} --- @type promptkit.Call[]
local by_token = {} --- @type table<string, promptkit.Call>
local count = 0

function M.cancelled()
  return { code = M.CANCELLED, message = "cancelled", data = { kind = "cancelled" } }
end

local function tokens(method, options)
  count = count + 1
  return {
    partialResultToken = options.on_text and "text-" .. count or nil,
    observe = options.on_event and "events-" .. count or nil,
    workDoneToken = options.on_progress and "work-" .. count or nil,
    coordinationId = method == "promptkit/coordinate" and "branch-" .. count or nil,
  }
end

--- Sends a request; `done` is called once, whatever happens.
--- @return promptkit.Call
function M.start(client, method, params, options, done)
  local call = setmetatable({
    client = client,
    method = method,
    options = options,
    done = done,
    tokens = tokens(method, options),
  }, Call)
  params = vim.tbl_extend("force", params or {}, call.tokens)
  call.params = next(params) and params or vim.empty_dict()
  table.insert(pending, call)
  for _, token in pairs(call.tokens) do
    by_token[token] = call
  end
  local sent, id = client.rpc.request(method, call.params, function(err, result)
    call:settle(err, result)
  end, function()
    -- It is answered. Neovim drops an answer that says "cancelled"; any other is next in line.
    vim.schedule(function()
      call:settle(M.cancelled())
    end)
  end)
  call.id = id
  if not sent then
    call:settle({ code = M.FAILED, message = "the server has ended" })
  end
  return call
end

--- @private
function Call:settle(err, result)
  if self.settled then
    return
  end
  self.settled = true
  for _, token in pairs(self.tokens) do
    by_token[token] = nil
  end
  for index, call in ipairs(pending) do
    if call == self then
      table.remove(pending, index)
    end
  end
  self.done(err, result)
end

--- Asks the server to cancel it; `done` is called when it has.
function Call:cancel()
  if self.id and not self.settled then
    self.client.rpc.notify("$/cancelRequest", { id = self.id })
  end
end

--- Sends a request and waits for the answer, so long. Only for what cannot be a task.
--- @param patience integer Milliseconds.
--- @return any result, table? err
function M.wait(client, method, patience)
  local answer
  local call = M.start(client, method, {}, {}, function(err, result)
    answer = { err = err, result = result }
  end)
  vim.wait(patience, function()
    return answer ~= nil
  end, 10)
  if not answer then
    call:cancel()
    return nil, { code = M.FAILED, message = "the server does not answer" }
  end
  return answer.result, answer.err
end

--- All that are in flight, oldest first.
--- @return promptkit.Call[]
function M.pending()
  return vim.list_slice(pending)
end

--- The call that a token or coordination id belongs to.
--- @return promptkit.Call?
function M.of(token)
  return by_token[token]
end

--- A server has ended: its calls get no answer any more.
function M.ended(client_id)
  for _, call in ipairs(M.pending()) do
    if call.client.id == client_id then
      call:settle({ code = M.FAILED, message = "the server has ended" })
    end
  end
end

return M
