"""Sessions over Socket.IO, with the real client and a real server."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
import pytest

from mobox.formatters import protocols
from server.live_server import LiveServer, message
from server.scripted_agent import Gate, a_day_of_work, prompt, text, tool
from server.server_probe import ServerProbe
from server.socket_clients import Json, Socket, SocketClients
from support.grammar_agent_event import check_agent_events
from support.waiting import wait_until

FORMATS = [name for name in protocols() if name != "agent-event"]
each_transport = pytest.mark.parametrize("transport", ["websocket", "polling"])


@pytest.fixture
def socket(sockets: SocketClients, server: LiveServer) -> Socket:
    return sockets.open(server)


def numbers(events: list[Json]) -> list[int]:
    return [event["eventIndex"] for event in events]


# What is told


@each_transport
def test_session_is_sent_live(
    sockets: SocketClients,
    server: LiveServer,
    server_probe: ServerProbe,
    chat_id: str,
    transport: str,
) -> None:
    socket = sockets.open(server, transport)
    nothing = {"sessionId": chat_id, "runId": None, "status": "idle"}
    assert socket.join(chat_id) == nothing
    run_id = socket.say(chat_id, prompt(*a_day_of_work(2)))["runId"]
    events = socket.events()
    assert events == server_probe.events(run_id)
    check_agent_events([json.dumps(event).encode() for event in events])
    names = [each["name"] for each in socket.all()]
    assert names[:2] == ["session:joined", "answer to session:join"]
    assert socket.read("session:joined") == [nothing]


@pytest.mark.parametrize("name", FORMATS)
def test_session_is_sent_in_every_format(
    socket: Socket, server_probe: ServerProbe, chat_id: str, name: str
) -> None:
    socket.join(chat_id, format=name)
    run_id = socket.say(chat_id, prompt(*a_day_of_work(1)))["runId"]
    expected = server_probe.told(run_id, name)
    frames = socket.read("agent:frame", len(expected))
    assert [(frame["cursor"], frame["data"]) for frame in frames] == expected
    assert {(frame["sessionId"], frame["runId"]) for frame in frames} == {(chat_id, run_id)}


def test_profile_is_selected_by_the_request(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    socket.join(chat_id, profile="document")
    run_id = socket.say(chat_id, prompt(text("Hi")))["runId"]
    socket.events()
    whole = [event for _, event in server_probe.told(run_id, "agent-event", profile="document")]
    assert socket.read("agent:event", len(whole)) == whole
    assert {event["persistenceState"] for event in whole} == {"transient", "pending", "persisted"}


def test_later_runs_are_sent(socket: Socket, server_probe: ServerProbe, chat_id: str) -> None:
    socket.join(chat_id)
    first = socket.say(chat_id, prompt(text("One")))["runId"]
    whole = server_probe.events(first)
    assert socket.read("agent:event", len(whole)) == whole
    server_probe.say(chat_id, prompt(text("Two")))
    second = socket.read("agent:event", len(whole) + 1)[-1]["messageId"]
    whole = server_probe.events(first, second)
    events = socket.read("agent:event", len(whole))
    assert events == whole
    assert numbers(events) == list(range(len(events)))


def test_frames_of_later_runs_are_sent(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    server_probe.say(chat_id, prompt(text("Before")))
    assert socket.join(chat_id, format="ai-sdk")["status"] == "idle"
    runs = [socket.say(chat_id, prompt(text("One")))["runId"]]
    expected = [(runs[0], *told) for told in server_probe.told(runs[0], "ai-sdk")]
    socket.read("agent:frame", len(expected))
    runs.append(socket.say(chat_id, prompt(text("Two")))["runId"])
    expected += [(runs[1], *told) for told in server_probe.told(runs[1], "ai-sdk")]
    frames = socket.read("agent:frame", len(expected))
    assert [(frame["runId"], frame["cursor"], frame["data"]) for frame in frames] == expected


def test_two_sessions_on_one_socket_both_receive(
    socket: Socket, server_probe: ServerProbe, chat_id: str, gate: Gate
) -> None:
    one, two = f"{chat_id}-1", f"{chat_id}-2"
    socket.join(one)
    socket.join(two, format="ai-sdk")
    first = socket.say(one, prompt(text("One"), gate.step, text("more")))["runId"]
    second = socket.say(two, prompt(text("Two")))["runId"]
    frames = socket.frames()  # while the first goes on
    gate.open()
    assert {event["messageId"] for event in socket.events()} == {first}
    assert socket.events() == server_probe.events(first)
    assert {(frame["sessionId"], frame["runId"]) for frame in frames} == {(two, second)}


def test_two_sockets_of_one_session_receive_the_same(
    sockets: SocketClients, server: LiveServer, server_probe: ServerProbe, chat_id: str
) -> None:
    both = [sockets.open(server, transport) for transport in ("websocket", "polling")]
    for socket in both:
        socket.join(chat_id)
    run_id = both[0].say(chat_id, prompt(text("Hi")))["runId"]
    assert [socket.events() for socket in both] == [server_probe.events(run_id)] * 2


def test_sending_a_message_does_not_join_a_session(socket: Socket, chat_id: str) -> None:
    socket.say(chat_id, prompt(text("Hi")))
    other = f"{chat_id}-other"
    socket.join(other)
    socket.say(other, prompt(text("Hi")))
    assert {event["messageId"] for event in socket.events()} == {socket.events()[0]["messageId"]}
    assert {event.get("sessionId", other) for event in socket.events()} == {other}


# From any place on


def test_session_is_sent_from_any_index(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    socket.join(chat_id)
    runs = []
    for words in ("One", "Two", "Three"):
        runs.append(socket.say(chat_id, prompt(text(words)))["runId"])
        socket.read("agent:event", len(server_probe.events(*runs)))
    whole = server_probe.events(*runs)
    read = len(whole)
    for last in range(-1, len(whole) - 1):
        joined = socket.join(chat_id, lastEventIndex=last)
        assert joined == {"sessionId": chat_id, "runId": None, "status": "idle"}
        rest = whole[last + 1 :]
        assert socket.read("agent:event", read + len(rest))[read:] == rest
        read += len(rest)
    socket.join(chat_id, lastEventIndex=len(whole) - 1)
    assert len(socket.read("agent:event", 0)) == read


def test_frames_are_sent_from_any_cursor(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    runs = [socket.say(chat_id, prompt(text("One")))["runId"]]
    told = [(runs[0], *each) for each in server_probe.told(runs[0], "ai-sdk")]
    runs.append(socket.say(chat_id, prompt(text("Two")))["runId"])
    told += [(runs[1], *each) for each in server_probe.told(runs[1], "ai-sdk")]
    read = 0
    for place, (run_id, cursor, _) in enumerate(told[:-1], 1):
        socket.join(chat_id, format="ai-sdk", after={"runId": run_id, "cursor": cursor})
        rest = told[place:]
        frames = socket.read("agent:frame", read + len(rest))[read:]
        assert [(frame["runId"], frame["cursor"], frame["data"]) for frame in frames] == rest
        read += len(rest)


def test_client_joining_in_the_middle_gets_the_whole_active_run(
    sockets: SocketClients, server: LiveServer, server_probe: ServerProbe, chat_id: str, gate: Gate
) -> None:
    first, late = sockets.open(server), sockets.open(server)
    first.join(chat_id)
    run_id = first.say(chat_id, prompt(text("One"), gate.step, text("Two")))["runId"]
    first.read("agent:event", 2)
    running = {"sessionId": chat_id, "runId": run_id, "status": "running"}
    assert late.join(chat_id, format="ai-sdk") == running
    late.read("agent:frame", 2)
    gate.open()
    frames = late.frames()
    assert [(each["cursor"], each["data"]) for each in frames] == server_probe.told(
        run_id, "ai-sdk"
    )
    assert first.events() == server_probe.events(run_id)


def test_rejoining_restarts_without_duplicates(
    socket: Socket, server_probe: ServerProbe, chat_id: str, gate: Gate
) -> None:
    socket.join(chat_id)
    run_id = socket.say(chat_id, prompt(text("One"), gate.step, text("Two")))["runId"]
    before = len(socket.read("agent:event", 2))
    socket.join(chat_id)
    assert len(socket.read("agent:event", 2 * before)) == 2 * before
    gate.open()
    whole = server_probe.events(run_id)
    assert socket.events() == whole[:before] + whole
    assert socket.read("agent:event", before + len(whole)) == whole[:before] + whole


def test_leaving_client_receives_nothing_more(
    sockets: SocketClients, server: LiveServer, chat_id: str, gate: Gate
) -> None:
    leaves, stays = sockets.open(server), sockets.open(server)
    for socket in (leaves, stays):
        socket.join(chat_id)
    stays.say(chat_id, prompt(text("One"), gate.step, text("Two")))
    before = leaves.read("agent:event", 2)
    assert leaves.ask("session:leave", {"sessionId": chat_id}) == {"sessionId": chat_id}
    gate.open()
    stays.events()
    assert leaves.ask("session:leave", {"sessionId": chat_id}) == {"sessionId": chat_id}
    assert leaves.read("agent:event", 0) == before


# What is said


def test_a_message_may_be_one_of_the_ai_sdk(
    socket: Socket, http: httpx.Client, server: LiveServer, chat_id: str
) -> None:
    socket.join(chat_id)
    said = message(chat_id, prompt(text("Hi")))["messages"][0]
    first = socket.say(chat_id, said)
    assert socket.say(chat_id, said) == first, "sent twice it is one run"
    socket.events()
    again = {"sessionId": chat_id, "trigger": "regenerate-message", "messageId": first["runId"]}
    second = socket.ask("chat:message", again)["runId"]
    assert second != first["runId"]
    url = f"{server.url}/api/chats/{quote(chat_id)}"
    wait_until(lambda: http.get(url).json()["activeRun"] is None)
    stored = http.get(url).json()["messages"]
    assert [(each["id"], each["role"]) for each in stored] == [
        (said["id"], "user"),
        (second, "assistant"),
    ]


def test_message_with_an_idempotency_key_is_sent_once(socket: Socket, chat_id: str) -> None:
    words = prompt(text("Hi"))
    first = socket.say(chat_id, words, idempotencyKey=chat_id)
    assert socket.say(chat_id, words, idempotencyKey=chat_id) == first
    reused = socket.say(chat_id, "other words", idempotencyKey=chat_id)
    assert reused["error"]["code"] == "key_reused"


def test_message_during_a_run_is_answered_with_the_active_run(
    socket: Socket, chat_id: str, gate: Gate
) -> None:
    run_id = socket.say(chat_id, prompt(gate.step))["runId"]
    refused = socket.say(chat_id, "And?")["error"]
    assert (refused["code"], refused["runId"]) == ("run_active", run_id)
    gate.open()


def test_agent_is_selected_by_the_request(socket: Socket, chat_id: str) -> None:
    refused = socket.say(chat_id, "Hi", agent="nobody")["error"]
    assert (refused["code"], refused["known"]) == ("unknown_agent", ["scripted"])
    assert "runId" in socket.say(chat_id, prompt(text("Hi")), agent="scripted")


@each_transport
def test_a_run_is_stopped(
    sockets: SocketClients,
    server: LiveServer,
    server_probe: ServerProbe,
    chat_id: str,
    gate: Gate,
    transport: str,
) -> None:
    socket = sockets.open(server, transport)
    socket.join(chat_id)
    run_id = socket.say(chat_id, prompt(text("One"), gate.step, text("Two")))["runId"]
    socket.read("agent:event", 2)
    wrong = socket.ask("chat:stop", {"sessionId": chat_id, "runId": "run_of_yesterday"})
    assert wrong["error"]["code"] == "not_found"
    gate.wait()
    assert socket.ask("chat:stop", {"sessionId": chat_id})["runId"] == run_id
    assert socket.events()[-1]["stop_reason"] == "cancelled"
    assert socket.events() == server_probe.events(run_id)
    idle = socket.ask("chat:stop", {"sessionId": chat_id})
    assert idle == {"runId": None, "status": None}


ASKS = prompt(text("Well."), ["ask", "colour", "Which?"], text("So be it."))


def test_waiting_session_shows_its_request_and_is_answered(
    sockets: SocketClients, server: LiveServer, server_probe: ServerProbe, chat_id: str
) -> None:
    socket, late = sockets.open(server), sockets.open(server)
    socket.join(chat_id)
    run_id = socket.say(chat_id, ASKS)["runId"]
    [waiting] = socket.read("session:waiting")
    request = {"requestId": "colour", "kind": "question", "prompt": "Which?",
               "options": ["red", "blue"]}  # fmt: skip
    assert waiting == {"sessionId": chat_id, "runId": run_id, "requests": [request]}
    assert late.join(chat_id)["status"] == "waiting"
    assert late.read("session:waiting") == [waiting]
    before = socket.read("agent:event", 0)
    assert late.read("agent:event", len(before)) == before
    assert [each["name"] for each in late.all()][-1] == "session:waiting"
    answer = {"sessionId": chat_id, "requestId": "colour", "decision": "answered", "value": "red"}
    assert late.ask("chat:answer", answer)["runId"] == run_id
    assert socket.events() == late.events() == server_probe.events(run_id)
    assert socket.events()[-2]["content"] == "answered: redSo be it."
    again = late.ask("chat:answer", {**answer, "value": "blue"})
    assert (again["late"], again["value"]) == (True, "red"), "the first answer counts"
    refused = late.ask("chat:answer", {**answer, "requestId": "colours"})["error"]
    assert refused["code"] == "not_waiting", "nobody asked that"


def test_only_allowed_decisions_of_a_session_are_accepted(
    sockets: SocketClients, server: LiveServer, chat_id: str
) -> None:
    socket = sockets.open(server)
    socket.join(chat_id)
    script = prompt(*tool("c", "rm", {"path": "/"})[:1], ["decide", "c", ["approve", "edit"]])
    socket.say(chat_id, script)
    [waiting] = socket.read("session:waiting")
    assert waiting["requests"][0]["allowed"] == ["approve", "edit"]
    about = {"sessionId": chat_id, "requestId": "may_c"}
    refused = socket.ask("chat:answer", {**about, "decision": "denied"})["error"]
    assert refused["code"] == "decision_not_allowed"
    assert refused["allowed"] == ["approved", "edited", "cancelled"]
    edited = {**about, "decision": "edited", "value": {"path": "/tmp/x"}}
    assert socket.ask("chat:answer", edited)["status"] == "running"
    assert socket.events()[-2]["content"] == 'edited with {"path": "/tmp/x"}'


def test_frames_end_where_the_run_waits_and_begin_again(
    sockets: SocketClients, server: LiveServer, server_probe: ServerProbe, chat_id: str
) -> None:
    socket = sockets.open(server)
    socket.join(chat_id, format="ai-sdk")
    script = prompt(*tool("c", "rm", {"path": "/"}), ["approve", "c", [text("Gone.")], []])
    run_id = socket.say(chat_id, script)["runId"]
    [waiting] = socket.read("session:waiting")
    assert waiting["requests"][0]["toolCallId"] == "c"
    asked = socket.frames()
    assert asked[-2]["data"]["type"] == "finish"
    answer = {"sessionId": chat_id, "requestId": "may_c", "decision": "approved"}
    after = {"runId": run_id, "cursor": asked[-1]["cursor"]}
    late = sockets.open(server)
    assert late.join(chat_id, format="ai-sdk", after=after)["status"] == "waiting"
    late.read("session:waiting")
    assert socket.ask("chat:answer", answer)["runId"] == run_id
    rest = late.frames()
    begun = [frame for frame in rest if frame["cursor"] == asked[-1]["cursor"]]
    assert begun[0] == rest[0]
    assert rest[0]["data"]["type"] == "start"
    told = [(frame["cursor"], frame["data"]) for frame in rest[len(begun) :]]
    whole = server_probe.told(run_id, "ai-sdk")
    assert told == whole[-len(told) :]
    assert socket.read("agent:frame", len(asked) + len(rest)) == asked + rest
    for each in (socket, late):
        assert each.read("session:waiting") == [waiting], "it was told once"


# What is refused


NO_SESSION: list[object] = [None, "c", 7, [], {}, {"sessionId": 7}, {"sessionId": ""}]


@pytest.mark.parametrize("event", ["session:join", "session:leave", "chat:message", "chat:stop",
                                   "chat:answer"])  # fmt: skip
@pytest.mark.parametrize("payload", NO_SESSION)
def test_invalid_session_is_rejected(socket: Socket, event: str, payload: object) -> None:
    error = socket.ask(event, payload)["error"]
    assert error["code"] == "invalid_request"
    assert error["field"] in (("sessionId", "requestId") if isinstance(payload, dict) else ("",))


@pytest.mark.parametrize(
    ("event", "more", "code", "field"),
    [
        ("session:join", {"format": "morse"}, "unknown_protocol", None),
        ("session:join", {"format": 7}, "invalid_request", "format"),
        ("session:join", {"profile": "v99"}, "unknown_profile", None),
        ("session:join", {"format": "ai-sdk", "profile": "v99"}, "unknown_profile", None),
        ("session:join", {"lastEventIndex": "7"}, "invalid_request", "lastEventIndex"),
        ("session:join", {"lastEventIndex": 1.5}, "invalid_request", "lastEventIndex"),
        ("session:join", {"lastEventIndex": 7}, "bad_cursor", None),
        ("session:join", {"lastEventIndex": -2}, "bad_cursor", None),
        ("session:join", {"lastEventIndex": 10**15}, "bad_cursor", None),
        ("session:join", {"after": {"runId": "r", "cursor": "1"}}, "invalid_request", "after"),
        ("session:join", {"format": "ai-sdk", "lastEventIndex": 0}, "invalid_request",
         "lastEventIndex"),
        ("session:join", {"format": "ai-sdk", "after": "1.1"}, "invalid_request", "after"),
        ("session:join", {"format": "ai-sdk", "after": {}}, "invalid_request", "after.runId"),
        ("session:join", {"format": "ai-sdk", "after": {"runId": "r", "cursor": 1}},
         "invalid_request", "after.cursor"),
        ("session:join", {"format": "ai-sdk", "after": {"runId": "r", "cursor": "1"}},
         "not_found", None),
        ("chat:message", {}, "invalid_request", "message"),
        ("chat:message", {"message": 7}, "invalid_request", "message"),
        ("chat:message", {"message": {"id": "m"}}, "invalid_request", "message.role"),
        ("chat:message", {"message": "Hi", "agent": 7}, "invalid_request", "agent"),
        ("chat:message", {"message": "Hi", "trigger": "shout"}, "invalid_request", "trigger"),
        ("chat:message", {"message": "Hi", "idempotencyKey": "k" * 501}, "invalid_request",
         "idempotencyKey"),
        ("chat:stop", {}, "not_found", None),
        ("chat:stop", {"runId": 7}, "invalid_request", "runId"),
        ("chat:stop", {"run": "r"}, "invalid_request", "run"),
        ("chat:answer", {"requestId": "q", "run": "r"}, "invalid_request", "run"),
        ("session:join", {"lasteventIndex": 47}, "invalid_request", "lasteventIndex"),
        ("session:leave", {"run": "r"}, "invalid_request", "run"),
        ("session:join", {"x" * 1000: 1}, "invalid_request", "x" * 200),
        ("chat:answer", {"requestId": "q"}, "not_found", None),
        ("chat:answer", {}, "invalid_request", "requestId"),
        ("chat:answer", {"requestId": "q", "decision": "maybe"}, "invalid_request", "decision"),
        ("chat:shout", {}, "invalid_request", "event"),
    ],
)  # fmt: skip
def test_invalid_value_is_named(
    socket: Socket, chat_id: str, event: str, more: Json, code: str, field: str | None
) -> None:
    error = socket.ask(event, {"sessionId": chat_id, **more})["error"]
    assert (error["code"], error.get("field")) == (code, field), error
    assert error["message"]


@pytest.mark.parametrize("cursor", ["x", "", "-1", "1.99", "999", "9" * 5000])
def test_invalid_cursor_error_names_the_last_one(
    socket: Socket, server_probe: ServerProbe, chat_id: str, cursor: str
) -> None:
    run_id = socket.say(chat_id, prompt(text("Hi")))["runId"]
    server_probe.told(run_id, "canonical")
    error = socket.join(chat_id, format="ai-sdk", after={"runId": run_id, "cursor": cursor})[
        "error"
    ]
    assert error["code"] == "bad_cursor"
    assert error["tail"] > 1


@pytest.mark.parametrize("user_id", ["ann", None, {"id": 7}])
def test_client_supplied_identity_is_ignored(
    socket: Socket, server_probe: ServerProbe, chat_id: str, gate: Gate, user_id: object
) -> None:
    said = {"sessionId": chat_id, "userId": user_id}
    assert socket.ask("session:join", said)["status"] == "idle"
    run_id = socket.ask("chat:message", {**said, "message": prompt(gate.step)})["runId"]
    assert (
        socket.ask("chat:answer", {**said, "requestId": "q"})["error"]["code"] != "invalid_request"
    )
    assert socket.ask("chat:stop", said)["runId"] == run_id
    assert {event.get("userId", "local") for event in socket.events()} == {"local"}
    assert socket.ask("session:leave", said) == {"sessionId": chat_id}


def test_client_without_acknowledgement_gets_errors_as_events(socket: Socket, chat_id: str) -> None:
    socket.tell("chat:stop", {"sessionId": chat_id})
    socket.tell("chat:shout")
    first, second = socket.read("session:error", 2)
    assert (first["sessionId"], first["error"]["code"]) == (chat_id, "not_found")
    assert (second["sessionId"], second["error"]["field"]) == (None, "event")


def test_a_join_that_is_refused_leaves_the_one_before(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    socket.join(chat_id)
    assert "error" in socket.join(chat_id, lastEventIndex=99)
    run_id = socket.say(chat_id, prompt(text("Hi")))["runId"]
    assert socket.events() == server_probe.events(run_id)


def test_deleted_chat_sends_no_more_events(
    socket: Socket, server_probe: ServerProbe, chat_id: str
) -> None:
    socket.join(chat_id)
    socket.say(chat_id, prompt(text("Hi")))
    socket.events()
    server_probe.delete(chat_id)
    [broken] = socket.read("session:error")
    assert (broken["sessionId"], broken["error"]["code"]) == (chat_id, "log_deleted")
    assert socket.join(chat_id)["status"] == "idle", "it can be begun anew"


def test_a_socket_joins_so_many_sessions_and_no_more(socket: Socket, chat_id: str) -> None:
    for number in range(100):
        assert "error" not in socket.join(f"{chat_id}-{number}")
    assert socket.join("one more")["error"]["code"] == "too_many_sessions"
    assert "error" not in socket.join(f"{chat_id}-7"), "that one it has"
    socket.ask("session:leave", {"sessionId": f"{chat_id}-7"})
    assert "error" not in socket.join("one more")


@each_transport
def test_page_of_another_origin_is_rejected(
    sockets: SocketClients, server: LiveServer, transport: str
) -> None:
    foreign = {"origin": "https://evil.example"}
    assert sockets.open(server, transport, extraHeaders=foreign).refused
    own = {"origin": server.url}
    assert sockets.open(server, transport, extraHeaders=own).refused is None


def test_a_message_that_is_too_big_ends_its_socket(
    sockets: SocketClients, server: LiveServer, chat_id: str
) -> None:
    socket = sockets.open(server, reconnection=False)
    socket.tell("chat:message", {"sessionId": chat_id, "message": "x" * (9 * 1024 * 1024)})
    assert "transport" in socket.gone()
