"""The contract of transports: bytes to and from a device, without knowledge of their meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod

from aboard.errors import TransportError

#: Longest time a write may wait for the other side to take bytes, in seconds.
WRITE_TIMEOUT_S = 10.0


class Transport(ABC):
    """A line to a device.

    Attributes:
        name: Name in messages, such as `/dev/ttyACM0 at 115200 baud`.
        bytes_per_second: Speed of the line; None if the line does not limit the rate.
        reopens: The line can be opened again after the device was gone.
        is_lossless: Every byte arrives, as between processes of one machine. On such a line the client does not repeat
            requests early, because a repetition would add to the instructions that an emulated core counts.
    """

    name: str
    bytes_per_second: float | None = None
    reopens: bool = False
    is_lossless: bool = False

    @abstractmethod
    def read(self, timeout_s: float) -> bytes:
        """Waits for bytes.

        Args:
            timeout_s: Longest time to wait, in seconds; 0 returns at once with the bytes that have arrived.

        Returns:
            One or more bytes, or no bytes after the time-out.

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
        """Closes the line. A second call does nothing."""

    def reopen(self, timeout_s: float) -> None:
        """Opens the line again as soon as the device is back.

        Args:
            timeout_s: Longest time to wait for the device, in seconds.

        Raises:
            TransportError: The device is not back in time, or this line ends with its device.
        """
        del timeout_s
        raise TransportError(
            f"{self.name}: cannot be opened again, got a line that ends with its device. Start the device again"
        )
