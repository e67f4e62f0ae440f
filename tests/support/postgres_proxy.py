"""What stands between a store and PostgreSQL, and can swallow what one of them says."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

NAME = ".s.PGSQL.5432"


class Proxy:
    """Passes on all that is said, until it is told otherwise; `url` leads through it."""

    def __init__(self, url: str, folder: Path) -> None:
        parts = urlsplit(url)
        (host,) = parse_qs(parts.query)["host"]
        self._there = str(Path(host) / NAME)
        self._here = folder / NAME
        self.url = urlunsplit(parts._replace(query=f"host={folder}"))
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions_pass = True
        self._answers_pass = True
        self._last_words: bytes | None = None

    async def open(self) -> None:
        """Let everybody through."""
        self._questions_pass = self._answers_pass = True
        self._last_words = None
        self._server = await asyncio.start_unix_server(self._serve, self._here)

    def swallow_questions(self) -> None:
        """What a store says from now on is never heard."""
        self._questions_pass = False

    def pass_questions(self) -> None:
        """What a store says from now on is heard again; what was swallowed is lost."""
        self._questions_pass = True

    def swallow_answer_to(self, words: bytes) -> None:
        """From the question on that contains these words nobody hears what the database says."""
        self._last_words = words

    async def close(self) -> None:
        """Cut all connections, and refuse new ones."""
        assert self._server is not None
        self._server.close()
        self._here.unlink()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with suppress(OSError):
            to, from_ = await self._connect(writer, reader)
            await asyncio.gather(to, from_, return_exceptions=True)
        self._tasks.discard(task)

    async def _connect(
        self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader
    ) -> tuple[asyncio.Task[None], asyncio.Task[None]]:
        answers, questions = await asyncio.open_unix_connection(self._there)
        self._writers |= {writer, questions}
        return (
            asyncio.create_task(self._pass_on(reader, questions, is_question=True)),
            asyncio.create_task(self._pass_on(answers, writer, is_question=False)),
        )

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, is_question: bool
    ) -> None:
        try:
            while data := await source.read(65536):
                if is_question and self._last_words is not None and self._last_words in data:
                    self._answers_pass = False
                if self._questions_pass if is_question else self._answers_pass:
                    target.write(data)
        finally:
            target.close()
            self._writers.discard(target)
