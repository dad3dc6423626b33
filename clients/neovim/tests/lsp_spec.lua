-- vim.lsp.enable("promptkit"), :checkhealth, and the help file.
local h = require("harness")

local function edit(path)
  vim.cmd.edit(path)
  vim.bo.filetype = "yaml"
  return vim.api.nvim_get_current_buf()
end

local function enabled(body)
  return function()
    vim.lsp.enable("promptkit")
    local ok, err = pcall(body)
    vim.lsp.enable("promptkit", false)
    assert(ok, err)
  end
end

local function attached(buffer)
  return vim.lsp.get_clients({ bufnr = buffer, name = "promptkit" })[1]
end

local function health()
  vim.cmd("checkhealth promptkit")
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

return {
  {
    "a definition file shows its problems, and commands share its server",
    enabled(function()
      local root = h.open()
      h.user()
      local path = root .. "/prompts/study.prompt.yaml"
      vim.fn.writefile({ "profil: demo", "messages: []" }, root .. "/prompts/broken.prompt.yaml")
      local buffer = edit(root .. "/prompts/broken.prompt.yaml")
      local problems = h.wait(function()
        local found = vim.diagnostic.get(buffer)
        return #found > 0 and found
      end, "a diagnostic")
      h.equal(problems[1].source, "promptkit")
      h.contains(vim.inspect(problems), "profil")
      local other = edit(path)
      local client = h.wait(function()
        return attached(other)
      end, "the server is attached")
      vim.cmd("PromptKit run study case=bridge")
      h.settled("tokens")
      h.equal(#vim.lsp.get_clients(), 1)
      h.equal(vim.lsp.get_clients()[1].id, client.id)
    end),
  },
  {
    "a YAML file outside of any workspace starts no server",
    enabled(function()
      h.open()
      local elsewhere = vim.fn.tempname()
      vim.fn.mkdir(elsewhere)
      local buffer = edit(elsewhere .. "/other.yaml")
      h.equal(attached(buffer), nil)
      h.equal(vim.lsp.get_clients(), {})
    end),
  },
  {
    "what vim.lsp.config() sets counts for commands too, and setup() counts after enable()",
    enabled(function()
      local root = h.open({ cmd = { "/nonexistent/server" } })
      edit(root .. "/prompts/study.prompt.yaml")
      require("promptkit").setup(h.server)
      vim.lsp.config("promptkit", { cmd_env = { PROMPTKIT_TEST = "seen" } })
      h.user()
      vim.cmd("PromptKit run study case=bridge")
      h.settled("tokens")
      h.equal(vim.lsp.get_clients()[1].config.cmd_env.PROMPTKIT_TEST, "seen")
      vim.lsp.config.promptkit = {}
    end),
  },
  {
    "checkhealth tells what is well",
    function()
      local root = h.open()
      local page = health()
      h.contains(page, "OK the workspace is " .. root)
      h.contains(page, "protocol version 1")
      h.contains(page, "OK 7 prompts can be used")
      assert(not page:find("ERROR"), page)
    end,
  },
  {
    "checkhealth tells what is missing, and what to do",
    function()
      h.open({ cmd = { "no-such-server" } })
      vim.fn.delete("promptkit.yaml")
      local page = health()
      h.contains(page, "ERROR no-such-server cannot be run")
      h.contains(page, "install promptkit-rpc")
      h.contains(page, "has no promptkit.yaml")
    end,
  },
  {
    "a server that cannot be run is told when it is needed",
    function()
      h.open({ cmd = { "no-such-server" } })
      local user = h.user()
      vim.cmd("PromptKit run study")
      user.told("no-such-server cannot be run; see :checkhealth promptkit")
    end,
  },
  {
    "a server that ends at once is told",
    function()
      h.open({ cmd = { "sh", "-c", "exit 3" } })
      local user = h.user()
      vim.cmd("PromptKit run study")
      user.told("the server ended at once")
    end,
  },
  {
    "every subcommand and setting has a help tag",
    function()
      local docs = vim.fn.tempname()
      vim.fn.mkdir(docs)
      local help = h.checkout .. "/clients/neovim/doc/promptkit.txt"
      assert(vim.uv.fs_copyfile(help, docs .. "/promptkit.txt"))
      vim.cmd.helptags(docs)
      local tags = table.concat(vim.fn.readfile(docs .. "/tags"), "\n")
      for _, name in ipairs(require("promptkit.commands").complete("PromptKit ")) do
        h.contains(tags, ":PromptKit-" .. name .. "\t")
      end
      local _, unknown = pcall(require("promptkit").setup, { nonsense = 1 })
      for name in unknown:gsub("^.*known: ", ""):gmatch("[%w_]+") do
        h.contains(tags, "promptkit-setting-" .. name .. "\t")
      end
    end,
  },
}
