"""Writes the files of an application that are the user's: sensor, decisions, settings, README."""

from __future__ import annotations

from collections.abc import Sequence

import jinja2

from aboard.base import quoting, resources
from aboard.base.manifest import Manifest
from aboard.base.version import VERSION
from aboard.boards.board import Board
from aboard.errors import ProjectError
from aboard.project import templates

_TEMPLATES = "application"
#: Files of the folder, and where they go.
_PLACES = {
    "README.md": "README.md",
    "aboard.toml": "aboard.toml",
    "application.c": "application/application.c",
    "application.h": "application/application.h",
    "sensor.c": "application/sensor.c",
    "sensor.h": "application/sensor.h",
}
_NUMBERS = ("int8", "uint8", "int16", "int32", "float32")


def check(board: Board, model: Manifest) -> None:
    """Checks that an application can be written.

    Raises:
        ProjectError: The board has no template with applications, or the model needs another application.
    """
    template = templates.load(templates.default(board.id, is_host=board.is_host))
    if "application" not in template.options:
        raise ProjectError(
            f"new: {board.id} has no bare-metal projects, got the template {template.name}, expected a board of "
            "`aboard boards --can bare-metal`, or host/native. Use `aboard create` for a project without an application"
        )
    dtypes = {tensor.dtype for tensor in (*model.inputs, *model.outputs)}
    special = {
        "several arenas": model.arenas,
        "state": model.states,
        "streamed input": model.input_mode == "rows",
        f"tensors of {' and '.join(sorted(dtypes - set(_NUMBERS)))}": dtypes - set(_NUMBERS),
    }
    found = next((what for what, has in special.items() if has), None)
    if found is not None:
        raise ProjectError(
            f"new: {model.name} has {found}, which the application does not handle, expected a model without. Use "
            "`aboard create`, and write the calls by docs/reference/model_api.md"
        )


def files(
    name: str,
    board: Board,
    model: Manifest,
    model_file: str,
    samples: Sequence[Sequence[int]] = (),
    front_end: str = "",
) -> dict[str, str]:
    """Returns the files by path.

    Args:
        name: Name of the application.
        board: The board.
        model: The compiled model.
        model_file: Name of its file in the folder.
        samples: Inputs of the model, in its type; without them, the sensor gives bytes that change.
        front_end: Parameters of the front end in words; empty for none.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([resources.project_templates() / _TEMPLATES, resources.project_templates()]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - the files are C, TOML and Markdown, not HTML
    )
    environment.filters |= quoting.FILTERS
    context = {
        "name": name,
        "board": board,
        "model": model,
        "model_file": model_file,
        "samples": samples,
        "front_end": front_end,
        "generator": f"aboard {VERSION}",
    }
    return {
        place: environment.get_template(f"{source}.j2").render(context).strip() + "\n"
        for source, place in _PLACES.items()
    }
