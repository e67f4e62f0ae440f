"""What the checks share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mobox.settings import Settings

if TYPE_CHECKING:
    from mobox.models.config import ModelsConfig
    from mobox.supervisor.sandboxes import Sandboxes


class Context:
    """The settings to check."""

    def __init__(
        self,
        settings: Settings,
        *,
        is_online: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.settings = settings
        self.is_online = is_online
        """Whether providers may be called."""
        self.environment = environment

    @cached_property
    def models(self) -> ModelsConfig:
        """The providers and their keys; raises `InvalidSetting`."""
        from mobox.models.config import load_config

        return load_config(self.settings, self.environment)

    @cached_property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of agents; raises `InvalidSetting`."""
        from mobox.supervisor.sandboxes import Sandboxes, choose

        return Sandboxes(self.settings.sandbox, choose(self.settings.sandbox))
