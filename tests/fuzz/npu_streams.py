"""Mutated command streams and weight streams for the model of the NPU Ethos-U55, under ASan and UBSan.

A case is a stream with its constants, some words or bytes of which are changed. `tests/firmware/ethos_u/fuzz_stream.c`
runs it on memory that is exactly as large as stated; it has to end, and to say why if it does not reach its stop
command. A stream that reaches it may compute something else, because the change says so; nothing says what is right
then, and such cases are counted apart from those with the results of the unchanged stream. The streams are those of
models that this file builds, by Vela.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  found through the line above
from fuzz.wire import shortened  # noqa: E402  likewise
from support import ethos_u, npu_models  # noqa: E402  likewise

# The tests disable installed plug-ins; this campaign is about one.
os.environ.pop("ABOARD_DISABLED_PLUGINS", None)

#: Cases of one process.
_BATCH = 500
_COUNT = re.compile(r"(\w+) (\d+)")


def files(folder: Path) -> dict[str, Path]:
    """Returns the inputs of the program, by the name of their model: every operation of the NPU is in one of them."""
    found = {}
    for number, (name, model) in enumerate(npu_models.EVERY_OPERATION.items()):
        found[name] = folder / f"{name}.bin"
        found[name].write_bytes(ethos_u.fuzz_file(model(), ethos_u.device(ethos_u.MACS[number % 4])))
    return found


def played(program: Path, file: Path, first: int, cases: int) -> subprocess.CompletedProcess[str]:
    """Runs cases, which follow from their seeds; a hang ends after ten minutes."""
    command = [str(program), str(file), str(first), str(cases)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=600)


def play(campaign: Campaign, program: Path, inputs: dict[str, Path]) -> None:
    """Runs batch after batch, each of another model, until the budget ends or something fails."""
    first = campaign.options.seed
    while campaign.within_budget():
        for name, file in inputs.items():
            count = min(_BATCH, campaign.options.cases - campaign.counts["cases"])
            if count < 1 or not campaign.within_budget():
                return
            done = played(program, file, first, count)
            if done.returncode:
                what = f"{name}: exit code {done.returncode}: {shortened(done.stdout + done.stderr)}"
                campaign.fail("memory", what)
                campaign.keep(what, {"model": name, "first": first, "cases": count}, {})
                return
            counts = {word: int(number) for word, number in _COUNT.findall(done.stdout)}
            compared = counts["same"] + counts["changed"]
            campaign.counts.update(counts, cases=count, compared=compared, refused=count - compared)
            first += count


def main(given: Options) -> int:
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as text:
        folder = Path(text)
        program, inputs = ethos_u.fuzzer(folder), files(folder)
        if given.replay is not None:
            case = read_case(given.replay, "npu_streams")
            done = played(program, inputs[case["model"]], case["first"], case["cases"])
            print(f"{given.replay.name}: exit code {done.returncode}: {shortened(done.stdout + done.stderr)}")
            return int(done.returncode != 0)
        campaign = Campaign("npu_streams", given)
        play(campaign, program, inputs)
        return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
