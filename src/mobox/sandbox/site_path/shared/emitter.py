"""`shared.emitter` for agents that are run by hand, in an environment that has mobox installed.

`mobox_shared.pth` puts the folder above on the path of every Python there. So `shared` has no
`__init__.py`: a package of that name that belongs to another project is found instead of it, and a
plain folder of that name is joined with it. Agents that Mobox runs have `agent_path` first.
"""

from mobox import emitter
from mobox.emitter import *

__all__ = emitter.__all__
