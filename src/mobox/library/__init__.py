"""Mobox in a program of yours. docs/library.md tells how.

Rule 1: nothing is read from the environment: a program has variables of its own.
Rule 2: whoever asks for something says for which owner, or leaves that to `principal`.
Rule 3: a response is that of the server's own route, with its checks, limits and errors.
"""

from mobox.library.box import Mobox
from mobox.library.mounting import mount

__all__ = ["Mobox", "mount"]
