"""An agent of OpenAI's Agents SDK in FastAPI, for AG-UI clients."""

import os

import uvicorn
from fastapi import FastAPI
from scripted_model import ScriptedModel
from starlette.requests import HTTPConnection

import mobox
from agents import Agent, function_tool, set_tracing_disabled
from mobox.frameworks import openai_agents


@function_tool
def get_weather(city: str) -> str:
    """Return the temperature in a city."""
    return f"21 degrees in {city}"


model = os.environ.get("MODEL") or ScriptedModel()  # OpenAI's models need OPENAI_API_KEY
set_tracing_disabled(True)
weatherman = Agent(name="weatherman", model=model, tools=[get_weather])
weather = openai_agents.agent(
    "weather", weatherman, description="Reports the temperature in a city."
)


def authenticate(request: HTTPConnection) -> str:
    """Replace this with your own authentication: it trusts the header `x-user`."""
    return request.headers.get("x-user", "guest")


app = FastAPI()
# In production, add allowed_hosts=("app.example",).
mobox.mount(app, principal=authenticate, agents=[weather])

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
