"""Writes the snapshots of what users read: `make snapshots`, or python -m support.snapshots [NAME...].

tests/snapshots/messages.txt      every error message in the source (`support.error_messages`)
tests/snapshots/exceptions.txt    messages that break a rule (`support.message_rules`); lines leave it, none comes
host/aboard/ops/refusals.json     what operators must be, read from these messages (`support.refusals`)
tests/snapshots/commands/*.txt    command lines, and what they print (`support.snapshot_cases`)

A command's output is kept whole. What differs from machine to machine or from run to run is replaced by a word in
angle brackets, by the filters below and by nothing else.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from aboard import cli
from aboard.base.version import VERSION
from support import error_messages, installed_plugins, message_rules, refusals
from support.snapshot_cases import SESSIONS, Session
from support.snapshot_material import CHECKOUT, material

FOLDER = CHECKOUT / "tests" / "snapshots"
COMMANDS = FOLDER / "commands"
MESSAGES = FOLDER / "messages.txt"
EXCEPTIONS = FOLDER / "exceptions.txt"
WIDTH = 80


@dataclass(frozen=True)
class Filter:
    """Replaces text that is not the same everywhere.

    Attributes:
        name: What is replaced.
        pattern: Regular expression.
        replacement: As for `re.sub`.
    """

    name: str
    pattern: str
    replacement: str | Callable[[re.Match[str]], str]

    def __call__(self, text: str) -> str:
        return re.sub(self.pattern, self.replacement, text, flags=re.MULTILINE)


def places(folder: Path) -> tuple[Filter, ...]:
    """Returns the filters of every session.

    Args:
        folder: Where the session runs.
    """
    return (
        Filter("folder of the session", re.escape(str(folder)), "<folder>"),
        Filter("checkout", re.escape(str(CHECKOUT)), "<checkout>"),
        Filter("this Python", re.escape(shlex.quote(sys.executable)), "<python>"),
        Filter("version of aboard", rf"\baboard {re.escape(VERSION)}", "aboard <version>"),
        Filter("hint of click", r"^(Error: No such option:? '?--\w+).*$", r"\1 <hint>"),
        Filter("core of this machine", r"^(host/native +)(\S+ +)", lambda m: m[1] + "<core>".ljust(len(m[2]))),
        Filter("system", r"^System: .*$", "System: <system>"),
    )


#: Filters of a session on a board: what depends on the compiler, and on where a run starts in a tick of the counter.
MEASURED = (
    Filter("value that continues on further lines", r"^(\w+ +)\S.*(?:\n {10,}\S.*)+", r"\1<several lines>"),
    Filter("compiler", r"^(toolchain +)\S.*$", r"\1<compiler>"),
    Filter("linked bytes", r"^(flash|stack) +\S.*$", lambda row: _numbers(row.group())),
    Filter("linked RAM", r"(?<= of the model), .*( of the image and its stack)$", r", <n>\1"),
    Filter("linked RAM of a build", r"^RAM +\S.* bytes .*, of them .*$", lambda row: _numbers(row.group())),
    Filter("profile", r"^(\d+ +\S+ +\S+) +[\d,]+ +[\d,]+ +[\d.]+ %", r"\1 <n> <n> <n> %"),
    Filter("profile of a run", r"^( +whole run) +[\d,]+ +[\d,]+$", r"\1 <n> <n>"),
    Filter("instructions", r"^(instructions +)[\d,]+", r"\1<n>"),
    Filter("time", r"about [\d.]+ [mu]?s\b", "about <time>"),
    Filter("cycles", r"estimated: [\d,]+ cycles", "estimated: <n> cycles"),
    Filter("error of an estimate", r"up to \d+ % off", "up to <n> % off"),
    Filter("reference interpreter", r"^(reference +)\S+$", r"\1<interpreter>"),
    Filter("pseudo-terminal", r"/dev/pts/\d+", "<pty>"),
)


def _numbers(text: str) -> str:
    return re.sub(r"\d[\d,]*(\.\d+)?", "<n>", text)


@contextlib.contextmanager
def bare_machine(folder: Path, columns: int = WIDTH) -> Iterator[None]:
    """Makes this process see no tools, no boards and no packages that are looked up only."""
    with contextlib.ExitStack() as stack:
        for name, value in {
            "shutil.which": lambda *_, **__: None,
            "importlib.util.find_spec": lambda *_: None,
            "aboard.device.usb.devices": lambda *_: [],
            "aboard.flashers.uf2.drives": lambda *_: [],
            "serial.tools.list_ports.comports": lambda *_: [],
        }.items():
            stack.enter_context(mock.patch(name, value))
        stack.enter_context(mock.patch.dict(os.environ, environment(folder, "", columns), clear=True))
        yield


def environment(folder: Path, path: str, columns: int = WIDTH) -> dict[str, str]:
    """Returns all environment variables of a session.

    Args:
        folder: Where it runs.
        path: For `PATH`.
        columns: Width of the terminal.
    """
    none = str(folder / "none.json")
    words = {"COLUMNS": str(columns), "HOME": str(folder), "LANG": "C.UTF-8", "PATH": path, "ABOARD_TUNING": none}
    return words | installed_plugins.disabled()


def run(line: str) -> tuple[int, str, str]:
    """Runs a command line in this process; returns its exit code and what it printed on stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.invoke(shlex.split(line))
    return code, out.getvalue(), err.getvalue()


def shown(line: str, code: int, out: str, err: str) -> str:
    """Returns a command line with its exit code and its two streams."""
    parts = [f"$ aboard {line}".rstrip(), f"exit {code}"]
    for name, text in (("stdout", out), ("stderr", err)):
        parts += [f"{name}:", text.rstrip("\n")] if text else [f"{name}: nothing"]
    return "\n".join(parts) + "\n"


def session(wanted: Session) -> str:
    """Returns the snapshot of a session."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="aboard-snapshot-") as temporary:
        folder = Path(temporary).resolve()
        material(folder)
        if wanted.on_a_board:
            real = environment(folder, os.environ["PATH"], wanted.columns)
            surroundings: contextlib.AbstractContextManager[object] = mock.patch.dict(os.environ, real, clear=True)
            filters = (*places(folder), *MEASURED)
        else:
            surroundings, filters = bare_machine(folder, wanted.columns), places(folder)
        try:
            os.chdir(folder)
            with surroundings:
                text = "\n\n".join(shown(line, *run(line)) for line in wanted.lines)
        finally:
            os.chdir(before)
    for each in filters:
        text = each(text)
    return text


def everything() -> Mapping[Path, Callable[[], str]]:
    """Returns every snapshot, and the function that makes its text."""
    commands = {COMMANDS / f"{each.name}.txt": lambda each=each: session(each) for each in SESSIONS}
    return {MESSAGES: messages, EXCEPTIONS: exceptions, refusals.PAGE: refusals.page, **commands}


def messages() -> str:
    """Returns the snapshot of all error messages."""
    return error_messages.page(error_messages.collect())


def exceptions() -> str:
    """Returns the messages that break a rule and were allowed to before."""
    before = EXCEPTIONS.read_text(encoding="utf-8").splitlines() if EXCEPTIONS.is_file() else []
    broken = set(message_rules.broken(error_messages.collect()))
    return "".join(f"{line}\n" for line in before if line in broken)


def main() -> None:
    wanted = sys.argv[1:]
    COMMANDS.mkdir(parents=True, exist_ok=True)
    for path, make in everything().items():
        if not wanted or path.stem in wanted:
            path.write_text(make(), encoding="utf-8")
    for stale in set(COMMANDS.glob("*.txt")) - set(everything()):
        stale.unlink()


if __name__ == "__main__":
    main()
