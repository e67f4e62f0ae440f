"""Answers with the messages of the chat so far."""

from shared.emitter import emit_done, emit_text, read_turn

turn = read_turn()
said = [message["content"] for message in turn.messages() if message["role"] == "user"]
emit_text(f"{len(said)} so far: {' | '.join(said)}")
emit_done()
