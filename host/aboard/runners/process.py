"""A child process that ends with this process, even if this process is killed.

A shell runs between this process and the program. The shell kills the program when the shell's standard input closes,
which happens when this process ends. Some programs are started by a script, or have to clean up. The shell asks these
to end first: by a word on their standard input, then by SIGTERM to their process group.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from aboard.base import platforms, programs
from aboard.errors import ToolError

_SUPERVISOR = """
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
echo "$child"
( read -r line <&3; kill -KILL "$child" ) >/dev/null 2>&1 &
watcher=$!
exec 3<&- >&-
wait "$child" 2>/dev/null
status=$?
kill "$watcher" 2>/dev/null
exit $status
"""
# The program starts once its standard input is open for writing, which is after the shell has printed its process id.
_ASKING_SUPERVISOR = """
exec 3<&0
word=$1
patience=$2
shift 2
folder=$(mktemp -d)
mkfifo "$folder/words"
"$@" <"$folder/words" 3<&- &
child=$!
echo "$child"
{
  rm -r "$folder"
  read -r line <&3
  trap "" PIPE
  echo "$word"
  sleep "$patience"
  trap "" TERM
  kill -TERM 0
  sleep 1
  kill -KILL 0
} >"$folder/words" 2>/dev/null &
trap "" TERM
exec 3<&- >&-
wait "$child" 2>/dev/null
status=$?
kill -TERM 0
exit $status
"""
_START_TIMEOUT_S = 30.0
_PATIENCE_S = 3
_END_TIMEOUT_S = 5.0
_TAIL_BYTES = 2000
_TAIL_LINES = 4
_SIGNAL_BASE = 128


class Supervised:
    """A running program.

    Attributes:
        name: Name in messages.
        pid: Process id of the program.
    """

    pid: int

    def __init__(self, name: str, command: Sequence[str], cwd: Path | None = None, farewell: str | None = None) -> None:
        """Starts the program.

        Args:
            name: Name in messages.
            command: Program and arguments.
            cwd: Folder in which it runs.
            farewell: Word on its standard input that asks it to end; None for a program that may be killed.

        Raises:
            ToolError: The program cannot be started.
        """
        if sys.platform == "win32":
            raise platforms.refusal("emulators and images of this machine")
        programs.log_start(command, cwd)
        self.name = name
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in stop()
        self._pending = b""
        self._words = ""
        asking = (_ASKING_SUPERVISOR, "aboard", farewell, str(_PATIENCE_S)) if farewell is not None else None
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", *(asking or (_SUPERVISOR, "aboard")), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise ToolError(
                f"{name}: cannot be started, got {error.strerror}, expected /bin/sh to start it. "
                "Check the rights of both"
            ) from error
        atexit.register(self.stop)
        pid, early = self.line(_START_TIMEOUT_S), b""
        while pid and not pid.isdigit():
            # The program may write before the shell has printed its process id.
            early += f"{pid}\n".encode()
            pid = self.line(_START_TIMEOUT_S)
        self._pending = early + self._pending
        if not pid:
            self.stop()
            raise ToolError(f"{name}: did not start, got {self.end_reason()}, expected a process. Try it by hand")
        self.pid = int(pid)

    def line(self, timeout_s: float) -> str | None:
        """Returns the next line of its standard output; None after the time-out or at the end."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            if not self._more(deadline - time.monotonic()):
                return None
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace").strip()

    def seen(self) -> str:
        """Returns the standard output that `line` has not returned yet."""
        while self._more(0):
            pass
        return self._pending.decode(errors="replace")

    def _more(self, timeout_s: float) -> bool:
        stdout = self._shell.stdout
        if stdout is None or stdout.closed or not select.select([stdout], [], [], max(timeout_s, 0))[0]:
            return False
        data = os.read(stdout.fileno(), 4096)
        self._pending += data
        return bool(data)

    def alive(self) -> bool:
        """True while it runs."""
        return self._shell.poll() is None

    def end_reason(self) -> str:
        """Returns how the program ended, with the end of its standard error; empty while it runs."""
        code = self._shell.poll()
        if code is None:
            return ""
        if code < 0 or code > _SIGNAL_BASE:
            how = f"was killed by signal {-code if code < 0 else code - _SIGNAL_BASE}"
        else:
            how = f"ended with exit code {code}"
        words = self.last_words()
        return f"{self.name} {how}" + (f", and said: {words}" if words else "")

    def last_words(self) -> str:
        """Returns the end of its standard error, on one line."""
        if self._stderr.closed:
            return self._words
        size = os.fstat(self._stderr.fileno()).st_size
        tail = os.pread(self._stderr.fileno(), _TAIL_BYTES, max(size - _TAIL_BYTES, 0))
        lines = [line.strip() for line in tail.decode(errors="replace").splitlines()]
        return " / ".join([line for line in lines if line and ": info: " not in line][-_TAIL_LINES:])

    def stop(self) -> None:
        """Stops the program and waits for its end. A second call does nothing."""
        atexit.unregister(self.stop)
        for stream in (self._shell.stdin, self._shell.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self._shell.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # The program cannot be killed or the shell is stopped: kill the shell; its watcher stays.
            self._shell.kill()
            self._shell.wait()
        self._end_group()
        if not self._stderr.closed:
            self._words = self.last_words()
            self._stderr.close()

    def _end_group(self) -> None:
        """Kills what remains of the program's process group; the shell's id names the group while a member runs."""
        with contextlib.suppress(OSError):
            os.killpg(self._shell.pid, signal.SIGKILL)
