"""Runtimes of a kind's own: what code is linked with beside `standalone` and `host` (`-runtime=`).

A package attaches one to a kind with the column `runtimes`. Then the kind's attribute `-runtime` allows its name, its C
files go into the bundle, and projects for such targets are made with its template where it brings one.
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
    """What code is linked with.

    Attributes:
        name: Value of `-runtime`.
        help: What it is, one sentence.
        files: C files for the bundle of each model that is compiled for it; None for none.
        template: Folder of the project template (`template.toml` and `*.j2`), whose name is the template's; None where
            the board's own will do.
    """

    name: str
    help: str
    files: Runtime | None = None
    template: Path | None = None


columns.declare(
    columns.Column(
        COLUMN,
        "What code may be linked with beside the kind's own: values of -runtime, with files and a project template",
        LinkedRuntime,
        function=False,
        many=True,
    )
)


def find(target: Target) -> LinkedRuntime | None:
    """Returns the runtime of a target's host, or None where it is one of the kind's own."""
    name = target.host.attrs.get("runtime")
    return next((added for added in columns.plain(target.host.kind.name, COLUMN) if added.name == name), None)


def template_name(target: Target) -> str | None:
    """Returns the name of the project template that a target's runtime brings, or None."""
    found = find(target)
    return None if found is None or found.template is None else found.template.name


def templates() -> Mapping[str, Path]:
    """Returns the folders of the templates that runtimes bring, by the template's name."""
    found = [added.template for kind in kinds() for added in columns.plain(kind, COLUMN)]
    return {folder.name: folder for folder in found if folder is not None}
