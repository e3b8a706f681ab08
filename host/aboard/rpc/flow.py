"""Flow control: limits the bytes in flight to a device with a small receive buffer.

A device with credits can hold `burst` bytes that it has not processed yet. Event CREDIT carries the number of a
request, and the total of bytes that the device has taken since it began to work on that request. Because it is a total,
a lost event does no harm. The count restarts with every request, because the device never takes bytes that the line
lost. Once a request is answered, all earlier bytes have been taken or lost.
"""

from __future__ import annotations

from aboard.rpc.messages import Feature
from aboard.rpc.replies import Hello

#: Bytes sent without a pause before the device has reported its limit: the smallest usual FIFO of a UART.
FIRST_BURST = 16


class SendWindow:
    """The free receive buffer of a device, as the host knows it. Valid from one HELLO to the next.

    Attributes:
        burst: Bytes that the device takes without a pause, or the size of its buffer; 0 for no limit.
        has_credits: The device reports the bytes that it has taken. Without credits, the host pauses after each burst.
    """

    def __init__(self) -> None:
        self.burst = FIRST_BURST
        self.has_credits = False
        self._request: int | None = None
        self._sent = 0
        self._taken = 0
        self._for_request = 0

    def open(self, hello: Hello) -> None:
        """Takes the limits from the device's reply to HELLO."""
        self.burst = hello.burst
        self.has_credits = Feature.CREDIT in hello.features and hello.burst > 0

    @property
    def room(self) -> int:
        """Bytes that may be sent now, if the device has credits."""
        return self.burst - (self._sent - self._taken)

    def begin(self) -> None:
        """Begins a new request."""
        self._for_request = 0

    def sent(self, count: int) -> None:
        """Counts bytes that were sent for the request."""
        self._sent += count
        self._for_request += count

    def worked_on(self, request: int, frame_bytes: int) -> None:
        """Notes that the device has begun to work on the request, whose frame has `frame_bytes` bytes.

        All bytes sent before the request have been taken or lost. Repetitions of the request may be in flight.
        """
        if request != self._request:
            self._request = request
            self._sent = max(0, self._for_request - frame_bytes)
            self._taken = 0

    def taken(self, request: int, total: int) -> None:
        """Notes how many bytes the device has taken since it began to work on a request; ignores late events."""
        if request == self._request:
            self._taken = min(self._sent, max(self._taken, total))

    def clear(self) -> None:
        """Counts all bytes in flight as lost, or as taken without a CREDIT event."""
        self._taken = self._sent
