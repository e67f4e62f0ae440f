"""What was allowed for a chat is not asked again: with the real clients, and over plain HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from server.ag_ui_clients import AGUIFrontend
from server.chat_clients import Frontend, on_wire
from server.live_server import LiveServer
from server.test_real_ag_ui import ASKS as AGUI_ASKS
from server.test_real_ag_ui import assert_told_again
from server.test_real_chat_answers import (
    ASKS,
    LEAVES,
    OFFICIAL,
    REQUEST,
    assert_asked,
    tool_of,
    without_approval,
)


def answer(frontend: Frontend, chat_id: str, **more: Any) -> httpx.Response:
    body = {"requestId": REQUEST, "decision": "approved", **more}
    return frontend.post(chat_id, "answer", **body)


@pytest.mark.parametrize("asking", [ASKS, LEAVES], ids=["agent waits", "agent has left"])
def test_the_page_is_not_asked_again(frontend: Frontend, chat_id: str, asking: str) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    assert_asked(page.send(asking), frontend)
    assert answer(frontend, chat_id, scope="chat").status_code == 202
    first = frontend.reload(chat_id).resume()
    assert first.error is None
    page = frontend.reload(chat_id, auto=OFFICIAL)
    report = page.send(asking)
    assert (report.status, report.error, report.invalid) == ("ready", None, None)
    assert [each["method"] for each in report.requests] == ["POST"]  # nothing is sent back
    tool = tool_of(report.messages[-1])
    assert tool["state"] == "output-available"
    if frontend.profile == "v7":
        assert tool["approval"] == {
            "id": on_wire(report.messages[-1], REQUEST),
            "requestReason": "May I?",
            "approved": True,
            "isAutomatic": True,
        }
    stored = frontend.stored(chat_id)
    assert stored["activeRun"] is None
    assert without_approval(frontend, report.messages[-1:]) == stored["messages"][-1:]
    replayed = frontend.reload(chat_id).resume()
    assert (replayed.messages[-1:], replayed.invalid) == (stored["messages"][-1:], None)


def test_a_generic_page_allows_by_its_request(frontend: Frontend, chat_id: str) -> None:
    page = frontend.open(chat_id, auto=OFFICIAL)
    asked = page.send(ASKS).messages[-1]
    name = on_wire(asked, REQUEST)
    options = {"body": {"approvalScopes": {name: "chat_input"}}}
    page.begin("addToolApprovalResponse", {"id": name, "approved": True, "options": options})
    assert tool_of(page.settle().messages[-1])["state"] == "output-available"
    (permission,) = permissions(frontend, chat_id)
    assert permission["input"] == {"path": "a.txt"}
    assert tool_of(page.send(ASKS).messages[-1])["state"] == "output-available"


def permissions(frontend: Frontend, chat_id: str) -> list[dict[str, Any]]:
    response = frontend.get(f"/api/chats/{chat_id}/permissions")
    assert response.status_code == 200
    found: list[dict[str, Any]] = response.json()["permissions"]
    return found


@pytest.mark.parametrize(
    "entry",
    [
        {"payload": {"approved": True, "scope": "chat"}},
        {"metadata": {"mobox": {"decision": "approved", "scope": "chat"}}},
    ],
    ids=["payload", "metadata"],
)
def test_an_ag_ui_client_is_not_interrupted_again(
    agui: AGUIFrontend, chat_id: str, entry: dict[str, Any]
) -> None:
    page = agui.open(chat_id)
    asked = page.say(AGUI_ASKS)
    (interrupt,) = asked.interrupts
    resume = {"interruptId": interrupt["id"], "status": "resolved", **entry}
    assert page.run(resume=[resume]).outcome == "success"
    report = page.say(AGUI_ASKS)
    assert (report.failure, report.warnings, report.outcome) == (None, [], "success")
    assert report.interrupts == []
    assert report.text.endswith("It is gone.")
    assert_told_again(report, agui, chat_id)


# Over HTTP


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"scope": "chat", "decision": "denied"}, 400, "only an approval can be lasting"),
        ({"scope": "forever"}, 400, "scope"),
        ({"scope": "once"}, 202, ""),
        ({"scope": "chat"}, 202, ""),
    ],
)
def test_a_scope_over_http(
    server: LiveServer, chat_id: str, body: dict[str, Any], status: int, said: str
) -> None:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": ASKS}]}
    with httpx.Client(base_url=server.url, timeout=60) as http:
        http.post("/api/chat", json={"id": chat_id, "message": message})
        sent = {"requestId": REQUEST, "decision": "approved", **body}
        response = http.post(f"/api/chat/{chat_id}/answer", json=sent)
        assert response.status_code == status
        assert said in response.text
        path = f"/api/chats/{chat_id}/permissions"
        found = http.get(path).json()["permissions"]
        allowed = [{k: v for k, v in each.items() if k in ("tool", "input")} for each in found]
        assert allowed == ([{"tool": "delete_file"}] if body == {"scope": "chat"} else [])
        for each in found:
            assert http.delete(f"{path}/{each['id']}").status_code == 204
            assert http.delete(f"{path}/{each['id']}").status_code == 404
        assert http.get(path).json() == {"permissions": []}
