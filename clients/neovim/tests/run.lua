-- nvim --clean --headless -l tests/run.lua: runs every *_spec.lua beside it.
local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(arg[0], ":p")))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
package.path = here .. "/?.lua;" .. package.path
vim.cmd.runtime("plugin/promptkit.lua")

local harness = require("harness")
local passed, failed = 0, 0

local function say(...)
  io.stdout:write("\n", string.format(...), "\n")
end

for file in vim.spairs(vim.iter(vim.fs.dir(here)):fold({}, function(files, file)
  files[file] = file:match("_spec%.lua$")
  return files
end)) do
  local name = file:gsub("%.lua$", "")
  for _, case in ipairs(require(name)) do
    local start = vim.uv.hrtime()
    local ok, err = xpcall(case[2], debug.traceback)
    local clean, mess = pcall(harness.reset)
    if vim.env.VERBOSE then
      say("%5d ms  %s", (vim.uv.hrtime() - start) / 1e6, case[1])
    end
    if ok and clean then
      passed = passed + 1
    else
      failed = failed + 1
      say("FAILED %s: %s\n%s", name, case[1], ok and mess or err)
    end
  end
end
say("Neovim: %d passed, %d failed", passed, failed)
os.exit(failed == 0 and passed > 0 and 0 or 1)
