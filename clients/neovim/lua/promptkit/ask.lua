--- Questions to the user, through vim.ui. All of it runs inside a task; nil means dismissed.
local task = require("promptkit.task")

local M = {}

--- @return any
function M.select(items, prompt, format_item)
  return task.await(function(answer)
    vim.ui.select(items, { prompt = prompt, kind = "promptkit", format_item = format_item }, answer)
  end)
end

--- @return string?
function M.input(prompt, default)
  return task.await(function(answer)
    vim.ui.input({ prompt = prompt .. ": ", default = default }, answer)
  end)
end

local function described(item)
  local description = item.description
  return type(description) == "string" and ("%s  (%s)"):format(item.name, description) or item.name
end

--- One of named and described items, such as prompts.
--- @return table?
function M.item(items, prompt)
  return M.select(items, prompt, described)
end

local function present(value)
  return value ~= nil and value ~= vim.NIL
end

local function schema_of(variable)
  return type(variable.schema) == "table" and variable.schema or {}
end

--- The value that a text stands for, or nil and why there is none.
local function parse(text, schema)
  if schema.type == "string" or schema.type == nil then
    return text
  end
  local ok, value = pcall(vim.json.decode, text)
  if not ok then
    return nil, ("%s is expected, as JSON"):format(vim.inspect(schema.type))
  end
  return value
end

local function label(variable)
  local schema = schema_of(variable)
  local about = {}
  for _, word in ipairs({ schema.description or false, schema.type or false }) do
    if type(word) == "string" and word ~= "string" then
      table.insert(about, word)
    end
  end
  local name = variable.name
  return #about == 0 and name or ("%s (%s)"):format(name, table.concat(about, ", "))
end

local function choose(variable, options)
  local items = {}
  for _, value in ipairs(options) do
    table.insert(items, { value = value })
  end
  local chosen = M.select(items, label(variable), function(item)
    return type(item.value) == "string" and item.value or vim.json.encode(item.value)
  end)
  if chosen then
    return chosen.value
  end
end

local function enter(variable)
  local schema = schema_of(variable)
  local default = ""
  if present(variable.default) then
    default = type(variable.default) == "string" and variable.default
      or vim.json.encode(variable.default)
  end
  while true do
    local text = M.input(label(variable), default)
    if not text then
      return nil
    elseif not variable.required and text == default then
      return vim.NIL -- left to the prompt
    end
    local value, why = parse(text, schema)
    if value ~= nil then
      return value
    end
    vim.notify(("promptkit: %s: %s"):format(variable.name, why), vim.log.levels.WARN)
  end
end

--- Asks for each declared variable that is not given, and returns all of them.
--- @param variables table[] As `promptkit/prompt/inspect` answers.
--- @param given table<string, any>
--- @return table<string, any>?
function M.variables(variables, given)
  local values = vim.tbl_extend("force", vim.empty_dict(), given)
  for _, variable in ipairs(variables) do
    if values[variable.name] == nil then
      local schema = schema_of(variable)
      local options = schema.enum or (schema.type == "boolean" and { true, false })
      local value
      if options then
        value = choose(variable, options)
      else
        value = enter(variable)
      end
      if value == nil then
        return nil
      elseif value ~= vim.NIL then
        values[variable.name] = value
      end
    end
  end
  return values
end

return M
