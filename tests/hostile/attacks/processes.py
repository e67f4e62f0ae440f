"""Signalling, tracing and outliving other processes."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time

from hostile.attacks import MACHINE, POSSIBLE, STOPPED, Section, Targets
from hostile.attacks.tools import LIBRARY, call, daemonize, reached

SAME = "processes of one user may signal each other"
YAMA = SAME + " and, unless Yama forbids it, trace each other"
PROCESSES = Section("Processes of others")
SURVIVING = Section("Outliving the run")
LATER = 12
"""Seconds after which all that an attack starts ends by itself."""


@PROCESSES.attack("see the processes of the machine", POSSIBLE, why="they are in /proc")
def see_processes(at: Targets) -> str:
    names = os.listdir("/proc")
    return "the server is there" if str(at.server) in names else ""


@PROCESSES.attack("kill the server", POSSIBLE, why=SAME)
def kill_server(at: Targets) -> str:
    os.kill(at.server, 0)
    return "may signal the server"


@PROCESSES.attack("kill or stop the keeper of another agent", POSSIBLE, why=SAME)
def kill_other_keeper(at: Targets) -> str:
    os.kill(at.keeper, 0)
    return "may signal a keeper"


@PROCESSES.attack("kill another agent", POSSIBLE, why=SAME)
def kill_sibling(at: Targets) -> str:
    os.kill(at.sibling, 0)
    return "may signal an agent"


@PROCESSES.attack("stop its own keeper", POSSIBLE, why=SAME)
def stop_own_keeper(at: Targets) -> str:
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{pid}/cmdline") as file:
            if "keeper.py" in file.read():
                os.kill(pid, 0)
                return "may signal its keeper"
    return ""


@PROCESSES.attack("trace another agent", MACHINE, why=YAMA)
def trace_sibling(at: Targets) -> str:
    call("ptrace", 0x4206, at.sibling, 0, 0)  # PTRACE_SEIZE, which does not stop it
    return "traces another agent"


@PROCESSES.attack("trace its own child", MACHINE, why=YAMA)
def trace_child(at: Targets) -> str:
    child = os.fork()
    if child == 0:
        time.sleep(2)
        os._exit(0)
    try:
        call("ptrace", 0x4206, child, 0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return "traces its child, so that filters of calls can be evaded on old kernels"


@PROCESSES.attack("take descriptors out of the server", MACHINE, why=YAMA)
def take_descriptors(at: Targets) -> str:
    process = call("pidfd_open", at.server, 0)
    return f"has descriptor {call('pidfd_getfd', process, 0, 0)} of the server"


@PROCESSES.attack("compare its kernel objects with the server's", MACHINE, why=YAMA)
def compare(at: Targets) -> str:
    return reached("kcmp", os.getpid(), at.server, 1, 0, 0)


@PROCESSES.attack("raise its own limits", MACHINE, STOPPED, why="root may")
def raise_limits(at: Targets) -> str:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard + 1))
    return "may open more files"


@PROCESSES.attack("change the limits of the server", POSSIBLE, why=SAME)
def limit_server(at: Targets) -> str:
    limits = resource.prlimit(at.server, resource.RLIMIT_CORE)
    resource.prlimit(at.server, resource.RLIMIT_CORE, limits)
    return "may limit the server"


@PROCESSES.attack("take more of the CPU than others", MACHINE, STOPPED, why="root may")
def take_priority(at: Targets) -> str:
    os.setpriority(os.PRIO_PROCESS, 0, -5)
    return f"nice value {os.getpriority(os.PRIO_PROCESS, 0)}"


@PROCESSES.attack("run with real-time priority", MACHINE, STOPPED, why="root may")
def real_time(at: Targets) -> str:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return "is a real-time process"


@PROCESSES.attack("be spared when memory runs out", MACHINE, STOPPED, why="root may")
def spared(at: Targets) -> str:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-500")
    return "the kernel kills others first"


@PROCESSES.attack("become root by a setuid program", MACHINE, STOPPED, why="it is root already")
def setuid(at: Targets) -> str:
    done = subprocess.run(["/bin/su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True)
    return "is root" if done.stdout.strip() == b"0" else ""


@PROCESSES.attack("become another user", POSSIBLE, STOPPED, why="root may")
def change_user(at: Targets) -> str:
    os.setresuid(12345, 12345, 12345)
    return "is user 12345"


@PROCESSES.attack("have capabilities", POSSIBLE, STOPPED, why="it is root")
def capabilities(at: Targets) -> str:
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    has = [name for name in ("CapEff", "CapPrm", "CapAmb") if int(lines[name], 16)]
    return f"{has}" if has else ""


@PROCESSES.attack("control the first process of its sandbox", STOPPED)
def control_init(at: Targets) -> str:
    """Without a filter of system calls there, writing to its memory would evade the filter."""
    with open("/proc/1/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    if "bwrap" not in lines["Name"]:
        return ""  # it has no sandbox
    return "" if lines["Seccomp"].strip() == "2" else "it has no filter"


# What is left is counted by the tests, from outside: these return nothing.


@SURVIVING.attack("double fork into a session of its own", agent="small")
def double_fork(at: Targets) -> str:
    daemonize(LATER)
    return ""


@SURVIVING.attack("orphans that ignore TERM", agent="small")
def deaf_orphans(at: Targets) -> str:
    for _ in range(5):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.execvp("sleep", ["sleep", str(LATER)])
    return ""


@SURVIVING.attack("a daemon that holds stdout open", agent="small")
def held_stdout(at: Targets) -> str:
    subprocess.Popen(["sleep", str(LATER)], start_new_session=True)
    return ""


@SURVIVING.attack("a process without a death signal, in a group of its own", agent="small")
def no_death_signal(at: Targets) -> str:
    if os.fork() == 0:
        LIBRARY.prctl(1, 0, 0, 0, 0)
        os.setpgid(0, 0)
        os.execvp("sleep", ["sleep", str(LATER)])
    return ""


@SURVIVING.attack("a process that stops itself", agent="small")
def stopped_process(at: Targets) -> str:
    if os.fork() == 0:
        os.setsid()
        signal.alarm(LATER)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    return ""


@SURVIVING.attack("a process that forks on while all are killed", agent="small")
def forking_on(at: Targets) -> str:
    end = time.monotonic() + LATER
    if os.fork() == 0:
        os.setsid()
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)  # a new pid all the time
            time.sleep(0.002)
        os._exit(0)
    return ""


@SURVIVING.attack(
    "kill its keeper first, and leave a process",
    POSSIBLE,
    agent="small",
    process_ends="crashed",
    why=SAME + ": a process whose keeper was killed goes on running",
)
def kill_keeper_first(at: Targets) -> str:
    keeper = os.getppid()
    if "bwrap" in open("/proc/1/comm").read():
        os.kill(1, signal.SIGKILL)  # in the sandbox, the first process is the nearest
        return ""
    daemonize(LATER)
    os.write(1, b"")
    os.kill(keeper, signal.SIGKILL)
    time.sleep(LATER)
    sys.exit(1)
