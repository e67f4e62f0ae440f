"""The title of a chat, made of its first message, without a model.

Rule 1: code, quotes and marks of Markdown, commands (`/name`), greetings and polite phrases are
        left out; what is left is cut after its first sentence, or between two words.
Rule 2: a message that only greets makes a weak title, which the chat's next message replaces.
Rule 3: a title that a person gave stays.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mobox.events.turn import PromptFile, UserMessage

NEW_CHAT: Final = "New chat"
_LONGEST: Final = 60
_SHORTEST: Final = 12
"""Characters of a first sentence that says enough."""
_READ: Final = 4000
"""Characters of a message that are looked at."""

_FENCED: Final = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)")
_MARKS: Final = re.compile(r"^(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,3}[.)]\s+)+")
_COMMAND: Final = re.compile(r"^[/@][\w-]+(?:\s+|$)")
_EMPHASIS: Final = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_LINK: Final = re.compile(r"!?\[([^\]\n]{1,200})\]\([^)\s]{1,2000}\)")
_GREETINGS: Final = (
    "hi|hello|hey|good (?:morning|afternoon|evening|day)|hallo|guten (?:morgen|tag|abend)|moin"
    "|servus|bonjour|salut|hola|buenos días|ciao|olá"
)
_NEXT: Final = (
    "can|could|would|will|please|i|i'm|i'd|what|how|why|who|when|where|which|is|are|do|does"
    "|kannst|könntest|können|könnten|bitte|ich|wie|was|warum|wer|wann|wo|welche"
)
"""Words after which a greeting needs no comma."""
_GREETING: Final = re.compile(
    rf"^(?:{_GREETINGS})(?: (?:there|all|everyone|everybody|team|again|zusammen|alle))?"
    rf"(?:\s*[,.!:;\u2013\u2014]+\s*|\s*$|\s+(?=(?:{_NEXT})\b))",
    re.IGNORECASE,
)
_POLITE: Final = re.compile(
    r"^(?:(?:can|could|would|will) you(?: please| kindly)?|please|kindly|i(?:'d| would) like you to"
    r"|i (?:want|need) you to|help me(?: to)?|(?:kannst|könntest) du(?: bitte)?"
    r"|(?:können|könnten) sie(?: bitte)?|bitte),?\s+(?=\S)",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(.+?[.!?…])(?=\s)|(.+?[。\uff01\uff1f])")


class Title(NamedTuple):
    """A title, and whether the next message should make a better one."""

    text: str
    is_weak: bool = False


def title_of(message: UserMessage | None) -> Title:
    """The title of a chat that begins with this message."""
    text = message.text[:_READ].strip() if message is not None else ""
    prose = _FENCED.sub("\n", text).strip() or text
    lines = [_plain(line) for line in prose.splitlines()]
    told = next(filter(None, map(_without_phrases, lines)), "")
    if told:
        return Title(_cut(told))
    if name := _file_name(message):
        return Title(_cut(name))
    first = next(filter(None, map(str.strip, text.splitlines())), "")
    return Title(_cut(first) or NEW_CHAT, is_weak=True)


def _plain(line: str) -> str:
    """A line without the marks of Markdown, and without a command before its words."""
    if line.lstrip().startswith(("```", "~~~")):
        return ""
    text = _LINK.sub(r"\1", _MARKS.sub("", line.strip()))
    text = " ".join(_EMPHASIS.sub(r"\2", text).split())
    return (_COMMAND.sub("", text) or text) if any(map(str.isalnum, text)) else ""


def _without_phrases(line: str) -> str:
    greeted = _GREETING.sub("", line)
    asked = _POLITE.sub("", greeted)
    if asked == line:
        return line
    if asked != greeted:  # it is no question any more
        asked = asked.rstrip("?")
    return asked[:1].upper() + asked[1:]


def _cut(text: str) -> str:
    """The first sentence, if it says enough; else as many words as there is room for."""
    if found := _SENTENCE.match(text):
        sentence = found[1] or found[2]
        if _SHORTEST <= len(sentence) <= _LONGEST:
            return sentence.rstrip(".。")
    if len(text) <= _LONGEST:
        return text if text.endswith("..") else text.rstrip(".。")
    words, space, _ = text[:_LONGEST].rpartition(" ")
    kept = words if space and len(words) >= _LONGEST // 2 else text[: _LONGEST - 1]
    return kept.rstrip(" ,;:.-\u2013\u2014") + "…"


def _file_name(message: UserMessage | None) -> str:
    files = (part for part in message.parts if isinstance(part, PromptFile)) if message else ()
    return next((file.name.strip() for file in files if file.name), "")
