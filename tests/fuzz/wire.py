"""Wild frames for the firmware's RPC server, under AddressSanitizer and UndefinedBehaviorSanitizer.

A case is a frame. `tests/firmware/rpc/fuzz_server.c` plays devices, 500 frames each, and compares every answer with
what docs/reference/protocol.md demands. A bug shows at most devices, so the first failure ends the campaign.
`--coverage` tells instead which lines of firmware/rpc the frames reach.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  found through the line above
from support import rpc_device  # noqa: E402  likewise

#: What checks the answers, and the devices that give them.
PLAYERS = [rpc_device.SOURCES / name for name in ("wire.c", "reference.c", "fake_device.c", "toy_models.c")]
SOURCES = [rpc_device.SOURCES / "fuzz_server.c", *PLAYERS]
#: Devices of one process, which takes about half a second; and rounds of a device, each of about one frame.
_DEVICES, _ROUNDS = 64, 500
_COUNT = re.compile(r"(\w+) (\d+)")
#: Characters that are kept of each end of a long text.
_END = 1500


def build(folder: Path, *flags: str) -> Path:
    """Compiles the player for this machine; without flags, with the sanitizers."""
    return rpc_device.compile_c(folder / "fuzz", SOURCES, *(flags or rpc_device.SANITIZERS))


def run(name: str, given: Options, builder: Callable[[Path], Path]) -> int:
    """Runs a campaign with the player that `builder` makes in a folder, or repeats a case; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
        program = builder(Path(folder))
        if given.replay is not None:
            return replay(given.replay, name, program)
        campaign = Campaign(name, given)
        play(campaign, program)
        return campaign.finish()


def play(campaign: Campaign, program: Path) -> None:
    """Plays device after device, from the seed on, until the budget ends or something fails."""
    first = campaign.options.seed
    while campaign.within_budget():
        left = campaign.options.cases - campaign.counts["cases"]
        devices = min(_DEVICES, left // _ROUNDS + 1)
        done = _played(program, first, devices)
        if done.returncode:
            _keep(campaign, program, first, devices)
            return
        counts = {name: int(count) for name, count in _COUNT.findall(done.stdout.splitlines()[-1])}
        frames = counts.pop("frames")
        campaign.counts.update(counts, cases=frames, compared=frames)
        first += devices


def _played(program: Path, first: int, devices: int, rounds: int = _ROUNDS) -> subprocess.CompletedProcess[str]:
    """Plays the devices whose seeds begin with `first`."""
    return subprocess.run(
        [program, str(first), str(devices), str(rounds)], capture_output=True, text=True, errors="replace", check=False
    )


def _keep(campaign: Campaign, program: Path, first: int, devices: int) -> None:
    """Writes the case of the first device among these that fails by itself; of all of them, if none does."""
    failing = (device for device in range(first, first + devices) if _played(program, device, 1).returncode)
    alone = next(failing, None)
    device, count = (first, devices) if alone is None else (alone, 1)
    said = _said(_played(program, device, count))
    campaign.fail("answer", f"device {device}: {said}")
    campaign.keep(said, {"device": device, "devices": count, "rounds": _ROUNDS}, {})


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit code {done.returncode}: {shortened(done.stdout + done.stderr)}"


def shortened(text: str) -> str:
    """Returns what a program said, without the middle of long texts: sanitizers begin and end with what is wrong."""
    text = text.strip()
    return text if len(text) <= 2 * _END else f"{text[:_END]}\n...\n{text[-_END:]}"


def replay(path: Path, name: str, program: Path) -> int:
    """Repeats a case; 0 where it does not fail any more."""
    content = read_case(path, name)
    done = _played(program, content["device"], content["devices"], content["rounds"])
    print(f"{path.name}: {_said(done)}")
    return int(done.returncode != 0)


def coverage(folder: Path, given: Options) -> dict[str, tuple[int, int]]:
    """Plays, and returns for each file of firmware/rpc how many of its lines were reached, and how many it has.

    Raises:
        RuntimeError: A device failed.
    """
    program = build(folder, "--coverage", "-O0", "-fprofile-abs-path", "-fprofile-update=single")
    campaign = Campaign("wire", given)
    play(campaign, program)
    if campaign.counts["failures"]:
        raise RuntimeError("a device failed, so nothing can be said of the lines that the frames reach")
    reached = {}
    for source in rpc_device.RPC_SOURCES:
        data = next(folder.glob(f"fuzz-{source.stem}.gcda"))
        done = subprocess.run(["gcov", "-n", str(data)], capture_output=True, text=True, cwd=folder, check=True)
        # gcov counts the headers that a source includes as well, each in a block of its own.
        block = next(part for part in done.stdout.split("File ") if part.startswith(f"'{source}'"))
        share, lines = re.search(r"Lines executed:([\d.]+)% of (\d+)", block).groups()  # type: ignore[union-attr]
        reached[source.name] = (round(float(share) * int(lines) / 100), int(lines))
    return reached


def _print_coverage(given: Options) -> int:
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
        reached = coverage(Path(folder), given)
    for name, (lines, of) in reached.items():
        print(f"{name:12} {lines:4} of {of:4} lines")
    lines, of = (sum(pair[index] for pair in reached.values()) for index in (0, 1))
    print(f"firmware/rpc: {lines} of {of} lines, {100 * lines / of:.1f} %")
    return 0


def main(given: Options) -> int:
    return _print_coverage(given) if "coverage" in given.flags else run("wire", given, build)


if __name__ == "__main__":
    text = "tell which lines of firmware/rpc the frames reach"
    sys.exit(main(options(__doc__.splitlines()[0], flags={"coverage": text})))
