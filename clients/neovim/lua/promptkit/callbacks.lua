--- What the server asks and tells: LSP handlers for its requests and notifications.
--- A handler's error must have a code that Neovim knows, and it must not return nil.
local calls = require("promptkit.calls")
local settings = require("promptkit.settings")

local M = {}

--- Generations that are being answered, by run: what to call when nobody waits for them any more.
local generating = {} --- @type table<string, { attempt: integer, cancel: fun()? }>

--- An error as Neovim lets it be sent; 0.10 does not know RequestFailed.
local function sendable(err)
  if type(err) ~= "table" then
    err = { message = tostring(err) }
  end
  local known = vim.lsp.protocol.ErrorCodes
  local code = known[err.code] and err.code
    or known[calls.FAILED] and calls.FAILED
    or known.InternalError
  return { code = code, message = err.message or "failed", data = err.data }
end

local function next_action(_, turn)
  local call = calls.of(turn.coordinationId)
  if not call or not call.options.next then
    return nil, sendable("no such coordination is under way here")
  end
  local action, err = call.options.next(turn)
  if err then
    return nil, sendable(err)
  end
  if action == nil then
    -- Nobody chose anything, so nothing is assumed: the coordination is cancelled.
    call:cancel()
    return nil, calls.cancelled()
  end
  return action
end

local function stop_generating(run_id, attempt)
  local open = generating[run_id]
  if open and open.attempt <= attempt then
    generating[run_id] = nil
    if open.cancel then
      open.cancel()
    end
  end
end

local function generate(_, params, context)
  local answer = settings.get().generate
  if not answer then
    local data = { reason = "badRequest", retryable = false }
    return nil, sendable({ message = "no model here: set `generate`", data = data })
  end
  stop_generating(params.runId, params.attempt - 1)
  local open = { attempt = params.attempt }
  generating[params.runId] = open
  local client = vim.lsp.get_client_by_id(context.client_id)
  local result, err = answer(params, {
    piece = function(text)
      if params.partialResultToken and generating[params.runId] == open then
        local piece = { token = params.partialResultToken, value = { text = text } }
        client.rpc.notify("$/progress", piece)
      end
    end,
    on_cancel = function(cancel)
      open.cancel = cancel
    end,
  })
  if generating[params.runId] == open then
    generating[params.runId] = nil
  end
  if err or result == nil then
    return nil, sendable(err or "the model gave no answer")
  end
  return result
end

local function credential(_, params)
  local supply = settings.get().credential
  local key
  if supply then
    key = supply(params.name)
  else
    key = vim.fn.inputsecret(("PromptKit key %q: "):format(params.name))
    key = key ~= "" and key or nil
  end
  return key and { credential = key } or vim.empty_dict()
end

local function observation(_, params)
  local event = params.event
  if event.kind == "attemptFinished" then
    stop_generating(params.runId, event.attempt)
  end
  local call = calls.of(params.token)
  if call and call.options.on_event then
    call.options.on_event(event, params.runId, params.seq)
  end
end

local function progress(err, params, context)
  local call, value = calls.of(params.token), params.value
  local options = call and call.options or {}
  if call and params.token == call.params.partialResultToken then
    if not value.reset then
      options.on_text(value.text, value.attempt)
    elseif options.on_reset then
      options.on_reset(value.attempt)
    end
    return
  end
  if call and options.on_progress then
    options.on_progress(value)
  end
  vim.lsp.handlers["$/progress"](err, params, context)
end

--- By method, for the client's configuration.
function M.handlers()
  return {
    ["promptkit/coordinator/next"] = next_action,
    ["promptkit/backend/generate"] = generate,
    ["promptkit/credential/get"] = credential,
    ["promptkit/observation"] = observation,
    ["$/progress"] = progress,
    -- Cancels of what is open here name ids that handlers never see; see stop_generating.
    ["$/cancelRequest"] = function() end,
  }
end

return M
