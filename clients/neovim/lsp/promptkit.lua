-- For vim.lsp.enable("promptkit"), Neovim 0.11 and newer. Commands share the server.
return require("promptkit.server").config()
