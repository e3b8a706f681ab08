"""What MODEL on the command line may be: a model file, a bundle's folder, or the name of a shipped model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aboard import manifest, resources
from aboard.errors import ModelError, ProjectError, TargetError, ToolError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from aboard.cli.options import Place
    from aboard.compiler import Module


def shipped() -> list[str]:
    """Returns the names of the models that come with the package."""
    return sorted(path.stem for path in resources.models().glob("*.tflite"))


def find(text: str) -> Path:
    """Returns the path of a model file or a bundle's folder.

    Args:
        text: A path, which comes first, or the name of a shipped model.

    Raises:
        ModelError: There is neither.
    """
    path = Path(text)
    if path.exists():
        return path
    if text in shipped():
        return resources.models() / f"{text}.tflite"
    near = [entry.name for entry in path.parent.glob("*.tflite")] if path.parent.is_dir() else []
    raise ModelError(
        f"{text}: no such file, expected a .tflite file, a bundle's folder, or one of the shipped models "
        f"{', '.join(shipped())}. {did_you_mean(path.name, [*near, *shipped()])}"
    )


def load(
    text: str,
    place: Place,
    *,
    name: str | None = None,
    opt: str | None = None,
    on_ir: Callable[[str, str], None] | None = None,
) -> Module:
    """Returns a model, compiled now, or read where it is a bundle.

    Args:
        text: MODEL.
        place: Where it shall run.
        name: C identifier.
        opt: What to prefer.
        on_ir: Called with the IR after each pass.

    Raises:
        AboardError: It is neither, does not compile, or is a bundle for which name or opt are asked.
    """
    try:
        from aboard.compiler import Module, compile_model
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "aboard":
            raise
        raise ToolError(
            f"{text}: this installation cannot compile models, the package {error.name} is missing. "
            "Install all of aboard with `pip install aboard`; projects that are built run without it"
        ) from error

    path = find(text)
    if not path.is_dir():
        return compile_model(path, target=place.target, board=place.board, name=name, opt=opt, on_ir=on_ir)
    if not (path / manifest.FILE_NAME).is_file():
        raise ProjectError(f"{path}: a folder without {manifest.FILE_NAME}, expected a bundle. Give the .tflite file")
    if name is not None or opt is not None or on_ir is not None:
        raise TargetError(
            f"{path}: is compiled already, expected a model file with --name, --opt or --dump-ir. "
            "Leave them out, or give the .tflite file"
        )
    return Module.load(path)
