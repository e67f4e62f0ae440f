"""The first program in a sandbox: hands its ports out, and becomes the agent.

    python -I -S box_init.py SOCKET NAME=VALUE... -- COMMAND...

SOCKET is `fd:N`, an inherited descriptor, or the path of a Unix socket. It gets the message
`port N` with a socket that listens on 127.0.0.1:N, for each `port=N`, and last `ready`. The server
accepts connections outside: nothing forwards bytes, and the socket tells which agent has called.

All other pairs are limits, set here because they count in the sandbox: the number of processes is
counted for each user namespace, from the moment when it exists.

A script that imports as little as possible: every start of an agent waits for it.
"""

from __future__ import annotations

import _socket
import os
import resource
import sys

LIMITS = {
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
    "file_size": resource.RLIMIT_FSIZE,
    "memory": resource.RLIMIT_DATA,
}
NOT_FOUND, NOT_RUNNABLE = 127, 126  # the exit codes of shells


def main(arguments: list[str]) -> None:
    """Never returns."""
    end = arguments.index("--")
    command = arguments[end + 1 :]
    outside = connect(arguments[0])
    for pair in arguments[1:end]:
        name, _, value = pair.partition("=")
        if name == "port":
            listen(outside, int(value))
        else:
            limit(LIMITS[name], int(value))
    if os.getpgid(0) != os.getpid():  # the first process of a container makes it a leader
        os.setsid()  # before `ready`: the sender of this message gets the signals of the server
    outside.send(b"ready\n")
    outside.close()
    code = NOT_RUNNABLE
    try:
        os.execvp(command[0], command)
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
        os.write(2, f"{command[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(code)


def connect(where: str) -> _socket.socket:
    """The socket to the server's side."""
    if where.startswith("fd:"):
        return _socket.socket(fileno=int(where[3:]))
    outside = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    outside.connect(where)
    return outside


def listen(outside: _socket.socket, port: int) -> None:
    """Listen on a port, and hand the socket out."""
    listening = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listening.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(128)
    number = listening.fileno().to_bytes(4, sys.byteorder)
    outside.sendmsg([b"port %d\n" % port], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, number)])
    listening.close()


def limit(which: int, value: int) -> None:
    """Set a hard limit, not above the present one."""
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


if __name__ == "__main__":
    main(sys.argv[1:])
