-- :PromptKit coordinate against the real server.
local h = require("harness")

local function promptkit(line)
  vim.cmd("PromptKit " .. line)
end

local function captured()
  promptkit("run study case=bridge")
  h.settled("tokens")
end

return {
  {
    "coordinate asks for every next action and delivers every answer, at capacity 1",
    function()
      h.open()
      local user = h.user()
      captured()
      user.answers = { "deep/question", "What is the worst?" }
      vim.list_extend(user.answers, { "deep/question", "What comes first?", "Stop" })
      promptkit("coordinate 2")
      user.told("the coordination ended: stopped")
      h.contains(h.text(), "The lower pins.")
      h.contains(h.text(), "A load test.")
      h.contains(user.questions[1], "turns left: 2")
      h.contains(user.questions[5], "turns left: 0")
      promptkit("usage")
      h.shown("runs: 3", "promptkit://usage")
    end,
  },
  {
    "asking for more than the budget ends a coordination as exhausted",
    function()
      h.open()
      local user = h.user()
      captured()
      user.answers = { "deep/question", "What is the worst?" }
      promptkit("coordinate 0")
      user.told("the coordination ended: exhausted")
    end,
  },
  {
    "a dismissed choice cancels the coordination",
    function()
      h.open()
      local user = h.user()
      captured()
      user.answers = { false }
      promptkit("coordinate")
      user.told("the coordination ended: cancelled")
    end,
  },
  {
    "an answer that a cancel kept from being delivered is shown",
    function()
      h.open({
        generate = function()
          vim.schedule(function()
            promptkit("cancel")
          end)
          return { content = "Paid for." }
        end,
      })
      local user = h.user()
      captured()
      user.answers = { "live" }
      promptkit("coordinate 2")
      user.told("the coordination ended: cancelled")
      h.contains(h.text(), "Paid for.")
    end,
  },
  {
    "an error of a turn ends the coordination and is told",
    function()
      h.open()
      local user = h.user()
      captured()
      user.answers = { "live" }
      promptkit("coordinate")
      user.told("no model here: set `generate`")
    end,
  },
  {
    "a choice that comes after the end changes nothing",
    function()
      h.open()
      local user = h.user()
      captured()
      local chosen
      vim.ui.select = function(items, _, done)
        chosen = function()
          done(items[1])
        end
      end
      promptkit("coordinate")
      h.wait(function()
        return chosen
      end, "the question")
      promptkit("cancel")
      user.told("the coordination ended: cancelled")
      local before = h.text()
      chosen()
      user.told("has ended already")
      h.equal(h.text(), before)
    end,
  },
}
