"""The values of a conversation: messages, histories, exchanges."""
