"""The connection to the scheduler of a farm. Dask is imported here when it is needed, and only then."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aboard.errors import ExtraError, TransportError

if TYPE_CHECKING:
    from distributed import Client

#: Requirement of the extra `farm`; `pyproject.toml` has the same.
REQUIREMENT = "distributed>=2025.9,<2027"
#: How long a command waits for the scheduler's first answer, in seconds.
CONNECT_S = 10.0


def require() -> None:
    """Checks that Dask is installed, without importing it.

    Raises:
        ExtraError: It is not.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ExtraError(
            "farm: boards are shared through the package distributed (extra farm of aboard), got no such package. "
            f"Run:\n    pip install '{REQUIREMENT}'"
        )


@contextmanager
def connected(address: str, timeout_s: float = CONNECT_S) -> Iterator[Client]:
    """Yields a client of the scheduler at an address; TLS is configured as in all programs of Dask.

    Args:
        address: `tcp://HOST:PORT` or `tls://HOST:PORT`.
        timeout_s: Longest time to wait for the scheduler, in seconds.

    Raises:
        ExtraError: Dask is not installed.
        TransportError: No scheduler answers, or it speaks another version of Dask's protocol.
    """
    require()
    from distributed import Client

    # Dask logs each lost connection with a traceback. This package reports what matters to the user.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=timeout_s, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise TransportError(
            f"{address}: no scheduler of a farm answers, got {first_line(error)}, expected `dask scheduler` there. "
            "Start it, or correct the address (docs/tutorials/farm.md)"
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=2)


def first_line(error: BaseException) -> str:
    """Returns the first line of an exception's text, or the name of its class."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
