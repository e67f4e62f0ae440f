"""The states of an attempt: the only place that decides what an attempt may do next.

An attempt executes an agent for a run, usually once. It is over when the run has ended, waits
without a process, or is no longer ours. Until then four parties act on it: the agent's output,
people who answer or stop, the server that shuts down or needs the slot, and the process that exits.
They interleave at every `await`. So none of them sets a flag: each reports a `Trigger`, and
TRANSITIONS says what the state becomes.

Rule 1: whatever affects what may happen next is a state. Everything else that an attempt holds is
        a resource (the process, the log's writer) or data for its end (the `Termination`).
Rule 2: a trigger that the table does not list for a state raises `IllegalTransition`: it is a bug.
        One that may come late, and then changes nothing, is listed with the same state.
Rule 3: no state in LEAVING leads back to one that is not. OVER has no exits.
Rule 4: questions about an attempt (does it accept an answer? does it use a slot?) are sets of
        states.

The usual life of a process is STARTING → RUNNING → EXITING → OVER: it says `done`, its run ends,
and then it exits. One that exits without saying so, and a function, go through ENDING instead.
Where it differs:

A pause. PAUSED is reported when it is parsed, before it is stored: a client that reads it in the
log may answer at once, and a new run may need the slot. ANSWERING lasts while an answer is stored
and passed to the process. In that state the process is not released, and the attempt's lock keeps
it from being concluded, so that a stored answer is not lost.

A stop. The first STOP decides how the run ends (its `Termination`). Output is still stored in
STOPPING. It is read and discarded in DRAINING: after the output limit, or once the process was
released.

A release. A waiting process is ended, and its run stays `waiting` in the store: the next answer
starts another attempt. A stop that comes meanwhile ends the run after all.

A drain. An attempt that has not started its agent is given back to the queue.

A restart. A process that exited without reading a stored answer is started again, with the answer
in its turn; unless it failed before it had ended its output.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from mobox.events import DoneReason, Error


class State(StrEnum):
    """Where an attempt is in its life."""

    STARTING = "starting"
    """It has no process: it waits for other attempts of the chat, or reads the history."""
    RUNNING = "running"
    """The agent is executed, or has exited and is about to be concluded."""
    WAITING = "waiting"
    """As RUNNING, but the run is paused until a person answers."""
    ANSWERING = "answering"
    """An answer is being stored and passed to the process."""
    STOPPING = "stopping"
    """The run has to end: the process is being ended, or will not be started."""
    DRAINING = "draining"
    """As STOPPING, but the rest of the output is discarded."""
    RELEASING = "releasing"
    """The process is being ended and its output discarded; the run stays `waiting`."""
    EXITING = "exiting"
    """The agent said that it is done: the end of the run is stored at once, while it exits."""
    ENDING = "ending"
    """The process has exited, and the end of the run is being stored."""
    OVER = "over"
    """It appends nothing more: the run has ended, waits, or is not ours any more."""


class Trigger(StrEnum):
    """What happens to an attempt."""

    LAUNCHED = "launched"
    """The process was started."""
    PAUSED = "paused"
    """The log pauses: an input request has to be answered."""
    RESUMED = "resumed"
    """The log continues after a pause."""
    ANSWER = "answer"
    """A person's answer is accepted."""
    ANSWERED = "answered"
    """The answer was stored and passed on, or was rejected."""
    STOP = "stop"
    """The run has to end: a request, a shutdown, a timeout, or the agent cannot be started."""
    OUTPUT_LIMIT = "output limit"
    """The agent wrote too much: the run has to end."""
    RELEASE = "release"
    """The process is not needed while the run waits."""
    GIVE_BACK = "give back"
    """The server drains before the agent is started: another process starts it."""
    RESTART = "restart"
    """The process has exited without reading an answer."""
    LEFT_WAITING = "left waiting"
    """The process has exited, and the run waits for an answer."""
    DONE = "done"
    """The agent has ended its output, and nothing waits for it: the run ends."""
    EXITED = "exited"
    """The process of a run that has ended has exited, too."""
    END = "end"
    """The process has exited, and so the run ends."""
    ENDED = "ended"
    """The end is stored."""
    LOST = "lost"
    """The lease was lost, or an internal error occurred: others end the run."""


TRANSITIONS: Final[Mapping[State, Mapping[Trigger, State]]] = {
    State.STARTING: {
        Trigger.LAUNCHED: State.RUNNING,
        Trigger.STOP: State.STOPPING,
        Trigger.GIVE_BACK: State.OVER,
        Trigger.LOST: State.OVER,
    },
    State.RUNNING: {
        Trigger.PAUSED: State.WAITING,
        Trigger.ANSWER: State.ANSWERING,  # of a request that has not paused the run yet
        Trigger.STOP: State.STOPPING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.DONE: State.EXITING,
        Trigger.RESTART: State.STARTING,
        Trigger.END: State.ENDING,
        Trigger.LOST: State.OVER,
    },
    State.WAITING: {
        Trigger.RESUMED: State.RUNNING,
        Trigger.ANSWER: State.ANSWERING,
        Trigger.STOP: State.STOPPING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.RELEASE: State.RELEASING,
        Trigger.LEFT_WAITING: State.OVER,
        Trigger.END: State.ENDING,  # the agent crashed
        Trigger.LOST: State.OVER,
    },
    State.ANSWERING: {
        Trigger.PAUSED: State.ANSWERING,
        Trigger.RESUMED: State.ANSWERING,
        Trigger.ANSWERED: State.RUNNING,  # followed by PAUSED if the log still pauses
        Trigger.STOP: State.STOPPING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.LOST: State.OVER,
    },
    State.STOPPING: {
        Trigger.PAUSED: State.STOPPING,
        Trigger.RESUMED: State.STOPPING,
        Trigger.ANSWERED: State.STOPPING,
        Trigger.STOP: State.STOPPING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.END: State.ENDING,
        Trigger.LOST: State.OVER,
    },
    State.DRAINING: {
        Trigger.PAUSED: State.DRAINING,  # in output that was being stored when it was stopped
        Trigger.RESUMED: State.DRAINING,
        Trigger.ANSWERED: State.DRAINING,
        Trigger.STOP: State.DRAINING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.END: State.ENDING,
        Trigger.LOST: State.OVER,
    },
    State.RELEASING: {
        Trigger.PAUSED: State.RELEASING,  # in output that was being stored when it was released
        Trigger.RESUMED: State.RELEASING,
        Trigger.STOP: State.DRAINING,
        Trigger.OUTPUT_LIMIT: State.DRAINING,
        Trigger.LEFT_WAITING: State.OVER,
        Trigger.END: State.ENDING,  # that output resumed the run
        Trigger.LOST: State.OVER,
    },
    State.EXITING: {
        Trigger.RESUMED: State.EXITING,  # the end closes open requests
        Trigger.STOP: State.EXITING,
        Trigger.EXITED: State.OVER,
        Trigger.LOST: State.OVER,
    },
    State.ENDING: {
        Trigger.RESUMED: State.ENDING,  # the end closes open requests
        Trigger.STOP: State.ENDING,
        Trigger.ENDED: State.OVER,
        Trigger.LOST: State.OVER,
    },
    State.OVER: {
        Trigger.PAUSED: State.OVER,  # an answer may still be on its way when the lease is lost
        Trigger.RESUMED: State.OVER,
        Trigger.ANSWERED: State.OVER,
        Trigger.STOP: State.OVER,
    },
}

HAS_PROCESS: Final = frozenset({State.RUNNING, State.WAITING, State.ANSWERING})
"""A process that has to be ended first when the attempt has to leave."""
ACCEPTS_ANSWERS: Final = frozenset({State.RUNNING, State.WAITING})
"""It takes an answer; in other states the answer starts another attempt, or comes too late."""
MUST_END: Final = frozenset({State.STOPPING, State.DRAINING})
"""The run ends when the process has exited, as the `Termination` says."""
DISCARDS_OUTPUT: Final = frozenset({State.DRAINING, State.RELEASING})
"""The rest of the process's output is read, and not stored."""
LEAVING: Final = frozenset(
    {
        State.STOPPING,
        State.DRAINING,
        State.RELEASING,
        State.EXITING,
        State.ENDING,
        State.OVER,
    }
)
"""Its process is being ended, or has ended: it uses no slot, and its chat is free soon."""


class IllegalTransition(RuntimeError):
    """A trigger that cannot happen in this state: a bug in the supervisor."""

    def __init__(self, state: State, trigger: Trigger) -> None:
        super().__init__(f"an attempt that is {state} cannot take the trigger '{trigger}'")


class Termination(NamedTuple):
    """How a run ends, where the agent does not determine it."""

    reason: DoneReason
    error: Error | None = None


def after(state: State, trigger: Trigger) -> State:
    """The state of an attempt after a trigger; raises `IllegalTransition`."""
    try:
        return TRANSITIONS[state][trigger]
    except KeyError:
        raise IllegalTransition(state, trigger) from None
