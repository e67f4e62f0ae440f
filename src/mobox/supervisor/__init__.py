"""Starts, answers, stops and ends runs, whatever process fails."""

from mobox.supervisor.limits import Limits
from mobox.supervisor.supervisor import Continued, Supervisor

__all__ = ["Continued", "Limits", "Supervisor"]
