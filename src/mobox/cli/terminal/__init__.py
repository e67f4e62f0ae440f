"""A run in a terminal: its events as text, and the answers of the person in front of it.

`rendering.py` turns events into text, `forms.py` requests into fields; both are pure. `console.py`
reads and writes, and `chat.py` has the loop of turns. `cli/run.py` is the command.
"""
