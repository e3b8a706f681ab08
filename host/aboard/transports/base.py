"""What a transport is: bytes to and from a device, and nothing about what they mean."""

from __future__ import annotations

from abc import ABC, abstractmethod

from aboard.errors import TransportError

#: Longest time a write may wait for the other side to take bytes, in seconds.
WRITE_TIMEOUT_S = 10.0


class Transport(ABC):
    """A line to a device.

    Attributes:
        name: What to call it in messages, such as `/dev/ttyACM0 at 115200 baud`.
        bytes_per_second: Speed of the line; None where it is faster than what is at its end.
        reopens: It can be opened again after the device was gone.
        is_lossless: Every byte arrives, as between processes of one machine. Asking again early gains nothing there,
            and would disturb what an emulated core counts.
    """

    name: str
    bytes_per_second: float | None = None
    reopens: bool = False
    is_lossless: bool = False

    @abstractmethod
    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes.

        Args:
            timeout_s: Longest time to wait, in seconds; 0 takes what is there.

        Returns:
            One or more bytes, or none when the time is over.

        Raises:
            TransportError: The line is gone.
        """

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Sends all bytes.

        Raises:
            TransportError: The line is gone, or the other side takes no bytes.
        """

    @abstractmethod
    def close(self) -> None:
        """Gives the line back. A second call does nothing."""

    def reopen(self, timeout_s: float) -> None:
        """Opens the line again, as soon as the device is back.

        Args:
            timeout_s: Longest time to wait for it, in seconds.

        Raises:
            TransportError: It is not back in time, or this line ends with its device.
        """
        del timeout_s
        raise TransportError(f"{self.name}: cannot be opened again, got a line that ends with its device")
