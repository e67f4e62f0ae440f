"""What the demo says when it is asked nothing in particular."""

TOUR = """\
# Welcome to Mobox

I am the **demo agent**: no model, no network, just a script that says all that an agent can say. \
What you see here is what your own agent gets, whatever it is written with.

| You type | You see |
| --- | --- |
| `step` | steps, as they are taken |
| `tool` | a tool call, its input and its result |
| `think` | thoughts, folded away when they end |
| `todo` | a plan that is worked off |
| `subagent` | an agent that another one sent |
| `chart`, `cite`, `file` | a chart, sources, files |
| `approve` | a call that only you can allow |
| `ask` | questions that only you can answer |
| `text hello`, `code x = 1` | your own words |
| `error`, `crash`, `hang`, `slow`, `flood` | how bad days are survived |
| `all` | the pleasant ones, one after the other |

Some things to try while I talk:

- **Reload the page.** The answer goes on where it was: it is kept in a log, not in the browser.
- **Open a second tab.** Both show the same run.
- **Press stop.** The process ends, and what was said stays.

Your own agent is a folder with a file like this:

```python
from shared.emitter import emit_done, emit_text, read_turn

emit_text(f"You said: {read_turn().prompt}")
emit_done()
```
"""
