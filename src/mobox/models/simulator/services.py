"""What the providers' APIs have besides models that answer: lists, counts and embeddings."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections.abc import Callable
from typing import Final

from mobox.models.simulator.answer import CREATED, Document, Reply, json_text
from mobox.models.simulator.anthropic import Messages
from mobox.models.simulator.reading import optional, required
from mobox.models.simulator.request import text_of, tokens_in

MODELS: Final = {
    "anthropic": ("claude-simulated",),
    "openai": ("gpt-simulated", "text-embedding-simulated"),
    "google": ("gemini-simulated",),
}
MADE: Final = "2025-11-15T09:46:40Z"
DIMENSIONS: Final = 1536

Service = Callable[[Document, str, frozenset[str]], Document]


def serve(method: str, path: str, body: Document, header_names: frozenset[str]) -> Reply:
    """The response to a request that no model answers; raises `InvalidRequest`."""
    allowed = [(methods, make) for end, methods, make in SERVICES if end.search(path)]
    for methods, make in allowed:
        if method in methods:
            return Reply(200, {}, make(body, path, header_names))
    return refusal(405 if allowed else 404, method, path)


def refusal(status: int, method: str, path: str) -> Reply:
    """What the simulator does not have."""
    message = f"the simulated model has no {method} {path}"
    error = {"type": "not_found_error", "message": message}
    return Reply(status, {}, {"type": "error", "error": error})


def _hello(_body: Document, _path: str, _names: frozenset[str]) -> Document:
    """Claude Code looks here whether there is a connection."""
    return {"message": "hello"}


def _count_claude(body: Document, _path: str, _names: frozenset[str]) -> Document:
    Messages().conversation(body)
    return {"input_tokens": tokens_in(json_text(body))}


def _count_responses(body: Document, _path: str, _names: frozenset[str]) -> Document:
    return {"object": "response.input_tokens", "input_tokens": tokens_in(json_text(body))}


def _count_gemini(body: Document, _path: str, _names: frozenset[str]) -> Document:
    tokens = tokens_in(json_text(body))
    return {
        "totalTokens": tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}],
    }


def _models(_body: Document, path: str, names: frozenset[str]) -> Document:
    if "v1beta" in path:
        return {"models": [_google_model(name) for name in MODELS["google"]]}
    if "anthropic-version" in names:
        models = [_claude_model(name) for name in MODELS["anthropic"]]
        ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]}
        return {"data": models, "has_more": False, **ends}
    return {"object": "list", "data": [_openai_model(name) for name in MODELS["openai"]]}


def _model(_body: Document, path: str, names: frozenset[str]) -> Document:
    """Every model is there, whatever its name."""
    name = path.rpartition("/")[2]
    if "v1beta" in path:
        return _google_model(name)
    return _claude_model(name) if "anthropic-version" in names else _openai_model(name)


def _claude_model(name: str) -> Document:
    return {"type": "model", "id": name, "display_name": "Simulated model", "created_at": MADE}


def _openai_model(name: str) -> Document:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": "mobox"}


def _google_model(name: str) -> Document:
    methods = ["generateContent", "countTokens"]
    about = {"displayName": "Simulated model", "supportedGenerationMethods": methods}
    return {"name": f"models/{name}", "version": "1", **about}


def _embeddings(body: Document, _path: str, _names: frozenset[str]) -> Document:
    given = body.get("input")
    inputs = required(body, "input", list) if not isinstance(given, str) else [given]
    if inputs and isinstance(inputs[0], int):  # one text as tokens
        inputs = [inputs]
    size = optional(body, "dimensions", int, DIMENSIONS)
    as_text = body.get("encoding_format") == "base64"
    vectors = [embedding(json_text(each), size) for each in inputs]
    data = [
        {"object": "embedding", "index": place, "embedding": _packed(v) if as_text else v}
        for place, v in enumerate(vectors)
    ]
    tokens = tokens_in(json_text(inputs))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": required(body, "model", str), "usage": usage}


def _embed_one(body: Document, _path: str, _names: frozenset[str]) -> Document:
    return {"embedding": {"values": _gemini_vector(body)}}


def _embed_many(body: Document, _path: str, _names: frozenset[str]) -> Document:
    requests = required(body, "requests", list)
    return {"embeddings": [{"values": _gemini_vector(each)} for each in requests]}


def _gemini_vector(request: Document) -> list[float]:
    text = text_of(optional(request, "content", dict, {}).get("parts"))
    return embedding(text, optional(request, "outputDimensionality", int, 768))


def embedding(text: str, size: int) -> list[float]:
    """A vector of length 1; texts that share words have similar ones."""
    size = max(1, min(size, 4096))
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        for place, sign in struct.iter_unpack("<IB", digest[:30]):
            vector[place % size] += 1.0 if sign & 1 else -1.0
    length = math.sqrt(sum(each * each for each in vector)) or 1.0
    return [each / length for each in vector]


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


GET: Final = frozenset({"GET", "HEAD"})
POST: Final = frozenset({"POST"})
SERVICES: Final[tuple[tuple[re.Pattern[str], frozenset[str], Service], ...]] = (
    (re.compile(r"/api/hello$"), GET, _hello),
    (re.compile(r"/messages/count_tokens$"), POST, _count_claude),
    (re.compile(r"/responses/input_tokens$"), POST, _count_responses),
    (re.compile(r"/embeddings$"), POST, _embeddings),
    (re.compile(r"/models/[^/]+:countTokens$"), POST, _count_gemini),
    (re.compile(r"/models/[^/]+:embedContent$"), POST, _embed_one),
    (re.compile(r"/models/[^/]+:batchEmbedContents$"), POST, _embed_many),
    (re.compile(r"/models$"), GET, _models),
    (re.compile(r"/models/[^/:]+$"), GET, _model),
)
"""The end of a path, its methods, and what answers."""
