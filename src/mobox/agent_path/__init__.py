"""The folder that is put on an agent's path, so that `from shared.emitter import emit` works.

Nothing in it needs mobox or another package, and all of it runs on Python 3.9.
"""
