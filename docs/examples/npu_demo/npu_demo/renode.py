"""Writes the device for Renode: a Python peripheral, which is one script, and the lines of a platform description.

`python -m npu_demo.renode "npu-demo -model=v2" --mhz 25 FOLDER` writes npu_demo.py and npu_demo.repl.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from pathlib import Path

from aboard.target import Target
from npu_demo.core import SIZE

#: What the script is made of, in order.
_PARTS = ("arithmetic", "commands", "core", "renode_side")


def script(target: Target, mhz: int) -> str:
    """Returns the peripheral's script.

    Renode executes it for each access, in a scope that stays: what it defines is defined once.

    Args:
        target: The device.
        mhz: Clock of the device; that of the CPU (`cpu PerformanceInMips`).
    """
    parts = [_part((Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")) for name in _PARTS]
    version = 1 if target.get("model") == "v1" else 2
    made = f"npu = make(self, {version}, {int(target.get('scratchpad') or 0)}, {mhz})"
    lines = [
        f"# {target} as a Python peripheral of Renode. Generated.",
        "try:",
        "    npu",
        "except NameError:",
        textwrap.indent("\n".join(parts), "    ").rstrip(),
        f"    {made}",
        "handle(npu, request, self)",
        "",
    ]
    return "\n".join(lines)


def _part(text: str) -> str:
    """Returns a module without what refers to other modules of the package."""
    return re.sub(r"^from npu_demo\.\w+ import [^\n(]*\n", "", text, flags=re.MULTILINE)


def platform(target: Target, file: str) -> str:
    """Returns the lines for a platform description (.repl).

    Args:
        target: The device.
        file: Path of the script, as Renode finds it.
    """
    return (
        f"npu: Python.PythonPeripheral @ sysbus {int(target.attrs['address']):#x}\n"
        f"    size: {SIZE:#x}\n    initable: true\n    filename: {_quoted(file)}\n"
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "/") + '"'


def write(target: Target, mhz: int, folder: Path) -> list[Path]:
    """Writes both files and returns their paths."""
    texts = {"npu_demo.py": script(target, mhz), "npu_demo.repl": platform(target, str(folder / "npu_demo.py"))}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def main() -> None:
    """Writes what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m npu_demo.renode", description="Writes the device for Renode")
    parser.add_argument("target", help='the device, as in "npu-demo -model=v2"')
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mhz", type=int, default=25, help="clock of the CPU and the device")
    given = parser.parse_args()
    for path in write(Target(given.target, as_device=True), given.mhz, given.folder):
        print(path)


if __name__ == "__main__":
    main()
