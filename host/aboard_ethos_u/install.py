"""Whether Vela is installed, and in which version."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

from aboard.errors import ExtraError
from aboard.target import Need

PACKAGE = "ethos-u-vela"
#: The release whose command streams the functional model was compared with. `pyproject.toml` pins the same.
VERSION = "5.2.0"
INSTALL = f"pip install {PACKAGE}=={VERSION}"


def installed() -> str | None:
    """Returns the version of Vela; None if it is not installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def require() -> None:
    """Checks that the right release of Vela is installed.

    Raises:
        ExtraError: Vela is missing, or is another release.
    """
    found = installed()
    if found is None:
        raise ExtraError(
            f"kind ethos-u55: the compiler Vela is not installed, expected {PACKAGE} {VERSION} (extra ethos-u "
            f"of aboard). Run:\n    {INSTALL}"
        )
    if found != VERSION:
        raise ExtraError(
            f"kind ethos-u55: another release of Vela is installed, got {found}, expected {VERSION}, which the tests "
            f"compare with the reference. Run:\n    {INSTALL}"
        )


def probe() -> Sequence[Need]:
    """Returns whether the right release of Vela is installed, for `aboard doctor`."""
    found = installed()
    return [Need("Vela", "compiler of the device ethos-u55", found == VERSION, INSTALL, version=found)]
