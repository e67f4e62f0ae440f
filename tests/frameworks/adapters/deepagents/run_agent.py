"""A deep agent, with a subagent."""

from deepagents import create_deep_agent
from langchain_anthropic import ChatAnthropic
from shared.frameworks.langchain import run
from tools import delete_file, hold, look_up

model = ChatAnthropic(model="claude-scripted", api_key="none", max_retries=0)
helper = {
    "name": "helper",
    "description": "Helps.",
    "system_prompt": "You help.",
    "tools": [look_up],
}
run(
    create_deep_agent(
        model=model,
        tools=[look_up, delete_file, hold],
        subagents=[helper],
        interrupt_on={"delete_file": True},
    )
)
