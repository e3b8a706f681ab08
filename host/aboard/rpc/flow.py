"""How many bytes may be on their way to a device that has little room for what arrives.

A device with credits has room for `burst` bytes that it has not taken yet. Event CREDIT tells the number of a request
and how many bytes the device has taken since it began to work on that: a total, so that a lost event costs nothing.
Counting starts anew with every request, because the line may lose bytes, which are never taken: a request that was
answered shows that all before it is over, one way or the other.
"""

from __future__ import annotations

from aboard.rpc.messages import Feature
from aboard.rpc.replies import Hello

#: What a device is sent without a pause before it has told how much it takes: the smallest usual FIFO of a UART.
FIRST_BURST = 16


class SendWindow:
    """The room at a device, as the host knows it. Made for a HELLO, and used until the next.

    Attributes:
        burst: Bytes the device takes without a pause, or its room; 0 for any number.
        has_credits: The device tells what it has taken; else the host makes pauses.
    """

    def __init__(self) -> None:
        self.burst = FIRST_BURST
        self.has_credits = False
        self._request: int | None = None
        self._sent = 0
        self._taken = 0
        self._for_request = 0

    def open(self, hello: Hello) -> None:
        """Takes over what the device said of itself."""
        self.burst = hello.burst
        self.has_credits = Feature.CREDIT in hello.features and hello.burst > 0

    @property
    def room(self) -> int:
        """Bytes that may be sent now, where the device has credits."""
        return self.burst - (self._sent - self._taken)

    def begin(self) -> None:
        """Begins a new request."""
        self._for_request = 0

    def sent(self, count: int) -> None:
        """Counts bytes that were sent for the request."""
        self._sent += count
        self._for_request += count

    def worked_on(self, request: int, frame_bytes: int) -> None:
        """Notes that the device has begun to work on the request, whose frame has so many bytes.

        All that was sent before it is over. What was sent to repeat it may be on its way.
        """
        if request != self._request:
            self._request = request
            self._sent = max(0, self._for_request - frame_bytes)
            self._taken = 0

    def taken(self, request: int, total: int) -> None:
        """Notes what the device has taken since it began to work on a request; late news are ignored."""
        if request == self._request:
            self._taken = min(self._sent, max(self._taken, total))

    def clear(self) -> None:
        """Gives up on what is on its way: it was lost, or taken without a word."""
        self._taken = self._sent
