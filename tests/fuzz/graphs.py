"""Random graphs with random options, compiled and run on this machine, against tflite-micro.

The C is compiled by tcc mostly, by gcc as bundles ask for it sometimes, and under its sanitizers now and then.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  found through the line above

import aboard  # noqa: E402  likewise
from fuzz import differential, minimise, random_graph  # noqa: E402  likewise
from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  likewise
from fuzz.differential import Case, Verdict  # noqa: E402  likewise

#: Share of cases by how their C is compiled.
_COMPILERS = {"tcc": 0.86, "gcc": 0.1, "sanitized": 0.04}
#: Failures that are made smaller, and seconds for each.
_MINIMISED, _MINIMISE_SECONDS = 100, 20.0


def warm_up() -> None:
    """Compiles a model, so that what is read and imported once is not read in every forked process."""
    aboard.compile(random_graph.draw(np.random.default_rng(0)), target="c -runtime=host", name="m")


def compiler(rng: np.random.Generator) -> str:
    """Draws how the C of a case is compiled."""
    return str(rng.choice(list(_COMPILERS), p=list(_COMPILERS.values())))


def target(rng: np.random.Generator, model: bytes) -> str:
    """Draws a target for this machine; some limit the arena, some give nodes to another core."""
    words = ["c -runtime=host", f"-opt={rng.choice(['size', 'balanced', 'speed'])}"]
    modes = ["consumed", "kept"] + ["rows"] * (minimise.read(model).subgraphs[0].inputs.size == 1)
    words.append(f"-input={rng.choice(modes)}")
    if rng.random() < 0.15:
        numbers = sorted({int(number) for number in rng.integers(0, 10, 6)})
        words.append(f"+ arm/mps2_an521:cpu1 -claim-nodes={','.join(map(str, numbers))}")
    return " ".join(words)


def ram_share(rng: np.random.Generator, words: str) -> float:
    """Draws a limit for the arena, as a share of what is needed without; 0 for none."""
    return float(rng.uniform(0.6, 1.2)) if "claim" not in words and rng.random() < 0.2 else 0.0


def keep(campaign: Campaign, case: Case, verdict: Verdict) -> None:
    """Counts a failure, and writes its case where it is among the first of its kind, with as few operators as fail."""

    def fails(model: bytes) -> bool:
        return differential.judge(replace(case, model=model)).kind == verdict.kind

    model = case.model
    if campaign.counts["failures"] < _MINIMISED:
        model = minimise.smallest(model, fails, _MINIMISE_SECONDS)
    if campaign.fail(f"{verdict.kind} {minimise.kinds(model)}", verdict.text):
        content = {name: value for name, value in vars(case).items() if name != "model"}
        campaign.keep(verdict.text, content, {".tflite": model})


def replay(path: Path, campaign: str) -> int:
    """Repeats a case; 0 where it does not fail any more."""
    content: dict[str, Any] = read_case(path, campaign)
    fields = {name: content[name] for name in ("target", "seed", "compiler", "runs", "ram_share")}
    case = Case(path.with_suffix(".tflite").read_bytes(), **fields)
    verdict = differential.judge(case)
    print(f"{path.name}: {verdict.outcome} {verdict.text}")
    return int(verdict.outcome == "failed")


def count(campaign: Campaign, case: Case, verdict: Verdict) -> None:
    """Enters an outcome into the counts."""
    campaign.counts[case.compiler] += verdict.outcome not in ("refused", "capacity")
    if verdict.outcome in ("refused", "capacity") and os.environ.get("FUZZ_VERBOSE"):
        print("refused:", verdict.text[:300])
    if verdict.outcome == "failed":
        keep(campaign, case, verdict)
    elif verdict.outcome == "capacity":
        campaign.counts["refused"] += 1
    else:
        campaign.counts[verdict.outcome] += 1


def main(given: Options) -> int:
    if given.replay is not None:
        return replay(given.replay, "graphs")
    warm_up()
    campaign = Campaign("graphs", given)
    for number in campaign.numbers():
        rng = np.random.default_rng([given.seed, number])
        model = random_graph.draw(rng)
        words = target(rng, model)
        seed, share = int(rng.integers(1 << 30)), ram_share(rng, words)
        case = Case(model, words, seed, compiler(rng), ram_share=share)
        count(campaign, case, differential.judge(case))
    return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
