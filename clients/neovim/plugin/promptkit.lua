-- Defines :PromptKit. Loads nothing until it is used.
if vim.g.loaded_promptkit then
  return
end
vim.g.loaded_promptkit = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_create_user_command("PromptKit", function()
    vim.notify("PromptKit needs Neovim 0.10 or newer", vim.log.levels.ERROR)
  end, { nargs = "*", desc = "PromptKit needs Neovim 0.10 or newer" })
  return
end

vim.api.nvim_create_user_command("PromptKit", function(command)
  require("promptkit.commands").run(command.fargs)
end, {
  nargs = "*",
  desc = "Run, continue and coordinate prompts",
  complete = function(_, line, column)
    return require("promptkit.commands").complete(line:sub(1, column))
  end,
})
