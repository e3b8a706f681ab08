"""The words of this example; ../common/speech.py speaks them."""

from __future__ import annotations

from collections.abc import Iterator

import speech

KEYWORDS = ("left", "right", "stop", "go")
OTHERS = (
    "yes", "no", "up", "down", "house", "seven", "bird", "happy", "water", "computer", "music", "tree", "light",
    "low", "shop", "laughed", "road", "hello", "window", "eleven",
)  # fmt: skip


def spoken(variants: tuple[str, ...], every: int) -> Iterator[tuple[int, speech.Floats]]:
    """Yields label (0 for other words, 1 for the first keyword) and word for a part of all combinations of voices.

    Args:
        variants: Voices.
        every: One in as many combinations is spoken for keywords, and a quarter of that for each other word.
    """
    for word in (*KEYWORDS, *OTHERS):
        label = KEYWORDS.index(word) + 1 if word in KEYWORDS else 0
        for sound in speech.voices(word, variants, every if label else 4 * every):
            yield label, sound
