"""The OpenAPI document as an HTML page: no script, no inline style, no external resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final, NamedTuple

import msgspec

from mobox.delivery.sse import STREAM
from mobox.server.openapi.notation import Schema, Schemas, example_of, name_of, notation_of

_CODE: Final = re.compile(r"`([^`]+)`")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{css}">
</head>
<body>
<nav aria-label="Contents">
<p class="title"><a href="#top">{title}</a> <small>{version}</small></p>
{contents}
</nav>
<main id="top">
<h1>{title} <small>{version}</small></h1>
<p class="lead">The server's HTTP API, also available as an
<a href="{json}">OpenAPI 3.1</a> document.</p>
{sections}
</main>
</body>
</html>
"""


class Operation(NamedTuple):
    """One operation of the document, with its method and path."""

    method: str
    path: str
    told: Mapping[str, Any]
    """The operation object."""

    @property
    def anchor(self) -> str:
        return escape(self.told["operationId"])

    @property
    def parameters(self) -> list[Mapping[str, Any]]:
        return list(self.told.get("parameters", ()))

    @property
    def body(self) -> Mapping[str, Any]:
        """The schema and example of its JSON body; empty without a body."""
        return dict(self.told.get("requestBody", {}).get("content", {}).get("application/json", {}))

    @property
    def scopes(self) -> list[str]:
        """The scopes that a key needs."""
        return [scope for key in self.told["security"] for scope in key["key"]]

    @property
    def is_streamed(self) -> bool:
        answers = self.told["responses"].values()
        return any(STREAM in answer.get("content", ()) for answer in answers)


def docs_page(
    document: Mapping[str, Any],
    base_url: str = "http://127.0.0.1:8000",
    css: str = "docs.css",
    json: str = "openapi.json",
) -> bytes:
    """The page; `base_url` is for the examples, `css` and `json` are the URLs of those files."""
    groups = _groups(document["paths"])
    schemas: Schemas = dict(sorted(document["components"]["schemas"].items()))
    sections = [_section(name, groups[name], schemas, base_url) for name in groups]
    types = _lines(_type(name, schema) for name, schema in schemas.items())
    return _PAGE.format(
        title=escape(f"{document['info']['title']} API"),
        version=escape(document["info"]["version"]),
        css=escape(css),
        json=escape(json),
        contents=_contents(groups, schemas),
        sections=_lines([*sections, f"<section>\n<h2>Types</h2>\n{types}\n</section>"]),
    ).encode()


def _groups(paths: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Operation]]:
    """The operations by their first tag, in the order of the document."""
    groups: dict[str, list[Operation]] = {}
    for path, operations in paths.items():
        for method, operation in operations.items():
            tag = operation.get("tags", ["Other"])[0]
            groups.setdefault(tag, []).append(Operation(method.upper(), path, operation))
    return groups


def _contents(groups: Mapping[str, list[Operation]], schemas: Schemas) -> str:
    lists = {name: map(_entry, operations) for name, operations in groups.items()}
    names = map(escape, schemas)
    types = (f'<li><a href="#type-{name}"><code>{name}</code></a></li>' for name in names)
    return _lines(
        f"<h2>{escape(name)}</h2>\n<ul>\n{_lines(entries)}\n</ul>"
        for name, entries in [*lists.items(), ("Types", types)]
    )


def _entry(operation: Operation) -> str:
    summary = escape(operation.told["summary"])
    badge = _badge(operation.method)
    return f'<li><a href="#{operation.anchor}">{badge} <span>{summary}</span></a></li>'


def _section(name: str, operations: Iterable[Operation], schemas: Schemas, base_url: str) -> str:
    articles = (_article(operation, schemas, base_url) for operation in operations)
    return f"<section>\n<h2>{escape(name)}</h2>\n{_lines(articles)}\n</section>"


def _article(operation: Operation, schemas: Schemas, base_url: str) -> str:
    fields = operation.told
    path = _PLACEHOLDER.sub(r"<var>{\1}</var>", escape(operation.path))
    curl = escape(_curl(operation, schemas, base_url))
    parts = [
        f'<article id="{operation.anchor}">',
        f"<h3>{escape(fields['summary'])}</h3>",
        f'<p class="path">{_badge(operation.method)} <code>{path}</code></p>',
        *(f"<p>{paragraph}</p>" for paragraph in _paragraphs(fields.get("description", ""))),
        *(f"<p>Required scope: <code>{escape(scope)}</code></p>" for scope in operation.scopes),
        _table("Parameters", map(_parameter, operation.parameters)),
        _body(operation, schemas),
        _table("Responses", (_answer(*answer) for answer in fields["responses"].items())),
        f"<h4>Example</h4>\n<pre><code>{curl}</code></pre>",
        "</article>",
    ]
    return _lines(part for part in parts if part)


def _badge(method: str) -> str:
    return f'<b class="method {escape(method.lower())}">{escape(method)}</b>'


def _paragraphs(text: str) -> list[str]:
    """Text as HTML: blank lines separate paragraphs, backquotes mark code."""
    found = (" ".join(part.split()) for part in text.split("\n\n"))
    return [_CODE.sub(r"<code>\1</code>", escape(part)) for part in found if part]


def _table(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    """A table with a name, a type and a note per row."""
    cells = [
        f'<tr><th scope="row">{name}</th><td><code>{kind}</code></td><td>{word}</td></tr>'
        for name, kind, word in rows
    ]
    heading = f"<h4>{title}</h4>\n" if title else ""
    return f"{heading}<table>\n{_lines(cells)}\n</table>" if cells else ""


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, str, str]:
    words = [parameter["in"], *(["required"] if parameter.get("required") else [])]
    description = _paragraphs(parameter.get("description", ""))
    name = f"<code>{escape(parameter['name'])}</code>"
    note = " ".join([_note(", ".join(words)), *description])
    return name, notation_of(parameter["schema"]), note


def _note(text: str) -> str:
    return f"<small>{escape(text)}</small>"


def _body(operation: Operation, schemas: Schemas) -> str:
    if not operation.body:
        return ""
    schema = operation.body["schema"]
    fields = _fields(schemas[name_of(schema)]) if "$ref" in schema else ""
    line = f"<p><code>{notation_of(schema)}</code> {_note('application/json')}</p>"
    return _lines(["<h4>Body</h4>", line, fields])


def _answer(status: str, answer: Mapping[str, Any]) -> tuple[str, str, str]:
    name = "4xx, 5xx" if status == "default" else status
    [(media, content)] = answer.get("content", {"": {}}).items()
    kind = notation_of(content["schema"]) if media == "application/json" else escape(media)
    return name, kind or "none", escape(answer["description"])


def _type(name: str, schema: Schema) -> str:
    parts = [
        f'<article id="type-{escape(name)}">',
        f"<h3><code>{escape(name)}</code></h3>",
        *(f"<p>{paragraph}</p>" for paragraph in _paragraphs(schema.get("description", ""))),
        _fields(schema) or f"<p><code>{notation_of(schema)}</code></p>",
        "</article>",
    ]
    return _lines(parts)


def _fields(schema: Schema) -> str:
    fields = schema.get("properties", {})
    required = schema.get("required", ())
    return _table("", (_field(name, fields[name], name in required) for name in fields))


def _field(name: str, schema: Schema, required: bool) -> tuple[str, str, str]:
    default = msgspec.json.encode(schema.get("default")).decode()
    word = "required" if required else f"default {default}" if "default" in schema else "optional"
    return f"<code>{escape(name)}</code>", notation_of(schema), _note(word)


def _curl(operation: Operation, schemas: Schemas, base_url: str) -> str:
    path = _PLACEHOLDER.sub(lambda found: found[1].upper(), operation.path)
    needed = [each for each in operation.parameters if each.get("required")]
    query = "&".join(f"{each['name']}=…" for each in needed if each["in"] == "query")
    url = f"{base_url}{path}{'?' if query else ''}{query}"
    method = "" if operation.method == "GET" else f" -X {operation.method}"
    parts = [f"curl{' -N' if operation.is_streamed else ''}{method} {_quoted(url)}"]
    parts += [f"-H '{each['name']}: …'" for each in needed if each["in"] == "header"]
    if body := operation.body:
        value = body["example"] if "example" in body else example_of(body["schema"], schemas)
        text = msgspec.json.format(msgspec.json.encode(value)).decode().replace("\n", "\n  ")
        parts += ["-H 'content-type: application/json'", f"-d {_quoted(text)}"]
    return " \\\n  ".join(parts)


def _quoted(text: str) -> str:
    """Quoted for a shell, if it has special characters."""
    special = set(text) & set(" '\"&?$\\{}[]\n")
    return "'{}'".format(text.replace("'", "'\\''")) if special else text


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(parts)
