"""Calls a function in a process of its own, with limits: a crash, a hang or a flood of memory ends only that."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

#: Called by the function to say what it begins; what a process died of is told by where it was.
Stage = Callable[[str], None]

_EXCEPTION = 3


@dataclass(frozen=True)
class Ended:
    """How a call ended.

    Attributes:
        value: What the function returned; None where it did not.
        stage: The last that it had begun.
        wrong: None, or how it ended instead: `exception`, `signal 11`, `timeout`, `memory`.
        text: Traceback, or the last lines on standard error.
        seconds: Processor time.
    """

    value: Any
    stage: str
    wrong: str | None
    text: str
    seconds: float


def call(function: Callable[[Stage], Any], *, seconds: float, megabytes: int) -> Ended:
    """Calls a function in a forked process and waits for its end.

    Args:
        function: Gets the function that states a stage; its result must be picklable.
        seconds: Processor time after which the process is ended; real time after three times as long.
        megabytes: Memory that it may map beyond what this process has mapped.
    """
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as said:
        sys.stdout.flush()
        with warnings.catch_warnings():
            # Of threads, which numpy may have; the process uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process == 0:
            os.close(reader)
            _child(function, writer, said.fileno(), seconds, megabytes)
        os.close(writer)
        data, in_time = _read(reader, time.monotonic() + 3 * seconds)
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        _, status, usage = os.wait4(process, 0)
        return _ended(data, status if in_time else None, _tail(said), usage.ru_utime + usage.ru_stime)


def _child(function: Callable[[Stage], Any], writer: int, said: int, seconds: float, megabytes: int) -> None:
    """Ends the process."""
    os.setpgid(0, 0)
    faulthandler.disable()
    os.dup2(said, 1)
    os.dup2(said, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (megabytes << 20), resource.RLIM_INFINITY))
    code = 0
    try:
        value = function(lambda stage: os.write(writer, f"S{stage}\n".encode()) and None)
        message = b"V" + pickle.dumps(value)
    except MemoryError:
        message, code = b"M", _EXCEPTION
    except BaseException:
        message, code = b"E" + traceback.format_exc().encode("utf-8", "replace"), _EXCEPTION
    while message:
        message = message[os.write(writer, message) :]
    os._exit(code)


def unlimited_memory() -> None:
    """Lifts the limit of memory for programs that the function starts; sanitizers map terabytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _read(reader: int, deadline: float) -> tuple[bytes, bool]:
    data = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return data, False
        more = os.read(reader, 1 << 16)
        if not more:
            return data, True
        data += more


def _ended(data: bytes, status: int | None, said: str, seconds: float) -> Ended:
    stage = "start"
    while data.startswith(b"S"):
        line, _, data = data.partition(b"\n")
        stage = line[1:].decode()
    kind, rest = data[:1], data[1:]
    if status is None:
        return Ended(None, stage, "timeout", said, seconds)
    if os.WIFSIGNALED(status) and not kind:
        number = os.WTERMSIG(status)
        return Ended(None, stage, "timeout" if number == signal.SIGXCPU else f"signal {number}", said, seconds)
    if kind == b"V":
        return Ended(pickle.loads(rest), stage, None, said, seconds)
    if kind == b"M":
        return Ended(None, stage, "memory", said, seconds)
    return Ended(None, stage, "exception" if kind == b"E" else "exit", rest.decode() or said, seconds)


def _tail(said: IO[bytes]) -> str:
    said.seek(0, os.SEEK_END)
    said.seek(max(said.tell() - 2000, 0))
    return said.read().decode("utf-8", "replace")
