"""Runtimes of packages: values of `-runtime=` besides `standalone` and `host`.

A package attaches a runtime to a kind with the column `runtimes`. The kind's attribute `-runtime` then accepts its
name, the bundle contains its C files, and projects for such targets use its template if it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aboard.target import columns
from aboard.target.device import Runtime
from aboard.target.lookup import kinds

if TYPE_CHECKING:
    from aboard.target.target import Target

COLUMN = "runtimes"


@dataclass(frozen=True)
class LinkedRuntime:
    """A runtime that generated code is linked with.

    Attributes:
        name: Value of `-runtime`.
        help: Description, one sentence.
        files: C files for the bundle of each model that is compiled for the runtime; None for no files.
        template: Folder of the project template (`template.toml` and `*.j2`). The name of the folder is the name of the
            template. None for the default template of the board.
    """

    name: str
    help: str
    files: Runtime | None = None
    template: Path | None = None


columns.declare(
    columns.Column(
        COLUMN,
        "Further values of -runtime, each with files and a project template",
        LinkedRuntime,
        function=False,
        many=True,
    )
)


def find(target: Target) -> LinkedRuntime | None:
    """Returns the runtime of a target's host; None for the runtimes of the kind itself."""
    name = target.host.attrs.get("runtime")
    return next((added for added in columns.plain(target.host.kind.name, COLUMN) if added.name == name), None)


def template_name(target: Target) -> str | None:
    """Returns the name of the project template of a target's runtime; None if the runtime has no template."""
    found = find(target)
    return None if found is None or found.template is None else found.template.name


def templates() -> Mapping[str, Path]:
    """Returns the folders of the project templates of runtimes, by the name of the template."""
    found = [added.template for kind in kinds() for added in columns.plain(kind, COLUMN)]
    return {folder.name: folder for folder in found if folder is not None}
