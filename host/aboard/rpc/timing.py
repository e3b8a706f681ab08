"""Deadlines that do not depend on the line; `aboard.rpc.pace` has those that are measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Each further attempt waits so many times as long.
BACK_OFF = 1.5
#: No attempt waits longer, but for the first.
LONGEST_WAIT_S = 8.0


@dataclass(frozen=True)
class Timing:
    """Deadlines, in seconds.

    Attributes:
        attempt_s: How long the first attempt waits for a reply, beyond the time the message takes on the line, until
            the round trip has been measured; always, on a line that loses nothing.
        attempts: A device is called silent after so many attempts, each of which waits half as long again as the one
            before, from `attempt_s` on: 21 s with the defaults, however fast the line is.
        settle_s: Longest time that the line may be quiet within a frame; then the request is repeated.
        hello_s: How long a device has for its first answer: it may be booting.
        patience_s: How long a device that has accepted a request may work on it without a sign of progress.
        shortest_s: No attempt waits shorter, however fast the round trip is: clocks and schedulers have their grain.
    """

    attempt_s: float = 1.0
    attempts: int = 6
    settle_s: float = 0.1
    hello_s: float = 30.0
    patience_s: float = 120.0
    shortest_s: float = 0.02

    def silence_s(self, transfer_s: float) -> float:
        """Returns how long a request is tried whose frame and reply take so long on the line."""
        wait = self.attempt_s + transfer_s
        total = wait
        for _ in range(1, self.attempts):
            wait = min(wait * BACK_OFF, LONGEST_WAIT_S)
            total += wait
        return total

    def for_hello(self) -> Timing:
        """Returns the deadlines of a HELLO: short attempts, as many as fit."""
        attempt_s = min(self.attempt_s, 0.5)
        return replace(self, attempt_s=attempt_s, attempts=_attempts_within(self.hello_s, attempt_s))


def _attempts_within(seconds: float, attempt_s: float) -> int:
    attempts, wait, total = 1, attempt_s, attempt_s
    while total < seconds:
        wait = min(wait * BACK_OFF, LONGEST_WAIT_S)
        total += wait
        attempts += 1
    return attempts
