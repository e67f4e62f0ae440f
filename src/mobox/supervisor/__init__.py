"""Starts, answers, stops and ends runs, whatever process fails."""

from mobox.supervisor.supervisor import Continued, Supervisor

__all__ = ["Continued", "Supervisor"]
