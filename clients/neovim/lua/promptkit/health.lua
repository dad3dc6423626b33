--- :checkhealth promptkit
local M = {}

local health = vim.health or require("health") -- the latter in versions that are too old
local PATIENCE = 15000 -- milliseconds

local function check_command(cmd)
  local path = vim.fn.exepath(cmd[1])
  if path == "" then
    health.error(("%s cannot be run"):format(cmd[1]), {
      "install promptkit-rpc, or set `cmd` in require('promptkit').setup{}",
    })
    return false
  end
  health.ok(("the server is started as: %s"):format(table.concat(cmd, " ")))
  return true
end

local function check_server(server)
  local failed, client
  server.connect(function(err, connected)
    failed, client = err, connected
  end)
  vim.wait(PATIENCE, function()
    return failed ~= nil or client ~= nil
  end, 20)
  if not client then
    return health.error(failed or "the server did not start", { "see :LspLog" })
  end
  local info = client.server_info or {}
  local ours = vim.tbl_get(client.server_capabilities, "experimental", "promptkit") or {}
  health.ok(("%s %s, protocol version %s"):format(
    info.name or "a server",
    info.version or "of unknown version",
    ours.protocolVersion or "unknown"
  ))
  local listed, err = require("promptkit.calls").wait(client, "promptkit/prompt/list", PATIENCE)
  if err then
    return health.error(err.message)
  end
  health.ok(("%d prompts can be used"):format(#listed.items))
end

function M.check()
  if vim.fn.has("nvim-0.10") == 0 then
    local fail = health.error or health.report_error
    return fail("PromptKit needs Neovim 0.10 or newer")
  end
  health.start("promptkit")
  local settings, server = require("promptkit.settings").get(), require("promptkit.server")
  health.ok(("Neovim %s"):format(vim.version()))
  local root = server.root()
  local config = vim.fs.joinpath(root, settings.config or "promptkit.yaml")
  if vim.uv.fs_stat(config) then
    health.ok(("the workspace is %s"):format(root))
  else
    health.warn(("%s has no %s"):format(root, vim.fs.basename(config)), {
      "open a file of a workspace, or set `root_dir`; `promptkit-rpc init DIR` makes a sample",
    })
  end
  if check_command(settings.cmd) then
    check_server(server)
  end
  if vim.lsp.is_enabled and not vim.lsp.is_enabled("promptkit") then
    health.info("vim.lsp.enable('promptkit') shows problems of definition files as you edit them")
  end
  for _, name in ipairs({ "generate", "credential" }) do
    health.info(("`%s` is %sset"):format(name, settings[name] and "" or "not "))
  end
end

return M
