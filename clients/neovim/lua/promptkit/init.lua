--- The public face: setup, and calls for other plugins. See |promptkit|.
local M = {}

if vim.fn.has("nvim-0.10") == 0 then
  M.setup = function()
    vim.notify("PromptKit needs Neovim 0.10 or newer", vim.log.levels.ERROR)
  end
  return M
end

--- Sets what differs from the defaults; see |promptkit-settings|.
--- @param settings table?
function M.setup(settings)
  require("promptkit.settings").set(settings or {})
  if package.loaded["vim.lsp"] and vim.lsp.config then
    vim.lsp.config("promptkit", {}) -- so that it is resolved anew
  end
end

--- Calls a method of the server, which is started if need be; see |promptkit.call()|.
--- @param method string
--- @param params table?
--- @param options promptkit.CallOptions?
--- @param done fun(err: table?, result: any)
--- @return { cancel: fun() } #Cancels it, whether it is sent yet or not.
function M.call(method, params, options, done)
  local handle, call, cancelled = {}, nil, false
  function handle.cancel()
    cancelled = true
    if call then
      call:cancel()
    end
  end
  require("promptkit.server").connect(function(err, client)
    local calls = require("promptkit.calls")
    if cancelled or not client then
      return done(cancelled and calls.cancelled() or { code = calls.FAILED, message = err }, nil)
    end
    call = calls.start(client, method, params, options or {}, done)
  end)
  return handle
end

return M
