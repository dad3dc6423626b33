-- :PromptKit against the real server.
local h = require("harness")

local function promptkit(line)
  vim.cmd("PromptKit " .. line)
end

--- Runs a prompt to its end and returns the run id.
local function captured()
  promptkit("run study case=bridge")
  h.settled("tokens")
  return h.status():match("run%-%w+")
end

return {
  {
    "run asks for what the prompt declares and shows the answer",
    function()
      h.open()
      local user = h.user({ "study", "bridge" })
      promptkit("run")
      h.settled("70 tokens")
      h.equal(user.questions, { "Prompt", "case (Name of a report): " })
      h.equal(h.text(), "# study\n\nA bridge with rust.\nIt is old.")
    end,
  },
  {
    "variables are taken from the command line, with their spaces",
    function()
      h.open()
      h.user()
      promptkit("run deep/question question=What is the worst?")
      h.shown("The lower pins.")
    end,
  },
  {
    "variables are asked for by type, again if wrong, and defaults are left to the prompt",
    function()
      h.open()
      local user = h.user({ "many", "3", "true", "stern", '["a"]', true })
      promptkit("run typed")
      h.shown("4 True stern a 2")
      h.equal(user.questions[1], "count (integer): ")
      h.equal(user.questions[2], "count (integer): ")
      h.equal(user.questions[6], "depth (integer): ")
      user.told("count: ")
      promptkit([[run typed count:=1 loud:=false tone=kind tags:=["b"] depth:=7]])
      h.shown("2 False kind b 7")
    end,
  },
  {
    "a dismissed question starts nothing",
    function()
      h.open()
      local user = h.user({ false })
      promptkit("run study")
      h.wait(function()
        return #user.questions == 1
      end, "the question")
      promptkit("cancel")
      user.told("nothing is running")
      h.equal(h.text(), "")
    end,
  },
  {
    "text is streamed, and taken back when an attempt is abandoned",
    function()
      local gate = h.gate()
      h.open({
        generate = function(params, context)
          if params.attempt == 1 then
            context.piece("Good mor")
            gate.pass()
            return nil, { code = -32803, message = "slow down", data = { reason = "rateLimited" } }
          end
          context.piece("Hello, ")
          gate.pass()
          context.piece("Ada 🌉.")
          return { content = "Hello, Ada 🌉.", usage = { inputTokens = 7 } }
        end,
      })
      h.user()
      promptkit("run live")
      gate.reached()
      h.shown("# live\n\nGood mor")
      gate.open()
      h.shown("# live\n\nHello, ")
      gate.open()
      h.settled("tokens")
      h.equal(h.text(), "# live\n\nHello, Ada 🌉.")
      h.contains(h.status(), "unknown tokens")
    end,
  },
  {
    "two runs at once stream into their own sections",
    function()
      local gates = { h.gate(), h.gate() }
      local count = 0
      h.open({
        generate = function(_, context)
          count = count + 1
          local mine = count
          context.piece("one " .. mine)
          gates[mine].pass()
          context.piece("\ntwo " .. mine)
          return { content = ("one %d\ntwo %d"):format(mine, mine) }
        end,
      })
      vim.fn.writefile({ "version: 1", "backends: {host: {kind: client}}",
        "profiles: {host: {backend: host, model: any}}" }, "promptkit.yaml")
      h.user()
      promptkit("run live")
      gates[1].reached()
      promptkit("run live")
      gates[2].reached()
      gates[1].open()
      h.shown("one 1\ntwo 1\n\n# live")
      gates[2].open()
      h.shown("one 2\ntwo 2")
      h.equal(h.text(), "# live\n\none 1\ntwo 1\n\n# live\n\none 2\ntwo 2")
    end,
  },
  {
    "continue goes on from the latest exchange, branch from a chosen one",
    function()
      h.open()
      local user = h.user({ "deep/question", "What is the worst?" })
      local first = captured()
      promptkit("continue")
      h.shown("The lower pins.")
      h.contains(h.text(), "# deep/question, after " .. first)
      h.settled("tokens")
      local second = h.status():match("run%-%w+")
      user.answers = { first }
      vim.list_extend(user.answers, { "deep/question", "What comes first?" })
      promptkit("branch")
      h.shown("A load test.")
      h.settled("tokens")
      local third = h.status():match("run%-%w+")
      promptkit("details " .. third)
      h.shown("A load test.", "promptkit://exchange/" .. third)
      local page = h.text("promptkit://exchange/" .. third)
      h.contains(page, "# Exchange " .. third .. ", after " .. first)
      h.contains(page, '## system  cache {"type":"ephemeral"}\n\nBe brief.')
      assert(not page:find("worst"), "a sibling's turn is not part of a branch")
      assert(second ~= third)
    end,
  },
  {
    "without an exchange there is nothing to continue",
    function()
      h.open()
      local user = h.user()
      promptkit("continue study")
      user.told("no exchange is held yet")
    end,
  },
  {
    "preview shows what would be sent; discarding sends nothing, sending sends it once",
    function()
      h.open()
      local user = h.user({ "Discard" })
      promptkit("preview study case=bridge")
      h.shown("About bridge?", "promptkit://preview")
      h.contains(h.text("promptkit://preview"), "backend: demo")
      h.equal(h.text(), "")
      user.answers = { "Send" }
      promptkit("preview study case=tower")
      h.shown("A bridge with rust.")
      h.contains(h.text("promptkit://preview"), "About tower?")
      h.settled("tokens")
      promptkit("usage")
      h.shown("runs: 1", "promptkit://usage")
    end,
  },
  {
    "cancel ends a run, and tells the model that nobody waits",
    function()
      local gate, stopped = h.gate(), false
      h.open({
        generate = function(_, context)
          context.on_cancel(function()
            stopped = true
          end)
          gate.pass()
          return { content = "too late" }
        end,
      })
      local user = h.user()
      promptkit("run live")
      gate.reached()
      promptkit("cancel")
      h.settled("cancelled")
      assert(stopped, "the model was not told")
      gate.open()
      promptkit("run study case=bridge")
      h.shown("A bridge with rust.")
      h.equal(user.messages, {})
    end,
  },
  {
    "a program can be the model, and a cancel ends it",
    function()
      local process
      local script = "cat >/dev/null; echo from a program"
      h.open({
        generate = function(params, context)
          local done = require("promptkit.task").await(function(answer)
            process = vim.system({ "sh", "-c", script }, {
              stdin = vim.json.encode(params.messages),
            }, vim.schedule_wrap(answer))
            context.on_cancel(function()
              process:kill("sigterm")
            end)
          end)
          return { content = done.stdout }
        end,
      })
      h.user()
      promptkit("run live")
      h.shown("from a program")
      process, script = nil, "exec sleep 600"
      promptkit("run live")
      h.wait(function()
        return process
      end, "the program starts")
      promptkit("cancel")
      h.settled("cancelled")
      h.wait(function()
        return process:is_closing()
      end, "the program ends")
    end,
  },
  {
    "usage never shows an unknown count as 0",
    function()
      h.open()
      h.user()
      captured()
      promptkit("run draft")
      h.settled("invalid")
      promptkit("usage")
      h.shown("runs: 2", "promptkit://usage")
      local page = h.text("promptkit://usage")
      h.contains(page, "| input | at least 61 |")
      h.contains(page, "| total | at least 70 |")
      h.contains(page, "|   reasoning | unknown |")
    end,
  },
  {
    "an answer that breaks its contract is shown with its faults",
    function()
      h.open()
      h.user()
      promptkit("run draft")
      h.settled("invalid")
      h.contains(h.text(), '{"n":1}')
      h.contains(h.text(), '> /: "text" is a required property')
    end,
  },
  {
    "an error is told with its place",
    function()
      h.open()
      local user = h.user()
      promptkit("run bare")
      user.told("prompts/bare.prompt.yaml:2:")
      h.settled("name")
      promptkit("run nothing/here")
      user.told("nothing/here")
    end,
  },
  {
    "without a setting a key is asked of the user",
    function()
      h.open()
      local user, asked = h.user(), nil
      local real = vim.fn.inputsecret
      vim.fn.inputsecret = function(prompt)
        asked = prompt
        return ""
      end
      promptkit("run locked")
      user.told("vault")
      vim.fn.inputsecret = real
      h.equal(asked, 'PromptKit key "vault": ')
    end,
  },
  {
    "a key appears nowhere",
    function()
      local asked
      h.open({
        credential = function(name)
          asked = name
          return "sk-canary-0123456789"
        end,
      })
      local user = h.user()
      promptkit("run locked")
      user.told("127.0.0.1")
      h.equal(asked, "vault")
      assert(not (h.text() .. vim.inspect(user.messages)):find("canary"))
    end,
  },
  {
    "restart starts a new server for the same buffers; runs in flight end",
    function()
      local gate = h.gate()
      local root = h.open({
        generate = function()
          gate.pass()
          return { content = "late" }
        end,
      })
      local user = h.user()
      vim.cmd.edit(root .. "/prompts/study.prompt.yaml")
      local buffer = vim.api.nvim_get_current_buf()
      promptkit("run live")
      gate.reached()
      local first = vim.lsp.get_clients()[1]
      vim.lsp.buf_attach_client(buffer, first.id)
      promptkit("restart")
      user.told("the server was restarted")
      h.settled("gone")
      local second = h.wait(function()
        return vim.lsp.get_clients({ bufnr = buffer })[1]
      end, "the new server is attached")
      assert(second.id ~= first.id)
    end,
  },
  {
    "a server that dies ends what is in flight",
    function()
      local gate = h.gate()
      h.open({
        generate = function()
          gate.pass()
        end,
      })
      local user = h.user()
      promptkit("run live")
      gate.reached()
      vim.lsp.get_clients()[1].rpc.terminate()
      user.told("the server has ended")
    end,
  },
  {
    "subcommands, prompts and exchanges are completed",
    function()
      h.open()
      h.user()
      local complete = require("promptkit.commands").complete
      h.equal(complete("PromptKit c"), { "cancel", "continue", "coordinate" })
      h.equal(complete("PromptKit run deep"), { "deep/question" })
      local run_id = captured()
      h.equal(complete("PromptKit details "), { run_id })
      h.equal(complete("PromptKit branch run"), { run_id })
      h.equal(complete("PromptKit coordinate 2 "), { run_id })
      h.equal(complete("PromptKit nonsense "), {})
    end,
  },
  {
    "what is wrongly typed is told",
    function()
      h.open()
      local user = h.user()
      promptkit("walk")
      user.told('no subcommand "walk"; known: branch, cancel')
      promptkit("run study case:=bridge")
      user.told("case:=bridge is no JSON")
      captured()
      promptkit("coordinate many")
      user.told('"many" is no number of turns')
    end,
  },
  {
    "settings with a wrong name or type are refused",
    function()
      local setup = require("promptkit").setup
      local _, unknown = pcall(setup, { comand = {} })
      h.contains(unknown, 'no setting "comand"; known: capture, cmd')
      local _, wrong = pcall(setup, { turns = "3" })
      h.contains(wrong, '"turns" must be a number')
    end,
  },
}
