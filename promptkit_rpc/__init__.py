"""PromptKit RPC: prompts, exchanges and continuations for any host program."""

__version__ = "0.1.0"
