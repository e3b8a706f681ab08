"""Writes a package with a new target kind: a starting point for a device, with tests that pass.

The template is stored in project_templates/target. Every file of the template is rendered with the name.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import jinja2

from aboard import outputs
from aboard.base import resources
from aboard.errors import TargetError
from aboard.target import INTERFACE, aliases, kinds

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATE = "target"


def write(name: str, folder: Path, *, force: bool = False) -> list[str]:
    """Writes the complete package, or nothing.

    Args:
        name: Name of the kind: lower case, words joined by hyphens.
        folder: A new folder, or a folder with an unchanged package of the same kind.
        force: True to overwrite files in the way that aboard did not write.

    Returns:
        The paths of the files, relative to the folder, sorted.

    Raises:
        TargetError: The name is taken, or is not a valid name of a kind.
        ProjectError: The folder holds other files, or cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise TargetError(f"kind {name!r}: not a name of a kind, expected lower case words as in my-npu. Rename it")
    if name in kinds():
        raise TargetError(f"kind {name}: is there already, expected a name of its own. Rename it")
    aliases.refuse_kind(name)
    files = render(name)

    def fill(fresh: Path) -> None:
        for path, text in files.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_text(text, encoding="utf-8")

    outputs.write_folder(folder, "package", f"the kind {name}", fill, force=force)
    return sorted(files)


def next_command(folder: Path) -> str:
    """Returns the command line that installs the package beside this aboard, and runs its tests.

    It names the Python that runs aboard, since `python` and `pip` may be others, or missing.
    """
    python = _shown(Path(sys.executable))
    package = f"{folder}[test]"
    if PathFinder.find_spec("pip") is not None:
        install = [[python, "-m", "pip", "install", "-e", package]]
    elif PathFinder.find_spec("ensurepip") is not None:
        install = [[python, "-m", "ensurepip"], [python, "-m", "pip", "install", "-e", package]]
    else:
        install = [["uv", "pip", "install", "--python", python, "-e", package]]
    join = subprocess.list2cmdline if os.name == "nt" else shlex.join
    return " && ".join(join(words) for words in (*install, [python, "-m", "pytest", str(folder)]))


def _shown(python: Path) -> str:
    """Returns the path of a Python, relative if it is below this folder. A link is kept: it selects the environment."""
    try:
        return str(python.relative_to(Path.cwd()))
    except ValueError:
        return str(python)


def render(name: str) -> dict[str, str]:
    """Returns the text of each file of the package by its path."""
    root = resources.project_templates() / _TEMPLATE
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(root),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the files are Python and C, not HTML
    )
    values = {"name": name, "module": name.replace("-", "_"), "interface": INTERFACE}
    values["upper"] = str(values["module"]).upper()
    files: dict[str, str] = {}
    for path in sorted(root.rglob("*.j2")):
        relative = path.relative_to(root).as_posix()
        place = relative.removesuffix(".j2").replace("MODULE", str(values["module"]))
        files[place] = environment.get_template(relative).render(values)
    return files
