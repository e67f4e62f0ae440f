"""What is put on an agent's path: this folder, so that `from shared.emitter import emit` works.

Nothing in it needs mobox or any other package, and all of it runs on Python 3.9.
"""
