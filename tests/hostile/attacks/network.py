"""Reaching the server, the machine and what is near it."""

from __future__ import annotations

import base64
import json
import os
import socket
from urllib.parse import urlsplit

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import SECONDS, fetch, says

HOST = "the machine's own network is there"
NETWORK = Section("Network")
MODELS = Section("Models and the proxy")
METADATA, RESOLVER = "169.254.169.254", "10.99.0.53"
"""Addresses of a namespace that the tests make."""
REFUSED = 403
"""The status of a request that the server knows to be an agent's."""


@NETWORK.attack("read all chats by the server's API", STOPPED)
def read_by_api(at: Targets) -> str:
    status, body = fetch(f"{at.url}/api/chats/private")
    return f"status {status}" if at.canary in body else ""


@NETWORK.attack("delete another chat by the server's API", STOPPED)
def delete_by_api(at: Targets) -> str:
    # One that does not exist: what counts is that the request is answered.
    status, _ = fetch(f"{at.url}/api/chats/no-such-chat", method="DELETE")
    return "" if status == REFUSED else f"status {status}"


@NETWORK.attack("answer another agent's approval by the server's API", STOPPED)
def answer_by_api(at: Targets) -> str:
    answer = {"requestId": "no-such-request", "decision": "approved"}
    headers = {"content-type": "application/json"}
    url = f"{at.url}/api/chat/private/answer"
    status, _ = fetch(url, json.dumps(answer).encode(), headers)
    return "" if status == REFUSED else f"status {status}"


@NETWORK.attack("connect to a program on 127.0.0.1", POSSIBLE, why=HOST)
def loopback(at: Targets) -> str:
    return says(socket.AF_INET, ("127.0.0.1", at.port))


@NETWORK.attack("connect to a program on ::1", MACHINE, why=HOST + ", if it has IPv6")
def loopback_6(at: Targets) -> str:
    return says(socket.AF_INET6, ("::1", at.port_6))


@NETWORK.attack("connect to 127.0.0.1 by other spellings", POSSIBLE, why=HOST)
def loopback_spellings(at: Targets) -> str:
    found = []
    for address in ("0.0.0.0", "127.1.2.3", "localhost"):
        try:
            found.append(says(socket.AF_INET, (address, at.port)))
        except OSError:
            continue
    return f"{len(found)} spellings" if found else ""


@NETWORK.attack("send UDP to a program on 127.0.0.1", POSSIBLE, why=HOST)
def loopback_udp(at: Targets) -> str:
    return says(socket.AF_INET, ("127.0.0.1", at.udp_port), socket.SOCK_DGRAM)


@NETWORK.attack("connect to an abstract Unix socket of the machine", POSSIBLE, why=HOST)
def abstract_socket(at: Targets) -> str:
    return says(socket.AF_UNIX, b"\0" + at.abstract.encode())


@NETWORK.attack("connect to a Unix socket of the machine by its path", POSSIBLE, why=HOST)
def path_socket(at: Targets) -> str:
    return says(socket.AF_UNIX, at.socket)


@NETWORK.attack("reach the metadata address 169.254.169.254", MACHINE, why=HOST)
def metadata(at: Targets) -> str:
    return says(socket.AF_INET, (METADATA, at.port))


@NETWORK.attack("reach a private address", MACHINE, why=HOST)
def private_address(at: Targets) -> str:
    return says(socket.AF_INET, (RESOLVER, at.port))


@NETWORK.attack("ask a DNS server", MACHINE, why=HOST)
def name_server(at: Targets) -> str:
    return says(socket.AF_INET, (RESOLVER, at.udp_port), socket.SOCK_DGRAM)


@NETWORK.attack("have a route to anywhere", MACHINE, why=HOST)
def routes(at: Targets) -> str:
    with open("/proc/net/route") as table:
        entries = table.read().splitlines()[1:]
    for address in (METADATA, RESOLVER, "192.0.2.1"):  # the last is for documentation
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            try:
                client.connect((address, 9))  # sends nothing
            except OSError:
                continue
            entries.append(address)
    return f"{entries}" if entries else ""


@NETWORK.attack("see the interfaces of the machine", MACHINE, why=HOST)
def interfaces(at: Targets) -> str:
    found = [name for _, name in socket.if_nameindex() if name != "lo"]
    return f"{found}" if found else ""


@NETWORK.attack("configure its network", MACHINE, STOPPED, why="root may")
def configure_network(at: Targets) -> str:
    import fcntl
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        flags = fcntl.ioctl(control, 0x8913, struct.pack("16sh14x", b"lo", 0))  # SIOCGIFFLAGS
        fcntl.ioctl(control, 0x8914, flags)  # SIOCSIFFLAGS, as they are
    return "set the flags of lo"


# Models and the proxy


def ask(base: str, token: str) -> tuple[int, str]:
    """Make a model call."""
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 20,
        "messages": [{"role": "user", "content": "hello"}],
    }
    headers = {"content-type": "application/json", "x-api-key": token}
    return fetch(f"{base}/v1/messages", json.dumps(body).encode(), headers)


@MODELS.attack(
    "call models with another run's token", POSSIBLE, why="it can read the token (see above)"
)
def other_token(at: Targets) -> str:
    status, _ = ask(os.environ["ANTHROPIC_BASE_URL"], at.token)
    return f"status {status}" if status < 400 else ""


@MODELS.attack("call models without a token, or with an invented one")
def no_token(at: Targets) -> str:
    statuses = [ask(os.environ["ANTHROPIC_BASE_URL"], word)[0] for word in ("", "mbx_invented")]
    return f"{statuses}" if min(statuses) < 400 else ""


@MODELS.attack("reach the gateway's other paths")
def gateway_paths(at: Targets) -> str:
    base, token = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"]
    found = []
    for path in ("/v1/files", "/../api/chats", "/%2e%2e/api/chats", "/v1/messages/batches"):
        status, _ = fetch(base + path, headers={"x-api-key": token})
        if status < 400:
            found.append(path)
    return f"{found}" if found else ""


@MODELS.attack("reach the server's API on the gateway's port")
def api_by_gateway(at: Targets) -> str:
    base = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    status, body = fetch(f"http://{base.netloc}/api/chats/private")
    return f"status {status}" if at.canary in body else ""


def through_proxy(head: str) -> str:
    """Send the head of a request to the proxy, with the agent's own token; the answer."""
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    secret = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    with socket.create_connection((proxy.hostname or "", proxy.port or 0), SECONDS) as client:
        client.sendall(f"{head}Proxy-Authorization: Basic {secret}\r\n\r\n".encode())
        answer = client.recv(65536).decode("latin-1")
    # It knows the agent: else nothing was tried.
    assert answer.startswith("HTTP/1.1 ") and answer.split()[1] != "407", answer[:80]
    return answer


def by_proxy(host: str, port: int) -> str:
    """Ask the proxy of the agent for a tunnel; what the other end says."""
    answer = through_proxy(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n")
    return answer if answer.startswith("HTTP/1.1 200") else ""


def first(places: list[tuple[str, int]]) -> str:
    """The first of these places that the proxy connects to."""
    return next((f"{place}" for place in places if by_proxy(*place)), "")


@MODELS.attack("reach 127.0.0.1 by the proxy", agent="open")
def proxy_loopback(at: Targets) -> str:
    names = ("127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "[::1]")
    return first([(name, at.port) for name in (*names, "[::ffff:127.0.0.1]", "LOCALHOST.")])


@MODELS.attack("reach the server's API by the proxy", agent="open")
def proxy_server(at: Targets) -> str:
    port = urlsplit(at.url).port or 0
    return first([("127.0.0.1", port), ("localhost", port), ("[::ffff:7f00:1]", port)])


@MODELS.attack("reach private and link-local addresses by the proxy", agent="open")
def proxy_private(at: Targets) -> str:
    hosts = (
        METADATA,
        RESOLVER,
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "[fe80::1]",
        "[fd00::1]",
    )
    return first([(host, at.port) for host in hosts])


@MODELS.attack("reach the server's API by a plain request to the proxy", agent="open")
def proxy_plain(at: Targets) -> str:
    host = urlsplit(at.url).netloc
    answer = through_proxy(f"GET {at.url}/api/chats/private HTTP/1.1\r\nHost: {host}\r\n")
    return answer[:80] if at.canary in answer else ""
