"""An agent of somebody else: has a secret, a token and an open approval, and stays."""

import json
import os
import sys

state = os.environ["MOBOX_STATE"]
turn = json.loads(sys.stdin.readline())
text = turn["data"]["prompt"][0]["text"]
with open(os.path.join(state, "secret"), "w") as file:
    file.write(os.environ["VICTIM_API_KEY"])


def emit(_line: str, **data: object) -> None:
    print(json.dumps({"type": _line, "data": data}), flush=True)


emit("text", content=text)
if text.startswith("wait"):
    emit("tool_use", id="call-1", name="delete_all", input={})
    emit("input_request", id="victim-1", kind="approval", tool_call_id="call-1", prompt="May I?")
    for line in sys.stdin:
        with open(os.path.join(state, "answered"), "a") as file:
            file.write(line)
emit("done")
