"""How much of a long series of cases CI runs, where each of them compiles C or a model; `make test-full` runs all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

_Case = TypeVar("_Case")


def examples(full: int) -> int:
    """Returns the number of cases that hypothesis draws: `full` in `make test-full`, else a twentieth, at least three.

    A case costs about a second, most of it in the C compiler, with and without sanitizers.
    """
    return full if os.environ.get("ABOARD_FULL") else max(min(full, 3), full // 20)


def without_shrinking(count: int) -> settings:
    """Returns settings for examples that take seconds, whose messages name what failed: `count` of them."""
    phases = [Phase.explicit, Phase.generate]
    return settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), phases=phases)


def beyond_the_simplest(cases: st.SearchStrategy[_Case]) -> st.SearchStrategy[_Case]:
    """Draws as `cases` does, but not what hypothesis begins with: the simplest case, which costs as much as any."""
    return st.tuples(st.integers(0, 3).filter(bool), cases).map(lambda drawn: drawn[1])


def either(full: _Case, usual: _Case) -> _Case:
    """Returns what `make test-full` takes, or what every run takes."""
    return full if os.environ.get("ABOARD_FULL") else usual


def part(cases: Iterable[_Case]) -> list[_Case]:
    """Returns the cases of a product of parameters: all in `make test-full`, else every second one.

    The last parameter should have an odd number of values, so that each value of the others is kept with each of these.
    """
    found = list(cases)
    return found if os.environ.get("ABOARD_FULL") else found[::2]
