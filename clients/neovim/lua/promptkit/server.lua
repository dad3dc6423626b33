--- The server as a client of Neovim's own LSP: how it is configured, started, found and restarted.
local settings = require("promptkit.settings")

local M = {}

local NAME = "promptkit"
local MARKER = "promptkit.yaml"
local PATIENCE = 15000 -- milliseconds until `initialize` must be answered

local function chosen_root(buffer)
  local given = settings.get().root_dir
  if type(given) == "function" then
    given = given(buffer)
  end
  given = given or vim.b[buffer].promptkit_root
  return given and vim.fs.normalize(vim.fn.fnamemodify(given, ":p")) or nil
end

--- The workspace of a buffer: as set, else the nearest folder with promptkit.yaml above it or
--- above the working directory, else the working directory.
--- @param buffer integer?
function M.root(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  return chosen_root(buffer)
    or vim.fs.root(buffer, MARKER)
    or vim.fs.root(vim.fn.getcwd(), MARKER)
    or vim.fn.getcwd()
end

--- For |vim.lsp.start()| and |vim.lsp.config()|.
function M.config()
  local set = settings.get()
  return {
    cmd = set.cmd,
    cmd_env = set.cmd_env,
    filetypes = { "yaml" },
    root_dir = function(buffer, on_dir)
      local root = chosen_root(buffer) or vim.fs.root(buffer, MARKER)
      if root then
        on_dir(root)
      end
    end,
    init_options = { promptkit = { protocolVersions = { 1 }, config = set.config } },
    handlers = require("promptkit.callbacks").handlers(),
    on_exit = function(_, _, id)
      vim.schedule(function()
        require("promptkit.calls").ended(id)
      end)
    end,
  }
end

--- Ends a client's server in good order. In Neovim 0.10 these functions take no self.
function M.stop(client)
  if vim.fn.has("nvim-0.11") == 1 then
    client:stop()
  else
    client.stop()
  end
end

--- The running client of a workspace, if there is one.
--- @return vim.lsp.Client?
function M.running(root)
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME })) do
    if client.config.root_dir == root and not client:is_stopped() then
      return client
    end
  end
end

local function launch(root)
  -- What the user has set by vim.lsp.config() counts here too.
  local config = vim.lsp.config and vim.lsp.config[NAME] or M.config()
  config = vim.tbl_extend("force", config, { name = NAME, root_dir = root })
  if type(config.cmd) == "table" and vim.fn.executable(config.cmd[1]) == 0 then
    return nil, ("%s cannot be run; see :checkhealth promptkit"):format(config.cmd[1])
  end
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.lsp.start(config, { attach = false })
  end
  return vim.lsp.start_client(config)
end

local function await_initialized(id, done)
  local deadline = vim.uv.now() + PATIENCE
  local function look()
    local client = vim.lsp.get_client_by_id(id)
    if not client or client:is_stopped() then
      done("the server ended at once; see :checkhealth promptkit and :LspLog")
    elseif client.initialized then
      done(nil, client)
    elseif vim.uv.now() > deadline then
      client.rpc.terminate()
      done("the server did not answer `initialize`")
    else
      vim.defer_fn(look, 10)
    end
  end
  look()
end

--- Hands over the workspace's client, started and initialized.
--- @param done fun(err: string?, client: vim.lsp.Client?)
--- @param root string?
function M.connect(done, root)
  root = root or M.root()
  local running = M.running(root)
  local id, err
  if running then
    id = running.id
  else
    id, err = launch(root)
  end
  if not id then
    return done(err or "the server could not be started; see :checkhealth promptkit")
  end
  await_initialized(id, done)
end

--- Stops the workspace's client, if any runs, and starts a new one for the same buffers.
--- @param done fun(err: string?, client: vim.lsp.Client?)
function M.restart(done)
  local root = M.root()
  local old = M.running(root)
  local buffers = old and vim.tbl_keys(old.attached_buffers) or {}
  if old then
    M.stop(old)
  end
  local deadline = vim.uv.now() + 5000
  local function start()
    if old and vim.lsp.get_client_by_id(old.id) then
      if vim.uv.now() > deadline then
        old.rpc.terminate() -- a second stop() does nothing
      end
      return vim.defer_fn(start, 20)
    end
    M.connect(function(err, client)
      for _, buffer in ipairs(client and buffers or {}) do
        if vim.api.nvim_buf_is_loaded(buffer) then
          vim.lsp.buf_attach_client(buffer, client.id)
        end
      end
      done(err, client)
    end, root)
  end
  start()
end

return M
