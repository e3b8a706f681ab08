"""libFuzzer on the firmware's RPC server, from the dialogues of the vectors on, under sanitizers.

A case is an input: a device and the bytes it receives. Each answer is compared as in the campaign `wire`. The first
failure ends the campaign; its input is made smaller and kept.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from fuzz import wire  # noqa: E402  found through the line above
from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  likewise
from support import rpc_device  # noqa: E402  likewise

SOURCES = [rpc_device.SOURCES / "fuzz_libfuzzer.c", *wire.PLAYERS]
FLAGS = ("-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-g", "-O1")
_VECTORS = ROOT / "tests" / "data" / "rpc_vectors.json"
# A new program counts the largest memory of the process that started it as its own, which may be that of all tests.
_LIMITS = ("-timeout=10", "-max_len=4096", "-rss_limit_mb=8192", "-malloc_limit_mb=256")
#: Seconds for making an input smaller.
MINIMISE_SECONDS = 20
#: libFuzzer's numbers are of 32 bits: more runs than this are as many as it likes.
_MOST_RUNS = 2**31 - 1


def build(folder: Path) -> Path:
    """Compiles the fuzzer."""
    return rpc_device.compile_c(folder / "libfuzzer", SOURCES, *FLAGS, compiler="clang")


def write_seeds(folder: Path) -> int:
    """Writes inputs to start from, and returns how many: the dialogues of the vectors, to devices of every kind."""
    folder.mkdir(parents=True, exist_ok=True)
    vectors = json.loads(_VECTORS.read_text(encoding="utf-8"))
    count = 0
    for key in ("dialogue", "credits", "series", "states"):
        line = b"".join(rpc_device.sent(case) for case in vectors[key] if "reset" not in case["name"])
        for variant in range(4):
            for room in (0, 101):
                (folder / f"{key}-{variant}-{room}").write_bytes(bytes((variant, 15, 172, room)) + line)
                count += 1
    return count


def play(campaign: Campaign, program: Path, folder: Path) -> None:
    """Runs libFuzzer within the budget.

    Args:
        campaign: Counts inputs, and edges of the code that they reach.
        program: What `build` made.
        folder: For the corpus and for inputs that fail.
    """
    given, corpus, failing = campaign.options, folder / "corpus", folder / "failing"
    write_seeds(corpus)
    runs = given.cases if given.cases <= _MOST_RUNS else -1
    budget = (f"-runs={runs}", f"-max_total_time={max(1, round(given.seconds))}")
    # It draws a seed of its own for 0.
    words = (str(corpus), f"-seed={given.seed % 2**32 or 1}", f"-exact_artifact_path={failing}", *budget, *_LIMITS)
    done = _called(program, *words, "-print_final_stats=1")
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    reached = re.findall(r"cov: (\d+)", done.stderr)
    inputs = int(executed.group(1)) if executed else 0
    campaign.counts.update(cases=inputs, compared=inputs, edges=int(reached[-1]) if reached else 0)
    if done.returncode:
        campaign.counts["compared"] -= inputs > 0
        # Alone, the input gives a short text that begins with what is wrong.
        again = _called(program, str(failing)) if failing.is_file() else done
        said = _said(again if again.returncode else done)
        campaign.fail("input", said)
        campaign.keep(said, {}, {".bin": _smallest(program, failing)} if failing.is_file() else {})


def _called(program: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(
        [program, *words], capture_output=True, text=True, errors="replace", env=environment, check=False
    )


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit code {done.returncode}: {wire.shortened(done.stderr)}"


def _smallest(program: Path, failing: Path) -> bytes:
    """Returns an input that fails, with as few bytes as libFuzzer finds in some seconds."""
    smaller = failing.with_name("smaller")
    limits = ("-minimize_crash=1", f"-max_total_time={MINIMISE_SECONDS}", f"-exact_artifact_path={smaller}")
    # It tries one input after the other. Nobody reads what each says, and the symbols in that take half a second.
    plain = dict.fromkeys(("ASAN_OPTIONS", "UBSAN_OPTIONS"), "symbolize=0")
    _called(program, *limits, str(failing), **plain)
    return (smaller if smaller.is_file() else failing).read_bytes()


def replay(path: Path, program: Path) -> int:
    """Repeats a case; 0 where it does not fail any more."""
    read_case(path, "wire_libfuzzer")
    done = _called(program, str(path.with_suffix(".bin")))
    print(f"{path.name}: {_said(done)}")
    return int(done.returncode != 0)


def main(given: Options) -> int:
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as name:
        folder = Path(name)
        program = build(folder)
        if given.replay is not None:
            return replay(given.replay, program)
        campaign = Campaign("wire_libfuzzer", given)
        play(campaign, program, folder)
        return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
