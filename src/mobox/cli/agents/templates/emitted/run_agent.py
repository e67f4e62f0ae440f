"""An agent without a framework: it emits its events itself."""

from shared.emitter import emit_done, emit_text, emit_tool_result, emit_tool_use, read_turn

turn = read_turn()
call = emit_tool_use("count_words", {"text": turn.prompt})
emit_tool_result(call, {"words": len(turn.prompt.split())})
emit_text(f"You said: {turn.prompt}")
emit_done()
