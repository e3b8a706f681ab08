"""Code that stands in documentation, so that tests can run it."""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from pathlib import Path

from support import warm_start

CHECKOUT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING_OR_BLOCK = re.compile(
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$|^#+ (?P<heading>[^\n]*)$", re.MULTILINE | re.DOTALL
)


def blocks(page: str) -> list[tuple[str, str]]:
    """Returns language and text of the fenced blocks of a page, by its path in the checkout."""
    return _BLOCK.findall((CHECKOUT / page).read_text(encoding="utf-8"))


def sections(page: str) -> dict[str, list[tuple[str, str]]]:
    """Returns language and text of the fenced blocks under each heading of a page, in the page's order.

    Args:
        page: Its path in the checkout.
    """
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    pieces = _HEADING_OR_BLOCK.finditer(text)
    found: dict[str, list[tuple[str, str]]] = {}
    heading = ""
    for piece in pieces:
        heading = piece["heading"] or heading
        found.setdefault(heading, [])
        if piece["language"]:
            found[heading].append((piece["language"], piece["text"]))
    return found


def commands(text: str) -> list[str]:
    """Returns the commands of a shell block, without comments."""
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def run(command: str, folder: Path, seconds: float = 300) -> str:
    """Runs a shell command in a folder, with this Python's programs first on PATH, and returns what it printed.

    Args:
        command: The command.
        folder: The folder.
        seconds: Time that it has.

    Raises:
        AssertionError: It failed.
    """
    folders = [warm_start.folder(), sysconfig.get_path("scripts"), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(str(folder) for folder in folders if folder)}
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
