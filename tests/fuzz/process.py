"""Commands that are killed, interrupted, run twice at once, or run where the disk is full or the home is missing.

After each: nothing half-written stands where the result belongs, no process is left, the next command works, and what
the first one left behind is gone. A disturbed command that ends by itself says why in one line.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  found through the line above

from fuzz import disturbances, snapshot  # noqa: E402  likewise
from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  likewise
from fuzz.disturbances import Disturbance  # noqa: E402  likewise

#: Boards by how often: one whose image is a process of this machine, and one in QEMU.
_BOARDS = ("host/native", "host/native", "host/native", "arm/mps2_an386")
#: A killed command's children may finish what they do.
_GRACE_SECONDS = 10.0
_TIMEOUT_SECONDS = 300.0
_MARK = "ABOARD_FUZZ_CASE"


@dataclass(frozen=True)
class Command:
    """A command of the tool.

    Attributes:
        words: Its arguments; `{board}` is filled in.
        needs: What stands in the folder before: `project` or `built`.
        makes: What it makes there, if it makes something that is whole or missing.
    """

    words: tuple[str, ...]
    needs: str | None = None
    makes: str | None = None

    def arguments(self, board: str) -> list[str]:
        words = [word.format(board=board) for word in self.words]
        return [sys.executable, "-c", "from aboard.__main__ import main; main()", *words]


COMMANDS: Mapping[str, Command] = {
    "compile": Command(("compile", "digits", "--board", "{board}", "-o", "made"), makes="made"),
    "create": Command(("create", "digits", "--board", "{board}", "-o", "made"), makes="made"),
    "build": Command(("build", "project"), needs="project"),
    "run": Command(("run", "project"), needs="built"),
    "deploy": Command(("deploy", "digits", "--board", "{board}", "-o", "deployed")),
    "verify": Command(("verify", "digits", "--board", "{board}", "--samples", "1")),
    "report": Command(("report", "digits", "--board", "{board}", "-o", "made.html"), makes="made.html"),
}


@dataclass
class Bench:
    """Folders and figures that cases start from.

    Attributes:
        folder: Holds for each board a project that was built and one that was not.
        seconds: How long each command takes undisturbed, by command and board.
        results: What each command makes undisturbed, likewise.
    """

    folder: Path
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    results: dict[tuple[str, str], snapshot.Snapshot] = field(default_factory=dict)

    def place(self, command: Command, board: str, work: Path) -> None:
        """Fills a new folder with what a command needs."""
        work.mkdir(parents=True)
        (work / "tmp").mkdir()
        if command.needs is not None:
            made = self.folder / board.replace("/", "_") / command.needs
            if not made.is_dir():
                self._prepare(board)
            shutil.copytree(made, work / "project", symlinks=True)

    def _prepare(self, board: str) -> None:
        folder = self.folder / board.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        for words in (("create", "digits", "--board", board, "-o", "project"), ("build", "project")):
            if words[0] == "build":
                shutil.copytree(folder / "project", folder / "built", symlinks=True)
                words = ("build", "built")
            arguments = Command(words).arguments(board)
            done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"process: {' '.join(words)} failed without being disturbed: {done.stderr[-500:]}")

    def undisturbed(self, name: str, board: str) -> tuple[float, snapshot.Snapshot]:
        """Returns how long a command takes, and what it makes."""
        key, command = (name, board), COMMANDS[name]
        if key not in self.seconds:
            with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
                work = Path(folder) / "work"
                self.place(command, board, work)
                start = time.monotonic()
                started = _start(command, board, work, {})
                _, said = started.communicate(timeout=_TIMEOUT_SECONDS)
                self.seconds[key] = time.monotonic() - start
                if started.returncode != 0:
                    sys.exit(f"process: {name} failed without being disturbed: {said[-500:]}")
                self.results[key] = snapshot.of(work / command.makes) if command.makes else {}
        return self.seconds[key], self.results[key]


@dataclass(frozen=True)
class Case:
    """What is drawn.

    Attributes:
        command: Key of `COMMANDS`.
        board: Board it is for.
        disturbance: Key of `disturbances.ALL`.
        moment: When, as a share of what the command takes undisturbed.
        replaces: Whether an older result stands at its place.
    """

    command: str
    board: str
    disturbance: str
    moment: float
    replaces: bool


def draw(rng: np.random.Generator) -> Case:
    name = str(rng.choice(list(COMMANDS)))
    disturbance = str(rng.choice([d.name for d in disturbances.ALL for _ in range(d.weight)]))
    replaces = COMMANDS[name].makes is not None and name != "create" and bool(rng.random() < 0.4)
    return Case(name, str(rng.choice(_BOARDS)), disturbance, float(rng.uniform(0, 1.1)), replaces)


def _start(command: Command, board: str, work: Path, change: Mapping[str, str | None], **how: Any) -> Any:
    """Starts a command in a process group of its own, with changed environment variables (None removes one)."""
    environment = {**os.environ, "TMPDIR": str(work / "tmp"), "PYTHONPATH": str(ROOT / "host"), _MARK: str(work)}
    environment |= {name: value for name, value in change.items() if value is not None}
    for name in [name for name, value in change.items() if value is None]:
        environment.pop(name, None)
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(
        command.arguments(board), cwd=work, env=environment, text=True, errors="replace", start_new_session=True, **how
    )


def judge(case: Case, bench: Bench) -> list[str]:
    """Returns what is wrong after a case."""
    command, disturbance = COMMANDS[case.command], disturbances.BY_NAME[case.disturbance]
    seconds, whole = bench.undisturbed(case.command, case.board)
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
        work = Path(folder) / "work"
        bench.place(command, case.board, work)
        if case.replaces and _again(command, case.board, work)[0] != 0:
            return ["a result is not made where nothing stands"]
        wrong = _disturbed(case, disturbance, seconds, work)
        wrong += _left(work, time.monotonic() + _GRACE_SECONDS)
        if command.makes and (work / command.makes).exists():
            wrong += snapshot.differences(snapshot.of(work / command.makes), whole, "half-written")
        code, said = _again(command, case.board, work)
        if command.makes == "made" and case.command == "create" and code != 0 and (work / "made").exists():
            code = 0  # It was finished before, and a project is not replaced.
        if code != 0:
            wrong.append(f"the next command fails ({code}): {said[-400:]}")
        elif command.makes:
            wrong += snapshot.differences(snapshot.of(work / command.makes), whole, "after the next command")
        return wrong + _litter(work, command)


def _disturbed(case: Case, disturbance: Disturbance, seconds: float, work: Path) -> list[str]:
    """Runs the command with its disturbance."""
    command, how = COMMANDS[case.command], disturbance.how(work)
    if disturbance.at_once:
        started = [_start(command, case.board, work, {}) for _ in range(2)]
        ends = [(one.communicate(timeout=_TIMEOUT_SECONDS)[1], one.returncode) for one in started]
        wrong = [text for said, code in ends if (text := _complaint(said, code))]
        return wrong + (["both of two at once fail: " + ends[0][0][-300:]] if all(code for _, code in ends) else [])
    started = _start(command, case.board, work, how.environment, **how.arguments)
    try:
        if disturbance.signal is not None:
            time.sleep(seconds * case.moment)
            started.send_signal(disturbance.signal)
        _, said = started.communicate(timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        return ["it does not end"]
    finally:
        how.end()
    if disturbance.signal in (signal.SIGKILL, signal.SIGTERM):
        return []
    complaint = _complaint(said or "", started.returncode)
    if disturbance.harmless and started.returncode != 0:
        complaint = complaint or f"it fails ({started.returncode}): {said[-400:]}"
    return [complaint] if complaint else []


def _complaint(said: str, code: int) -> str | None:
    """Returns what is wrong with how a command ended by itself; None where it said one thing and went."""
    if "Traceback" in said or "bug in aboard" in said or code == 70:
        return f"a traceback ({code}): {said.strip()[-600:]}"
    return f"it died of signal {-code}" if code < 0 and code != -signal.SIGINT else None


def _again(command: Command, board: str, work: Path) -> tuple[int, str]:
    started = _start(command, board, work, {})
    _, said = started.communicate(timeout=_TIMEOUT_SECONDS)
    return int(started.returncode), said


def _left(work: Path, deadline: float) -> list[str]:
    """Returns the processes that a command left, after it had time to end them; they are ended."""
    while (found := _marked(work)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in found:
        os.kill(process, signal.SIGKILL)
    return [f"processes are left: {', '.join(found.values())}"] if found else []


def _marked(work: Path) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{_MARK}={work}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "comm").read_text().strip()
        except OSError:
            continue
    return found


def _litter(work: Path, command: Command) -> list[str]:
    """Returns files that nobody asked for, after a command that worked."""
    expected = {"tmp", "project", "deployed", "build", command.makes, *disturbances.OWN_FILES}
    found = [path.name for path in work.iterdir() if path.name not in expected]
    # The files of a C compiler that was killed are its own.
    found += [f"tmp/{path.name}" for path in (work / "tmp").glob("*") if not re.match(r"cc\w{6}\.", path.name)]
    return [f"files are left: {', '.join(sorted(found))}"] if found else []


def replay(path: Path, bench: Bench) -> int:
    content = read_case(path, "process")
    wrong = judge(Case(**{name: content[name] for name in Case.__dataclass_fields__}), bench)
    print(f"{path.name}: {'; '.join(wrong) or 'nothing wrong'}")
    return int(bool(wrong))


def main(given: Options) -> int:
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
        bench = Bench(Path(folder))
        if given.replay is not None:
            return replay(given.replay, bench)
        campaign = Campaign("process", given)
        for number in campaign.numbers():
            case = draw(np.random.default_rng([given.seed, number]))
            wrong = judge(case, bench)
            campaign.counts[case.disturbance] += 1
            campaign.counts["compared"] += not wrong
            for text in wrong:
                if campaign.fail(f"{case.command} {case.disturbance} {text.split(':')[0]}", f"{case}: {text}"):
                    campaign.keep(text, vars(case), {})
        return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
