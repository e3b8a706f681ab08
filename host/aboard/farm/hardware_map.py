"""Reads the hardware map of Zephyr's twister as an inventory: which board is attached with which probe and port.

Format: a list with an entry for each board, as `twister --generate-hardware-map` writes it
(https://docs.zephyrproject.org/latest/develop/test/twister.html, "Executing tests on multiple devices").
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aboard import boards
from aboard.base.fields import first_problem
from aboard.errors import BoardError, InputError


class _Entry(BaseModel):
    """An entry; keys that only twister needs are ignored."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    connected: bool = False
    id: str | None = None
    platform: str | None = None
    serial: str | None = None


def read(path: Path) -> list[tuple[str, str | None, str | None]]:
    """Returns board id, serial number of the probe and serial port of each connected board.

    Args:
        path: The file.

    Raises:
        InputError: The file cannot be read or is not a hardware map, or a platform is not a board of aboard.
    """
    try:
        entries = TypeAdapter(list[_Entry]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path}: cannot be read, got {error.strerror}. Check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a hardware map, got no YAML. Write it with `twister`") from error
    except ValidationError as error:
        raise InputError(f"{path}: not a hardware map, {first_problem(error)}. Write it with `twister`") from error
    known = _by_platform()
    found = []
    for entry in entries:
        if entry.connected and entry.platform is not None:
            board = known.get(entry.platform) or known.get(entry.platform.partition("/")[0])
            if board is None:
                raise InputError(
                    f"{path}: platform {entry.platform} is none of aboard's boards. Add it with `aboard boards "
                    "add`, or set connected to false"
                )
            found.append((board, entry.id, entry.serial))
    return found


def _by_platform() -> dict[str, str]:
    """Returns board ids by Zephyr's names, with and without the qualifiers of the SoC."""
    found: dict[str, str] = {}
    for name in boards.names():
        try:
            zephyr = boards.load(name).zephyr
        except BoardError:
            continue  # a broken board file of the user is reported when its board is used
        if zephyr is not None:
            found.setdefault(zephyr, name)
            found.setdefault(zephyr.partition("/")[0], name)
    return found
