"""How many cases hypothesis draws where each of them compiles C."""

from __future__ import annotations

import os


def examples(full: int) -> int:
    """Returns the number of cases to draw: `full` in `make test-full`, else a third of them and at least five.

    A case costs about a second, most of it in the C compiler, with and without sanitizers.
    """
    return full if os.environ.get("ABOARD_FULL") else max(min(full, 5), full // 3)
