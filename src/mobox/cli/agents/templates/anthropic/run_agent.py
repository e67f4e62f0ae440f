"""An agent with Anthropic's own client: the loop over the model's calls is here."""

from anthropic import Anthropic
from shared.emitter import read_turn
from shared.frameworks.anthropic import emit, messages


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "description": "The weather of a city.", "input_schema": CITY}

client = Anthropic()
history = messages(read_turn())
while True:
    request = {"model": "claude-sonnet-4-5", "max_tokens": 4096, "tools": [TOOL]}
    answer = emit(client.messages.create(**request, messages=history, stream=True))
    for call in answer.calls:
        answer.result(call, get_weather(**call.input))
    history += answer.messages()
    if not answer.calls:
        break
