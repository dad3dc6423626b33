--- What the user has set. Knows nothing of the server.
local M = {}

--- @class promptkit.Settings
local defaults = {
  --- How the server is started.
  cmd = { "promptkit-rpc", "serve" },
  --- Environment variables for it.
  cmd_env = nil, --- @type table<string, string>?
  --- The workspace: a folder, or a function of a buffer. Else where promptkit.yaml is, above it.
  root_dir = nil, --- @type string|(fun(buffer: integer): string?)|nil
  --- The settings file, if it is not promptkit.yaml.
  config = nil, --- @type string?
  --- Whether runs keep their exchange, so that they can be continued.
  capture = true,
  --- How many turns a coordination may take, where none are given.
  turns = 3,
  --- The command that opens a window for answers.
  open = "botright split",
  --- Answers for backends of kind `client`; see |promptkit-generate|.
  generate = nil, --- @type (fun(params: table, context: table): table?, table?)|nil
  --- Supplies keys of `credential: {client: name}`; else you are asked.
  credential = nil, --- @type (fun(name: string): string?)|nil
}

local types = {
  cmd = "table",
  cmd_env = "table",
  root_dir = { "string", "function" },
  config = "string",
  capture = "boolean",
  turns = "number",
  open = "string",
  generate = "function",
  credential = "function",
}

local current = defaults

--- @return promptkit.Settings
function M.get()
  return current
end

--- Replaces all settings; an unknown name or a wrong type is an error.
--- @param given table
function M.set(given)
  for name, value in pairs(given) do
    local expected = types[name]
    if not expected then
      local names = vim.tbl_keys(types)
      table.sort(names)
      error(("promptkit: no setting %q; known: %s"):format(name, table.concat(names, ", ")), 0)
    end
    if not vim.list_contains(vim.islist(expected) and expected or { expected }, type(value)) then
      local wanted = type(expected) == "table" and table.concat(expected, " or ") or expected
      error(("promptkit: setting %q must be a %s"):format(name, wanted), 0)
    end
  end
  current = vim.tbl_extend("force", defaults, given)
end

return M
