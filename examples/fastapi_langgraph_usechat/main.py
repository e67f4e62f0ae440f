"""A LangGraph agent in FastAPI, for `useChat`: stored, resumable, with chats per user."""

import os
from collections.abc import AsyncIterator

import uvicorn
from fastapi import FastAPI, Request, Response
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from scripted_model import ScriptedModel
from starlette.requests import HTTPConnection

import mobox


def get_weather(city: str) -> str:
    """Return the temperature in a city."""
    return f"21 degrees in {city}"


name = os.environ.get("MODEL")  # such as openai:gpt-5
model = init_chat_model(name) if name else ScriptedModel()
graph = create_agent(model, tools=[get_weather])


@mobox.agent("weather", framework="langchain")
async def weather(turn: mobox.Turn) -> AsyncIterator[object]:
    """Reports the temperature in a city."""
    messages = turn.messages(style="openai")  # which LangChain reads
    async for event in graph.astream_events({"messages": messages}, version="v2"):
        yield event


def authenticate(request: HTTPConnection) -> str:
    """Replace this with your own authentication: it trusts the header `x-user`."""
    return request.headers.get("x-user", "guest")


app = FastAPI()
# In production, add allowed_hosts=("app.example",).
box = mobox.mount(app, principal=authenticate, agents=[weather])


@app.post("/api/chat")
async def chat(request: Request) -> Response:
    """Answer the request of `useChat`."""
    return await box.respond(request, agent="weather")


@app.get("/api/chat/{chat_id}/stream")
async def resume(request: Request, chat_id: str) -> Response:
    """Resume the stream when `useChat({ resume: true })` is loaded again."""
    return box.resume(request, chat_id)


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
