"""A generator agent with its output as Server-Sent Events: no server, no framework.

    python main.py "How long?" > answer.sse

The default protocol is the AI SDK's; add another as the second argument: `… ag-ui`.
"""

import asyncio
import sys
from collections.abc import Iterator

import mobox


@mobox.agent("counter")
def counter(turn: mobox.Turn) -> Iterator[object]:
    """Counts the letters of the prompt."""
    yield mobox.emit.status("Counting")
    call = mobox.emit.tool_use("count", {"text": turn.prompt})
    yield call
    yield mobox.emit.tool_result(call.id, len(turn.prompt))
    yield f"That is {len(turn.prompt)} letters, "
    yield f"{len(turn.prompt.split())} words."


async def main(prompt: str, protocol: str = "ai-sdk") -> None:
    """Start a run and print its frames as they arrive; each is stored before it is printed."""
    async with mobox.Mobox(agents=[counter], data=".mobox") as box:
        run = await box.begin("me", prompt)
        async for frames in box.frames("me", run.id, protocol):
            sys.stdout.buffer.write(frames)
            sys.stdout.flush()
        print(f"stored in .mobox as {run.id}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
