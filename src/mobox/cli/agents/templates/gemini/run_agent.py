"""An agent with Google's own client: the loop over the model's calls is here."""

from google import genai
from shared.emitter import read_turn
from shared.frameworks.gemini import emit, messages


def get_weather(city: str) -> str:
    """Return the weather of a city."""
    return f"21 degrees and sunny in {city}"


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "parameters": CITY}

client = genai.Client()
contents = messages(read_turn())
while True:
    request = {
        "model": "gemini-2.5-flash",
        "config": {"tools": [{"function_declarations": [FUNCTION]}]},
    }
    answer = emit(client.models.generate_content_stream(**request, contents=contents))
    for call in answer.calls:
        answer.result(call, get_weather(**call.input))
    contents += answer.messages()
    if not answer.calls:
        break
