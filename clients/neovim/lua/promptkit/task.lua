--- Straight code over callbacks: a task is a coroutine that waits for answers.
local M = {}

local function resume(task, ...)
  local ok, err = coroutine.resume(task, ...)
  if not ok then
    vim.notify(debug.traceback(task, err), vim.log.levels.ERROR)
  end
end

--- Starts a task.
function M.run(body, ...)
  resume(coroutine.create(body), ...)
end

--- Inside a task: calls `start` with a function that takes the answer, and waits for it.
--- Only the first answer counts.
function M.await(start)
  local task = assert(coroutine.running(), "await outside of a task")
  local answer, waiting
  start(function(...)
    if answer then
      return
    end
    answer = vim.F.pack_len(...)
    if waiting then
      resume(task)
    end
  end)
  if not answer then
    waiting = true
    coroutine.yield()
  end
  return vim.F.unpack_len(answer)
end

return M
