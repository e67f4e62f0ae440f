"""The composer of a tab: its attachments, its queue, and the list that `/` opens."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Final

from playwright.sync_api import FilePayload, Locator, expect

from web.chat_tab import Tab

__all__ = ["PICTURE", "Composing", "note"]


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _picture(side: int = 48) -> bytes:
    """A PNG: a violet square."""
    rows = (b"\0" + b"\x6a\x3b\xbd" * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


PICTURE: Final[FilePayload] = {
    "name": "square.png",
    "mimeType": "image/png",
    "buffer": _picture(),
}

PASTE = """
(field, { name, type, bytes }) => {
  const data = new DataTransfer();
  const content = Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0));
  data.items.add(new File([content], name, { type }));
  const event = { clipboardData: data, bubbles: true, cancelable: true };
  field.dispatchEvent(new ClipboardEvent("paste", event));
}
"""
DRAG = """
(target, { kinds, name, type, bytes }) => {
  const data = new DataTransfer();
  const content = Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0));
  data.items.add(new File([content], name, { type }));
  const event = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const kind of kinds) target.dispatchEvent(new DragEvent(kind, event));
}
"""


def note(words: str = "Buy milk.", name: str = "note.txt") -> FilePayload:
    """A text file."""
    return {"name": name, "mimeType": "text/plain", "buffer": words.encode()}


def _data(file: FilePayload) -> dict[str, str]:
    content = base64.b64encode(file["buffer"]).decode()
    return {"name": file["name"], "type": file["mimeType"], "bytes": content}


class Composing:
    """What a user does in the composer."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        page = tab.page
        self.files = page.get_by_role("list", name="Attachments").get_by_role("listitem")
        self.uploading = self.files.get_by_role("progressbar")
        self.queue = page.get_by_role("region", name="Queued messages")
        self.queued = self.queue.get_by_role("listitem")
        self.options = page.get_by_role("listbox", name="Agents and starters").get_by_role("option")

    def attach(self, *files: FilePayload) -> None:
        """Choose files in the browser's dialog."""
        with self.tab.page.expect_file_chooser() as chooser:
            self.tab.page.get_by_role("button", name="Attach files").click()
        chooser.value.set_files(list(files))

    def paste(self, file: FilePayload) -> None:
        self.tab.composer.evaluate(PASTE, _data(file))

    def drag(self, file: FilePayload, *kinds: str) -> None:
        """Move a file over the conversation; `kinds` are the browser's events."""
        self.tab.page.locator("main").evaluate(DRAG, {**_data(file), "kinds": kinds})

    def is_attached(self, *names: str) -> None:
        """Wait until exactly these files are attached and stored."""
        expect(self.files).to_have_count(len(names))
        for item, name in zip(self.files.all(), names, strict=True):
            expect(item).to_contain_text(name)
        expect(self.uploading).to_have_count(0)

    def enqueue(self, text: str) -> None:
        """Write a message while the agent is busy."""
        before = self.queued.count()
        self.tab.composer.fill(text)
        self.tab.composer.press("Enter")
        expect(self.queued).to_have_count(before + 1)
        expect(self.tab.composer).to_have_value("")

    def button(self, name: str) -> Locator:
        """A button of the queue; its name begins so."""
        return self.queue.get_by_role("button", name=name)
