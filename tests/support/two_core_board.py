"""A board of two cores in a folder of its own, for tests of what board files may say."""

from __future__ import annotations

from pathlib import Path

SOC = """
name = "Twin"
source = "test"
[[cores]]
name = "app"
mcpu = "cortex-m33"
aliases = ["cpuapp"]
[[cores]]
name = "net"
mcpu = "cortex-m33+nodsp+nofp"
[[gpus]]
name = "gpu"
model = "Acme graphics"
[[memory]]
name = "flash"
kind = "flash"
address = 0
size_bytes = 0x1000
load = ["app"]
[[memory]]
name = "net_flash"
kind = "flash"
address = 0x1000
size_bytes = 0x800
load = ["net"]
cores = ["net"]
[[memory]]
name = "app_ram"
kind = "ram"
address = 0x2000_0000
size_bytes = 0x400
data = true
cores = ["app"]
[[memory]]
name = "net_ram"
kind = "ram"
address = 0x2000_0000
size_bytes = 0x200
data = true
cores = ["net"]
[uart.uart0]
driver = "cmsdk"
address = 0x4000_0000
clock_hz = 1_000_000
[counter]
driver = "systick"
hz = 1_000_000
core = "net"
"""

BOARD = """
name = "Hub"
soc = "acme/twin"
source = "test"
zephyr = { app = "hub/app", net = "hub/net" }
usb = ["0d28:0204"]
[rpc]
uart = "uart0"
cores = ["net"]
"""


def install(folder: Path) -> Path:
    """Writes the board acme/hub and its SoC acme/twin into a folder of boards, and returns the folder."""
    write(folder / "soc" / "acme" / "twin.toml", SOC)
    write(folder / "acme" / "hub.toml", BOARD)
    return folder


def write(path: Path, text: str) -> None:
    """Writes a file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
