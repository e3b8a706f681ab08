"""Mutated model files: each ends as an error with words, or compiles and gives what tflite-micro gives.

Every file is tried in a process of its own, within 60 s of processor time (5 s for importing, and 5 s for each
megabyte) and 2 GB of memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  found through the line above

from fuzz import differential, graphs, mutations, seeds  # noqa: E402  likewise
from fuzz.campaign import Campaign, Options, options  # noqa: E402  likewise
from fuzz.differential import Case  # noqa: E402  likewise


def main(given: Options) -> int:
    if given.replay is not None:
        return graphs.replay(given.replay, "models")
    graphs.warm_up()
    known = seeds.sources()
    campaign = Campaign("models", given)
    for number in campaign.numbers():
        rng = np.random.default_rng([given.seed, number])
        data, _ = mutations.mutated(seeds.draw(rng, known), rng)
        words = f"c -runtime=host -opt={rng.choice(['size', 'balanced', 'speed'])}"
        case = Case(data, words, int(rng.integers(1 << 30)), graphs.compiler(rng))
        graphs.count(campaign, case, differential.judge(case))
    return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
