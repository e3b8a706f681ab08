"""Elementwise operators with random quantisation, on every value or pair of values that they can get."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  found through the line above

from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  likewise
from support import elementwise  # noqa: E402  likewise

#: Operators of a case: all of one family.
_DRAWS = 10


def judge(family: str, seed: int, count: int) -> tuple[int, str]:
    """Returns how many results were compared, and what is wrong with them, if anything is."""
    try:
        return elementwise.FAMILIES[family].check(seed, count), ""
    except AssertionError as error:
        return 0, str(error)


def main(given: Options) -> int:
    if given.replay is not None:
        content = read_case(given.replay, "elementwise")
        _, wrong = judge(content["family"], content["seed"], content["count"])
        print(f"{given.replay.name}: {wrong[:500] or 'as tflite-micro'}")
        return int(bool(wrong))
    campaign = Campaign("elementwise", given)
    names = list(elementwise.FAMILIES)
    for number in campaign.numbers():
        family = names[number % len(names)]
        seed = int(np.random.default_rng([given.seed, number]).integers(1 << 32))
        results, wrong = judge(family, seed, _DRAWS)
        campaign.counts["results"] += results
        campaign.counts["compared"] += not wrong
        if wrong and campaign.fail(family, f"{family}: {wrong[:500]}"):
            campaign.keep(wrong, {"family": family, "seed": seed, "count": _DRAWS}, {})
    return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
