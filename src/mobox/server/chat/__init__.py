"""The chat routes: post a message, answer, stop, list and edit chats."""
