"""An agent with OpenAI's own client: the loop over the model's calls is here."""

from openai import OpenAI
from shared.emitter import read_turn
from shared.frameworks.openai import emit, messages


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "parameters": CITY}

client = OpenAI()
history = messages(read_turn())
while True:
    request = {"model": "gpt-5-mini", "tools": [{"type": "function", "function": FUNCTION}]}
    answer = emit(client.chat.completions.create(**request, messages=history, stream=True))
    for call in answer.calls:
        answer.result(call, get_weather(**call.input))
    history += answer.messages()
    if not answer.calls:
        break
