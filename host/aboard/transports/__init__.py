"""Lines between host and device: serial ports, sockets, pipes. One file each, one interface (`base.Transport`)."""

from aboard.transports.base import Transport

__all__ = ["Transport"]
