"""Ctrl-C: counted while a run is shown, and never lost while a person is asked."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_WAKE: Final = signal.SIGURG
"""Ignored by default, so that one which comes too late does nothing."""
_PAUSE: Final = 0.02
_END: Final = b"\0"


class Interrupts:
    """How often a person has pressed Ctrl-C."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, *_: object) -> None:
        """Handle the signal."""
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt


@contextmanager
def noticed_while_reading() -> Iterator[None]:
    """Make sure that Ctrl-C ends `input`, at whatever moment it comes.

    `input` shows its prompt and then waits in select(). Between the two, Python only remembers a
    signal: select() is not interrupted, and nothing happens until the next key. So another thread
    interrupts it again.
    """
    received, sent = os.pipe()
    os.set_blocking(sent, False)
    main = threading.get_ident()
    thread = threading.Thread(target=_interrupt_again, args=(received, main), daemon=True)
    handler = signal.signal(_WAKE, lambda *_: None)
    before = signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.write(sent, _END)
        thread.join()
        signal.signal(_WAKE, handler)
        os.close(sent)
        os.close(received)


def _interrupt_again(received: int, main: int) -> None:
    """Wait for Ctrl-C, then interrupt the main thread until it has stopped reading."""
    interrupt = bytes((signal.SIGINT,))
    data = b""
    while _END not in data and interrupt not in data:
        data = os.read(received, 64)
    os.set_blocking(received, False)
    pause = threading.Event()
    while _END not in data:
        pause.wait(_PAUSE)
        signal.pthread_kill(main, _WAKE)
        try:
            data = os.read(received, 64)
        except BlockingIOError:
            data = b""
