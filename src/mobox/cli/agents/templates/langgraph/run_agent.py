"""A graph of LangGraph: the model and its tool in turns, until the model calls no more tools."""

from langchain_anthropic import ChatAnthropic
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from shared.frameworks.langchain import run


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


model = ChatAnthropic(model="claude-sonnet-4-5").bind_tools([get_weather])


def call_model(state: MessagesState) -> dict:
    """Ask the model for its next message."""
    return {"messages": [model.invoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("model", call_model)
graph.add_node("tools", ToolNode([get_weather]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")

run(graph.compile())
