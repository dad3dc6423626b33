"""What an editor is given beside our own methods, by a language server mounted behind the peer."""
