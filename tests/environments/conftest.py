"""What tests of environments share."""

from support.wheels import index

__all__ = ["index"]
