"""Calls a tool of the page."""

from shared.emitter import call_frontend, emit_done, emit_text, read_turn

read_turn()
answer = call_frontend("locate", {}, id="call_1")
emit_text(f"{answer['decision']}: {answer['reason']}")
emit_done()
