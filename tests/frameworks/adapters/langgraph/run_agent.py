"""An agent of LangChain, a LangGraph graph."""

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from shared.frameworks.langchain import run
from tools import delete_file, hold, look_up

model = ChatAnthropic(model="claude-scripted", api_key="none", max_retries=0)
helper = create_agent(model, tools=[look_up])


@tool
def ask_helper(task: str) -> str:
    """Give a task to the helper."""
    return helper.invoke({"messages": [{"role": "user", "content": task}]})["messages"][-1].text


asks = HumanInTheLoopMiddleware(interrupt_on={"delete_file": True})
run(create_agent(model, tools=[look_up, delete_file, hold, ask_helper], middleware=[asks]))
