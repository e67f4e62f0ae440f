"""The service desk of a small shop, on OpenAI's Agents SDK.

The desk looks up orders, asks an expert about the policies (an agent as a tool), and hands over to
the refund desk, whose tools need a person's approval.
"""

import os
from pathlib import Path
from typing import Literal

import shop
from openai.types.shared import Reasoning
from pydantic import BaseModel
from shared.emitter import emit_object
from shared.frameworks.openai_agents import run

from agents import Agent, ModelSettings, RunConfig, function_tool

PROMPTS = Path(__file__).resolve().parent / "prompts"
MODEL = os.environ.get("MODEL") or None
REASONING = os.environ.get("REASONING")  # such as `low`: reason, and show a summary of it


class Todo(BaseModel):
    content: str
    status: Literal["pending", "in_progress", "completed"]


@function_tool
def write_todos(todos: list[Todo]) -> str:
    """Show the customer your plan, all of it, whenever a step starts or is done."""
    return f"The plan with {len(todos)} steps is shown."


def made(name: str, prompt: str, **more) -> Agent:
    """An agent with the prompt of a file."""
    reasoning = Reasoning(effort=REASONING, summary="auto") if REASONING else None
    settings = {"model_settings": ModelSettings(reasoning=reasoning)} if reasoning else {}
    instructions = (PROMPTS / prompt).read_text("utf-8")
    return Agent(name=name, instructions=instructions, model=MODEL, **settings, **more)


policies = made("Policy expert", "policies.txt", tools=[shop.search_policies])
policy_expert = policies.as_tool(
    "policy_expert", "Answers questions about the shop's policies.", on_stream=emit_object
)
refund_desk = made(
    "Refund desk",
    "refund_desk.txt",
    handoff_description="Refunds and cancels orders.",
    tools=[shop.get_order, shop.refund_order, shop.cancel_order, policy_expert, write_todos],
)
desk = made(
    "Service desk",
    "desk.txt",
    tools=[shop.list_orders, shop.get_order, policy_expert, write_todos],
    handoffs=[refund_desk],
)
run(desk, run_config=RunConfig(tracing_disabled=True))
