"""Emits escape sequences wherever text goes."""

from shared.emitter import (
    emit_done,
    emit_status,
    emit_text,
    emit_think,
    emit_todo_create,
    emit_tool_result,
    emit_tool_use,
    read_turn,
)

EVIL = "\x1b[2J\x1b]0;title\x07\x9b31m\rover\u202eback"

read_turn()
emit_status(f"status {EVIL}")
emit_think(f"thought {EVIL}")
emit_todo_create([f"todo {EVIL}"])
call = emit_tool_use(f"tool{EVIL}", {"a": EVIL})
emit_tool_result(call, f"result {EVIL}")
emit_text(f"text {EVIL}")
emit_done()
