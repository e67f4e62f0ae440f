"""An agent of OpenAI's Agents SDK behind FastAPI, for clients of AG-UI."""

import os
from collections.abc import AsyncIterator

import uvicorn
from fastapi import FastAPI
from scripted_model import ScriptedModel
from starlette.requests import HTTPConnection

import mobox
from agents import Agent, Runner, function_tool, set_tracing_disabled


@function_tool
def get_weather(city: str) -> str:
    """Say how warm it is in a city."""
    return f"21 degrees in {city}"


model = os.environ.get("MODEL") or ScriptedModel()  # a model of OpenAI needs OPENAI_API_KEY
set_tracing_disabled(True)
weatherman = Agent(name="weatherman", model=model, tools=[get_weather])


@mobox.agent("weather", framework="openai-agents")
async def weather(turn: mobox.Turn) -> AsyncIterator[object]:
    """Knows how warm it is."""
    result = Runner.run_streamed(weatherman, turn.messages())
    async for event in result.stream_events():
        yield event


def who(request: HTTPConnection) -> str:
    """Your own authentication: here everybody is who they say they are."""
    return request.headers.get("x-user", "guest")


app = FastAPI()
mobox.mount(app, principal=who, agents=[weather])  # elsewhere: allowed_hosts=("app.example",)

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
