"""A LangGraph agent behind FastAPI, for `useChat`: stored, resumable, and each user's own."""

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
    """Say how warm it is in a city."""
    return f"21 degrees in {city}"


name = os.environ.get("MODEL")  # such as openai:gpt-5
model = init_chat_model(name) if name else ScriptedModel()
graph = create_agent(model, tools=[get_weather])


@mobox.agent("weather", framework="langchain")
async def weather(turn: mobox.Turn) -> AsyncIterator[object]:
    """Knows how warm it is."""
    async for event in graph.astream_events({"messages": turn.messages()}, version="v2"):
        yield event


def who(request: HTTPConnection) -> str:
    """Your own authentication: here everybody is who they say they are."""
    return request.headers.get("x-user", "guest")


app = FastAPI()
box = mobox.mount(app, principal=who, agents=[weather])  # elsewhere: allowed_hosts=("app.example",)


@app.post("/api/chat")
async def chat(request: Request) -> Response:
    """What `useChat` posts, answered."""
    return await box.respond(request, agent="weather")


@app.get("/api/chat/{chat_id}/stream")
async def resume(request: Request, chat_id: str) -> Response:
    """What `useChat({ resume: true })` asks for when the page is loaded again."""
    return box.resume(request, chat_id)


if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
