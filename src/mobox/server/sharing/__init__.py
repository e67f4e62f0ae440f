"""Links by which people without a key read a chat: made by its owner, opened by anybody."""
