"""Deadlines that do not depend on the line; `aboard.rpc.pace` has the measured ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Each attempt waits this many times as long as the one before.
BACK_OFF = 1.5
#: Longest wait of an attempt after the first, in seconds.
LONGEST_WAIT_S = 8.0


@dataclass(frozen=True)
class Timing:
    """Deadlines, in seconds.

    Attributes:
        attempt_s: How long the first attempt waits for a reply, in addition to the message's time on the line. Used
            until a round trip has been measured; on a lossless line, always.
        attempts: After so many attempts the device counts as silent. Each attempt waits half as long again as the one
            before, from `attempt_s` on: 21 s with the defaults, whatever the speed of the line.
        settle_s: Longest silence of the line within a frame; after that the request is repeated.
        hello_s: Time for the device's first reply: the device may be booting.
        patience_s: How long a device that has accepted a request may work on it without a sign of progress.
        shortest_s: Shortest wait of an attempt: clocks and schedulers have limited resolution.
    """

    attempt_s: float = 1.0
    attempts: int = 6
    settle_s: float = 0.1
    hello_s: float = 30.0
    patience_s: float = 120.0
    shortest_s: float = 0.02

    def silence_s(self, transfer_s: float) -> float:
        """Returns the total time of all attempts of a request whose frame and reply take `transfer_s` on the line."""
        wait = self.attempt_s + transfer_s
        total = wait
        for _ in range(1, self.attempts):
            wait = min(wait * BACK_OFF, LONGEST_WAIT_S)
            total += wait
        return total

    def for_hello(self) -> Timing:
        """Returns the deadlines of a HELLO: as many short attempts as fit into `hello_s`."""
        attempt_s = min(self.attempt_s, 0.5)
        return replace(self, attempt_s=attempt_s, attempts=_attempts_within(self.hello_s, attempt_s))


def _attempts_within(seconds: float, attempt_s: float) -> int:
    attempts, wait, total = 1, attempt_s, attempt_s
    while total < seconds:
        wait = min(wait * BACK_OFF, LONGEST_WAIT_S)
        total += wait
        attempts += 1
    return attempts
