"""The hardware map of Zephyr's twister is an inventory of attached boards."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.errors import InputError
from aboard.farm import hardware_map

MAP = """
- connected: true
  id: 000683759358
  platform: nrf52840dk/nrf52840
  product: J-Link
  runner: nrfjprog
  serial: /dev/ttyACM1
- connected: true
  id: OSHW000032254e4500128002ab98002784d1000097969900
  platform: bbc_microbit
  serial: /dev/ttyACM0
- connected: false
  platform: unknown
  serial: /dev/ttyACM2
"""


def test_the_connected_boards(tmp_path: Path) -> None:
    (tmp_path / "map.yml").write_text(MAP)
    assert hardware_map.read(tmp_path / "map.yml") == [
        ("nordic/nrf52840dk", "000683759358", "/dev/ttyACM1"),
        ("bbc/microbit", "OSHW000032254e4500128002ab98002784d1000097969900", "/dev/ttyACM0"),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- {connected: true, platform: moon}", "platform moon is none of aboard's boards. Add it"),
        ("{", "not a hardware map, got no YAML. Write it with `twister`"),
        ("connected: true", "not a hardware map, "),
        ("- connected: perhaps", "not a hardware map, "),
        (None, "cannot be read, got No such file or directory. Check the path"),
    ],
)
def test_what_is_no_hardware_map(tmp_path: Path, text: str | None, problem: str) -> None:
    if text is not None:
        (tmp_path / "map.yml").write_text(text)
    with pytest.raises(InputError) as caught:
        hardware_map.read(tmp_path / "map.yml")
    assert problem in str(caught.value)
