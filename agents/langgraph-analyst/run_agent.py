"""An analyst as a graph of its own, not a prebuilt agent.

    load ──▶ model ──▶ end
              │ ▲
              ▼ │
      analyse, export        export asks a person first

The model writes placeholders of charts into its answer, where the page draws them.
"""

import json
import os
from pathlib import Path
from typing import Annotated, Any

from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from sales import By, Metric, Split, analysed, described, load_sales
from shared.emitter import emit_file
from shared.frameworks.langchain import run

PROMPT = (Path(__file__).parent / "prompts" / "analyst.txt").read_text("utf-8")
MODEL = os.environ.get("MODEL", "gpt-5-mini")
CallId = Annotated[str, InjectedToolCallId]


class State(MessagesState):
    data: str  # what the model has to know of it


@tool
def analyse(metric: Metric, by: By, split: Split, call_id: CallId) -> str:
    """Get numbers and a chart of the sales. `by` is the x axis, `split` the lines, as years."""
    chart = json.dumps({"type": "chart", "tool_call_id": call_id})
    found = analysed(load_sales(), metric, by, split)
    return json.dumps({"placeholder": f"<<{chart}>>", **found})


@tool
def export_report(filename: str, text: str) -> str:
    """Export a report in Markdown, without charts. A person approves it first."""
    name = Path(filename).name.removesuffix(".md") or "report"  # no other folder
    file = Path(os.environ.get("MOBOX_STATE", ".")) / f"{name}.md"
    file.write_text(text, encoding="utf-8")
    emit_file("text/markdown", file.read_bytes(), name=file.name)
    return f"Exported to {file.name}."


analyse.handle_validation_error = export_report.handle_validation_error = True
model = ChatOpenAI(model=MODEL, stream_usage=True).bind_tools([analyse, export_report])


def load(state: State) -> dict[str, Any]:
    return {"data": described(load_sales())}


async def ask_model(state: State) -> dict[str, Any]:
    system = SystemMessage(PROMPT.replace("{data}", state["data"]))
    return {"messages": [await model.ainvoke([system, *state["messages"]])]}


def run_analyses(state: State) -> dict[str, Any]:
    return {"messages": [analyse.invoke(call) for call in calls(state, "analyse")]}


def run_exports(state: State) -> dict[str, Any]:
    """Ask, and only then write: the node starts again when the answer comes."""
    asked = calls(state, "export_report")
    about = {"name": "export_report", "description": "Export this report?"}
    allowed = {"action_name": "export_report", "allowed_decisions": ["approve", "edit", "reject"]}
    actions = [{**about, "args": call["args"]} for call in asked]
    answer = interrupt({"action_requests": actions, "review_configs": [allowed]})
    return {"messages": [exported(*each) for each in zip(asked, answer["decisions"], strict=True)]}


def exported(call: dict[str, Any], decision: dict[str, Any]) -> ToolMessage:
    if decision["type"] == "reject":
        told = f"User rejected the tool call. {decision.get('message') or ''}"
        return ToolMessage(told, tool_call_id=call["id"], name=call["name"], status="error")
    edited = decision.get("edited_action") or call
    return export_report.invoke({**call, "args": edited["args"]})


def calls(state: State, name: str) -> list[dict[str, Any]]:
    answer = [message for message in state["messages"] if message.type == "ai"][-1]
    return [call for call in answer.tool_calls if call["name"] == name]


def next_nodes(state: State) -> list[str]:
    return [name for name in NODES if calls(state, name)] or [END]


NODES = {"analyse": run_analyses, "export_report": run_exports}
graph = StateGraph(State).add_sequence([("load", load), ("model", ask_model)])
graph.add_edge(START, "load").add_conditional_edges("model", next_nodes, [*NODES, END])
for name, node in NODES.items():
    graph.add_node(name, node).add_edge(name, "model")

run(graph.compile())
