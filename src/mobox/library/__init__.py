"""Mobox as a library, inside your program; docs/library.md is the guide.

Rule 1: no settings are read from the environment, whose variables belong to the program.
Rule 2: every request has an owner, given by the caller or by the `principal` hook.
Rule 3: responses come from the server's own routes, with their checks, limits and errors.
"""

from mobox.library.box import Mobox, mount

__all__ = ["Mobox", "mount"]
