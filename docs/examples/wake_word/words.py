"""The words of this example; ../common/speech.py speaks them."""

from __future__ import annotations

WAKE = "hey captain"
#: Some are near to the wake word, and some are parts of it.
OTHERS = (
    "captain", "hey", "hey kitten", "hey carpenter", "the captain", "hey cotton", "hey catherine", "may capture",
    "hello window", "stop the music", "turn left", "computer", "seven eleven", "good morning", "play a song",
    "what time is it", "happy water", "a house and a tree", "right now", "go up", "yes please", "no", "thank you",
    "hey you",
)  # fmt: skip
