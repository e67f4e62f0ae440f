"""Photos of any size: real PNG files that no compression makes smaller."""

from __future__ import annotations

import hashlib
import random
import struct
import zlib

from guides.client_tab import Upload

__all__ = ["described", "photo"]


def photo(name: str, megabytes: int) -> Upload:
    """A picture with random pixels; the same for the same name."""
    side = int((megabytes * 1_000_000 / 3) ** 0.5)
    pixels = random.Random(name)
    rows = b"".join(b"\0" + pixels.randbytes(3 * side) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b"")]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)
    return {"name": name, "mimeType": "image/png", "buffer": content}


def described(photo: Upload) -> str:
    """What the agent writes about it, if it received every byte."""
    content = photo["buffer"]
    return f"image/png {len(content)} {hashlib.sha256(content).hexdigest()[:12]}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
