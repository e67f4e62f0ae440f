"""An agent that sends the requests which its prompt names to a server, in one of many ways."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.live_server import LiveServer, http_client, message

RUN_AGENT = r'''
    import ctypes
    import json
    import os
    import socket
    import struct
    import subprocess
    import sys
    import threading
    import time

    CLONE_FILES, NOT_DUMPABLE = 0x400, (4, 0, 0, 0, 0)

    def request_of(task):
        body = json.dumps(task["body"]) if "body" in task else ""
        host = task["host"]
        shown = "[" + host + "]" if ":" in host else host
        headers = {"host": shown, "connection": "close", **task.get("headers", {})}
        if body:
            headers |= {"content-type": "application/json", "content-length": str(len(body))}
        lines = ["{} {} HTTP/1.1".format(task.get("method", "GET"), task["path"])]
        lines += ["{}: {}".format(*header) for header in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()

    def call(task):
        with socket.create_connection((task["host"], task["port"]), timeout=30) as server:
            server.sendall(request_of(task))
            if task.get("resets"):
                server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if task.get("leaves"):
                return {"status": 0}
            with server.makefile("rb") as response:
                status = int(response.readline().split()[1])
                is_open = status in (101, 200)  # a stream may never end
                body = "" if is_open else response.read().decode().partition("\r\n\r\n")[2]
                return {"status": status, "body": body}

    def itself(task):
        return call(task)

    def child(task):
        command = [sys.executable, __file__, json.dumps({**task, "from": "itself"})]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    def orphan(task):
        """Two forks and a session of its own, whose parent is gone."""
        readable, writable = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while os.getppid() == os.getsid(0):
                    time.sleep(0.001)
                os.write(writable, json.dumps(call(task)).encode())
            os._exit(0)
        os.close(writable)
        os.wait()
        with open(readable, "rb") as told:
            return json.loads(told.read())

    def thread(task):
        """A thread with descriptors of its own."""
        told = []
        def alone():
            assert ctypes.CDLL(None).unshare(CLONE_FILES) == 0
            told.append(call(task))
        started = threading.Thread(target=alone)
        started.start()
        started.join()
        return told[0]

    def hidden(task):
        """A process whose descriptors only root can read."""
        assert ctypes.CDLL(None).prctl(*NOT_DUMPABLE) == 0
        return call(task)

    def lasting(task):
        """The same, and it stays until it is stopped."""
        response = hidden(task)
        emit_text("It is hidden.")
        time.sleep(600)
        return response

    def leaving(task):
        """The socket is closed when the request is read."""
        return call({**task, "leaves": True})

    def resetting(task):
        """The same, and the connection is reset."""
        return call({**task, "leaves": True, "resets": True})

    WAYS = {
        way.__name__: way
        for way in (itself, child, orphan, thread, hidden, lasting, leaving, resetting)
    }

    def run(task):
        return WAYS[task["from"]](task)

    if len(sys.argv) > 1:
        print(json.dumps(run(json.loads(sys.argv[1]))))
        sys.exit()

    from shared.emitter import approve, emit_done, emit_text, emit_tool_use, read_turn

    def ask_and_answer(task):
        """Ask whether a call is allowed, and allow it."""
        emit_tool_use("delete", {}, id="c1")
        threading.Timer(0.5, lambda: emit_text(str(child(task)["status"]))).start()
        emit_text("allowed" if approve("c1", "May I?", id="may") else "not allowed")

    if read_turn().prompt.startswith("{"):
        ask_and_answer(json.loads(read_turn().prompt))
        sys.exit()
    emit_text(json.dumps([run(task) for task in json.loads(read_turn().prompt)]))
    emit_done()
'''

WAYS = ("itself", "child", "orphan", "thread", "hidden")

WEBSOCKET = {
    "upgrade": "websocket",
    "connection": "upgrade",
    "sec-websocket-version": "13",
    "sec-websocket-key": "x3JJHMbDL1EzLkh9GBhXDw==",
}
POLLING = "/socket.io/?EIO=4&transport=polling"
SOCKET = "/socket.io/?EIO=4&transport=websocket"


def write_agent(folder: Path) -> Path:
    """A folder of agents with this one in it."""
    agent = folder / "calling"
    agent.mkdir(parents=True)
    (agent / "agent.yaml").write_text("name: Calling\nframework: emitted\n")
    (agent / "run_agent.py").write_text(textwrap.dedent(RUN_AGENT))
    return folder


def task(url: str, path: str, way: str = "itself", **more: Any) -> dict[str, Any]:
    """A request for the agent to send."""
    parts = urlsplit(url)
    return {"host": parts.hostname, "port": parts.port, "path": path, "from": way, **more}


def tasks_of(url: str, way: str = "itself") -> list[dict[str, Any]]:
    """One request of each kind."""
    return [
        task(url, "/api/chats", way),
        task(url, POLLING, way),
        task(url, SOCKET, way, headers=WEBSOCKET),
    ]


def asking(chat_id: str, *tasks: dict[str, Any]) -> dict[str, Any]:
    """The message that makes the agent send these."""
    body = message(chat_id, json.dumps(tasks))
    body["messages"][0]["id"] = f"{chat_id}-{len(tasks)}"  # not all of its text
    return body


async def called(
    server: LiveServer, chat_id: str, *tasks: dict[str, Any], key: str = ""
) -> list[dict[str, Any]]:
    """What the agent of a server got for its requests."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with http_client(server) as client:
        response = await client.post("/api/chat", json=asking(chat_id, *tasks), headers=headers)
    assert response.status_code == 200, response.text
    return responses_in(response.text)


def responses_in(stream: str) -> list[dict[str, Any]]:
    """What the agent got for its requests, in a stream of the AI SDK."""
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if "text-delta" in line]
    assert lines, stream
    responses: list[dict[str, Any]] = json.loads(
        "".join(json.loads(line)["delta"] for line in lines)
    )
    return responses
