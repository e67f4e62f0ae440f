"""Chats over HTTP: talking to an agent with the AI SDK's client, and the list of chats."""
