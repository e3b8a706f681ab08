"""Fuzzes the firmware's RPC server, with AddressSanitizer and UndefinedBehaviorSanitizer.

python tests/fuzz/wire.py --frames 10000000                 the project's own fuzzer
python tests/fuzz/wire.py --engine libfuzzer --seconds 60   libFuzzer, from the vectors on
python tests/fuzz/wire.py --engine narrow --frames 1000000  the own one where size_t has 32 bits, as on a device
python tests/fuzz/wire.py --coverage                        lines of firmware/rpc that the first reaches

The last line says what was done. A failure is kept in the folder `--cases` with what plays it again: for the own fuzzer
the seed of one device, for libFuzzer a minimised input.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.rpc_device import RPC_SOURCES, SANITIZERS, SOURCES, compile_c, sent  # noqa: E402  found through the line above

VECTORS = ROOT / "tests" / "data" / "rpc_vectors.json"
_PLAYERS = [SOURCES / name for name in ("wire.c", "reference.c", "fake_device.c", "toy_models.c")]
OWN = [SOURCES / "fuzz_server.c", *_PLAYERS]
_LIBFUZZER = [SOURCES / "fuzz_libfuzzer.c", *_PLAYERS]
_NARROW = {"x86_64": "x86-linux-musl", "aarch64": "arm-linux-musleabihf"}
_ROUNDS = 500
#: Frames of a round, more or less: to turn a number of frames into one of devices.
_FRAMES_PER_ROUND = 1.0
_COUNTS = re.compile(r"(\w+) (\d+)")
_SEED = re.compile(r"seed (\d+)")


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Attributes:
        counts: What was played.
        seconds: How long it took.
        failure: What went wrong; empty when nothing did.
        case: The file that keeps it.
    """

    counts: dict[str, int]
    seconds: float
    failure: str = ""
    case: Path | None = None


def build_own(folder: Path, *flags: str) -> Path:
    """Compiles the own fuzzer for this machine; without flags, with the sanitizers."""
    return compile_c(folder / "fuzz", OWN, *(flags or SANITIZERS))


def build_narrow(folder: Path) -> Path:
    """Compiles the own fuzzer for a 32-bit machine that this one executes: without sanitizers, with guarded memory."""
    zig, flags = narrow_compiler()
    return compile_c(folder / "narrow", OWN, *flags, compiler=zig)


def narrow_compiler() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the command of a compiler for a 32-bit machine that this one executes, and its flags."""
    return (sys.executable, "-m", "ziglang", "cc"), ("-target", _NARROW[platform.machine()], "-O1")


def build_libfuzzer(folder: Path) -> Path:
    """Compiles the fuzzer of libFuzzer."""
    flags = ("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")
    return compile_c(folder / "libfuzzer", _LIBFUZZER, *flags, compiler="clang")


def run_own(program: Path, seed: int, frames: int, cases: Path, seconds: float = 0.0) -> Outcome:
    """Plays devices from `seed` on: at least so many frames, and for so many seconds."""
    begun, total = time.monotonic(), dict.fromkeys(("frames", "damaged", "accepted", "refused", "runs"), 0)
    while total["frames"] < frames or time.monotonic() - begun < seconds:
        devices = max(1, min(20_000, int((frames - total["frames"]) / _FRAMES_PER_ROUND / _ROUNDS) + 1))
        done = subprocess.run([program, str(seed), str(devices), str(_ROUNDS)], capture_output=True, text=True)
        if done.returncode:
            return _failed(program, done, seed, total, time.monotonic() - begun, cases)
        for name, count in _COUNTS.findall(done.stdout.splitlines()[-1]):
            total[name] += int(count)
        seed += devices
    return Outcome(total, time.monotonic() - begun)


def _failed(
    program: Path,
    done: subprocess.CompletedProcess[str],
    seed: int,
    counts: dict[str, int],
    seconds: float,
    cases: Path,
) -> Outcome:
    """Finds the one device that fails, and keeps it."""
    first = int(_SEED.findall(done.stdout)[-1]) if _SEED.search(done.stdout) else seed
    said = done.stdout + done.stderr
    for device in range(first, first + 64):
        again = subprocess.run([program, str(device), "1", str(_ROUNDS)], capture_output=True, text=True)
        if again.returncode:
            first, said = device, again.stdout + again.stderr
            break
    cases.mkdir(parents=True, exist_ok=True)
    case = cases / f"wire-{program.name}-{first}.json"
    case.write_text(json.dumps({"program": program.name, "seed": first, "rounds": _ROUNDS, "said": said}, indent=1))
    return Outcome(counts, seconds, said, case)


def write_seeds(folder: Path) -> int:
    """Writes what libFuzzer starts from: the dialogues of the vectors, to devices of every kind."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    count = 0
    for key in ("dialogue", "credits", "series"):
        line = b"".join(sent(case) for case in vectors[key] if "reset" not in case["name"])
        for variant in range(4):
            for room in (0, 101):
                (folder / f"{key}-{variant}-{room}").write_bytes(bytes((variant, 15, 172, room)) + line)
                count += 1
    return count


def run_libfuzzer(program: Path, seed: int, seconds: float, cases: Path, corpus: Path, runs: int = -1) -> Outcome:
    """Runs libFuzzer on a corpus, which it extends, for so many seconds or runs."""
    if not corpus.is_dir() or not any(corpus.iterdir()):
        write_seeds(corpus)
    cases.mkdir(parents=True, exist_ok=True)
    prefix = f"-artifact_prefix={cases}/wire-libfuzzer-"
    limits = (f"-max_total_time={int(seconds)}", f"-runs={runs}", "-timeout=10", "-max_len=4096", "-rss_limit_mb=1024")
    begun = time.monotonic()
    done = subprocess.run(
        [program, str(corpus), f"-seed={seed % 2**32}", prefix, *limits, "-print_final_stats=1"],
        capture_output=True,
        text=True,
    )
    took = time.monotonic() - begun
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    counts = {"inputs": int(executed.group(1)) if executed else 0}
    covered = re.findall(r"cov: (\d+)", done.stderr)
    counts["edges"] = int(covered[-1]) if covered else 0
    if not done.returncode:
        return Outcome(counts, took)
    found = re.search(r"Test unit written to (\S+)", done.stderr)
    case = Path(found.group(1)) if found else None
    if case is not None:
        smaller = case.with_name(case.name + "-small")
        subprocess.run(
            [program, "-minimize_crash=1", "-max_total_time=20", f"-exact_artifact_path={smaller}", str(case)],
            capture_output=True,
        )
        case = smaller if smaller.is_file() else case
    return Outcome(counts, took, done.stderr, case)


def coverage(folder: Path, seed: int, frames: int) -> dict[str, tuple[int, int]]:
    """Plays the own fuzzer and returns, for each file of firmware/rpc, the lines that were reached and all of them."""
    program = build_own(folder, "--coverage", "-O0", "-fprofile-abs-path", "-fprofile-update=single")
    outcome = run_own(program, seed, frames, folder)
    if outcome.failure:
        raise RuntimeError(outcome.failure)
    reached = {}
    for source in RPC_SOURCES:
        data = next(folder.glob(f"fuzz-{source.stem}.gcda"))
        done = subprocess.run(["gcov", "-n", str(data)], capture_output=True, text=True, cwd=folder, check=True)
        # Of the source itself; headers come besides.
        block = next(part for part in done.stdout.split("File ") if part.startswith(f"'{source}'"))
        share, lines = re.search(r"Lines executed:([\d.]+)% of (\d+)", block).groups()  # type: ignore[union-attr]
        reached[source.name] = (round(float(share) * int(lines) / 100), int(lines))
    return reached


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one engine; returns 1 when it has found something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("own", "narrow", "libfuzzer"), default="own")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--cases", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--corpus", type=Path, help="what libFuzzer starts from and extends; a new one by default")
    parser.add_argument("--coverage", action="store_true")
    chosen = parser.parse_args(arguments)
    frames = chosen.frames or (0 if chosen.seconds else 1_000_000)
    print(f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.coverage:
            return _print_coverage(coverage(folder, chosen.seed, frames))
        if chosen.engine == "libfuzzer":
            corpus = chosen.corpus or folder / "corpus"
            outcome = run_libfuzzer(build_libfuzzer(folder), chosen.seed, chosen.seconds or 60, chosen.cases, corpus)
        else:
            program = build_own(folder) if chosen.engine == "own" else build_narrow(folder)
            outcome = run_own(program, chosen.seed, frames, chosen.cases, chosen.seconds)
    if outcome.failure:
        print(f"{outcome.failure}\nkept as {outcome.case}")
    counts = " ".join(f"{name} {count}" for name, count in outcome.counts.items())
    print(f"{chosen.engine}: {counts} failures {int(bool(outcome.failure))} in {outcome.seconds:.1f} s")
    return int(bool(outcome.failure))


def _print_coverage(reached: dict[str, tuple[int, int]]) -> int:
    for name, (lines, of) in reached.items():
        print(f"{name:12} {lines:4} of {of:4} lines")
    lines, of = (sum(pair[index] for pair in reached.values()) for index in (0, 1))
    print(f"firmware/rpc: {lines} of {of} lines, {100 * lines / of:.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
