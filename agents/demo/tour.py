"""The answer of the demo agent to anything that is not a command."""

TOUR = """\
# Welcome to Mobox

I am the **demo agent**: no model, no network, just a script that emits every kind of event. \
Your own agent gets all of this, whichever framework it uses.

| You type | You see |
| --- | --- |
| `step` | steps, as they happen |
| `tool` | a tool call, its input and its result |
| `think` | reasoning, collapsed when it ends |
| `todo` | a plan, ticked off step by step |
| `subagent` | a subagent at work |
| `chart`, `cite`, `file` | a chart, sources, files |
| `approve` | a tool call that needs your approval |
| `ask` | questions for you |
| `text hello`, `code x = 1` | your text or code, streamed back |
| `error`, `crash`, `hang`, `slow`, `flood` | what failures look like |
| `all` | most of the above in one answer |

Things to try while this streams:

- **Reload the page.** The answer continues: it is stored in a log, not in the browser.
- **Open a second tab.** Both show the same run.
- **Press stop.** The process ends, and the text so far stays.

Your own agent is a folder with a file like this:

```python
from shared.emitter import emit_done, emit_text, read_turn

emit_text(f"You said: {read_turn().prompt}")
emit_done()
```
"""
