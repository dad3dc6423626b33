--- The buffer of answers: a section for each run, into which its text is streamed.
--- What a run is doing, and how it ended, stands beside its heading as virtual text.
local settings = require("promptkit.settings")

local M = {}

local NAME = "promptkit://answers"
local space = vim.api.nvim_create_namespace("promptkit")

local buffers = {} --- @type table<string, integer>

--- A buffer that is no file, by name.
local function scratch(name)
  local buffer = buffers[name]
  if not (buffer and vim.api.nvim_buf_is_valid(buffer)) then
    buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(buffer, name)
    buffers[name] = buffer
  elseif vim.api.nvim_buf_is_loaded(buffer) then
    return buffer
  end
  vim.fn.bufload(buffer)
  vim.bo[buffer].buflisted = true
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].bufhidden = "hide"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].undolevels = -1
  vim.bo[buffer].filetype = "markdown"
  vim.bo[buffer].modifiable = false
  return buffer
end

--- A window of this tab page that shows a page, which another page may have.
local function page_window()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
    if vim.startswith(name, "promptkit://") and name ~= NAME then
      return window
    end
  end
end

--- Shows a buffer in a window, without going there.
local function show(buffer, window)
  if vim.fn.bufwinid(buffer) ~= -1 then
    return
  elseif window then
    return vim.api.nvim_win_set_buf(window, buffer)
  end
  local here = vim.api.nvim_get_current_win()
  vim.cmd(settings.get().open)
  vim.api.nvim_win_set_buf(0, buffer)
  vim.wo[0].wrap = true
  vim.wo[0].linebreak = true
  vim.api.nvim_set_current_win(here)
end

--- Replaces a buffer's text, and shows it.
function M.page(name, text)
  local buffer = scratch(name)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, "\n", { plain = true }))
  vim.bo[buffer].modifiable = false
  show(buffer, page_window())
end

--- @class promptkit.Section
--- @field buffer integer
--- @field private heading integer
--- @field private first integer
--- @field private last integer
local Section = {}
Section.__index = Section

local function mark(buffer, row, column, options)
  return vim.api.nvim_buf_set_extmark(buffer, space, row, column, options or {})
end

--- @private
function Section:position(id)
  if not vim.api.nvim_buf_is_loaded(self.buffer) then
    return nil
  end
  local place = vim.api.nvim_buf_get_extmark_by_id(self.buffer, space, id, {})
  return place[1], place[2]
end

--- Windows whose cursor stands in the last line follow what is added.
local function following(buffer, change)
  local windows = {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] >= vim.api.nvim_buf_line_count(buffer) then
      table.insert(windows, window)
    end
  end
  vim.bo[buffer].modifiable = true
  change()
  vim.bo[buffer].modifiable = false
  for _, window in ipairs(windows) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
end

--- Adds a section at the end and shows the buffer.
--- @param title string
--- @param root string The workspace, for commands that are given in the buffer.
--- @return promptkit.Section
function M.section(title, root)
  local buffer = scratch(NAME)
  vim.b[buffer].promptkit_root = root
  show(buffer)
  local lines = { "# " .. title, "", "" }
  local row = vim.api.nvim_buf_line_count(buffer)
  if row == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == "" then
    row = 0
  else
    table.insert(lines, 1, "")
  end
  following(buffer, function()
    vim.api.nvim_buf_set_lines(buffer, row, -1, false, lines)
  end)
  local body = vim.api.nvim_buf_line_count(buffer) - 1
  return setmetatable({
    buffer = buffer,
    heading = mark(buffer, body - 2, 0),
    first = mark(buffer, body, 0, { right_gravity = false }),
    last = mark(buffer, body, 0),
  }, Section)
end

local function replace(self, from, text)
  local row, column = self:position(from)
  if not row then
    return -- the buffer was closed
  end
  local end_row, end_column = self:position(self.last)
  local lines = vim.split(text, "\n", { plain = true })
  following(self.buffer, function()
    vim.api.nvim_buf_set_text(self.buffer, row, column, end_row, end_column, lines)
  end)
end

--- Adds to the section's text.
function Section:append(text)
  replace(self, self.last, text)
end

--- Replaces the section's text.
function Section:set(text)
  replace(self, self.first, text)
end

--- Says beside the heading what is going on.
function Section:status(text, group)
  local row = self:position(self.heading)
  if row then
    local options = { id = self.heading, virt_text = { { " " .. text, group or "Comment" } } }
    mark(self.buffer, row, 0, options)
  end
end

return M
