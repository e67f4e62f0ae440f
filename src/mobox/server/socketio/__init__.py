"""Chats over Socket.IO: sessions, their messages, and the events that they receive."""
