"""`aboard new`: a folder with a working application, from a model and a board."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import boards, outputs
from aboard.api import create
from aboard.base.table import facts
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.create import compile_all
from aboard.cli.options import Place, example, pass_console, place_options
from aboard.cli.output_options import output_options
from aboard.cli.schema_project import NewResult
from aboard.errors import ModelError, ProjectError
from aboard.project import application

if TYPE_CHECKING:
    from aboard.base.manifest import Manifest
    from aboard.frontend import AudioFrontEnd

_OPTIONS = {"application": True}
_SAMPLES = 8


@dataclass(frozen=True)
class _Sound:
    """The parameters of a front end for sound, as given.

    Attributes:
        sample_rate: Samples of a second.
        window_ms: Milliseconds of a frame.
        hop_ms: Milliseconds from a frame to the next.
    """

    sample_rate: int = 16000
    window_ms: int = 30
    hop_ms: int = 20


@click.command(
    "new",
    epilog=example(
        "aboard new digits_demo --board arm/mps2_an386",
        "aboard new keywords --model kws.tflite --front-end sound --board st/nucleo_f411re",
    ),
)
@click.argument("project", metavar="PROJECT", type=click.Path(path_type=Path))
@place_options
@click.option("--model", metavar="MODEL", default="digits", show_default=True, help="Model file, or a shipped model.")
@click.option(
    "--front-end",
    type=click.Choice(["sound"]),
    help="Write the C that makes the model's input from a microphone: logarithms of mel channels, one for each value "
    "of the last axis, of 30 ms every 20 ms at 16 kHz.",
)
@output_options
@pass_console
def command(console: Console, project: Path, place: Place, model: str, front_end: str | None) -> None:
    """Write a folder with a working application: model, board, sensor, decisions, and the firmware around them.

    PROJECT is a new or empty folder. The application reads a stand-in for the sensor; its README has the next commands.
    """
    if project.exists() and (not project.is_dir() or any(project.iterdir())):
        raise ProjectError(f"{project}: is there and not empty, expected a new folder. Choose another name")
    board, source = boards.load(place.board_name()), models.model_file(model)
    if source.is_dir():
        raise ModelError(f"{model}: is a folder, expected a model file. Save the model as a file")
    (module,) = compile_all(console, [model], place, name=None, opt=None)
    application.check(board, module.manifest)
    sound = None if front_end is None else _sound(module.manifest)
    told = "" if sound is None else _told(sound)
    texts = application.files(
        project.resolve().name, board, module.manifest, source.name, () if sound else _samples(model), told
    )

    def fill(fresh: Path) -> None:
        for path, text in texts.items():
            (fresh / path).parent.mkdir(parents=True, exist_ok=True)
            (fresh / path).write_text(text, encoding="utf-8")
        shutil.copyfile(source, fresh / source.name)
        create(module, board, None, fresh / "firmware", _OPTIONS)
        if sound is not None:
            from aboard import frontend

            frontend.write(sound, fresh / "application" / "front_end", "front_end")

    with console.step("writing the application"):
        outputs.write_folder(project, "application", f"{source.name} on {board.id}", fill)
    result = NewResult(
        path=str(project),
        board=board.id,
        model=source.name,
        front_end=told or None,
        files=[*sorted(texts), source.name],
    )
    console.emit(result, lambda: _report(result))


def _sound(manifest: Manifest) -> AudioFrontEnd:
    """Returns the front end whose frames are the rows of the model's input.

    Raises:
        ProjectError: The input is not made of rows of int8 features.
    """
    from aboard.frontend import AudioFrontEnd, IntegerScale
    from aboard.frontend.audio import LOG_SCALE

    tensor, given = manifest.inputs[0], _Sound()
    sizes = [size for size in tensor.shape if size != 1]
    if (
        len(manifest.inputs) != 1
        or tensor.dtype != "int8"
        or tensor.scale is None
        or tensor.zero_point is None
        or len(sizes) != 2
    ):
        raise ProjectError(
            f"new: --front-end sound needs one input of int8 with two axes, frames and features, got {tensor.dtype} "
            f"{'x'.join(map(str, tensor.shape))}. Leave --front-end out, or quantise the model"
        )
    per_ms = given.sample_rate // 1000
    return AudioFrontEnd(
        sample_rate=given.sample_rate,
        window=given.window_ms * per_ms,
        hop=given.hop_ms * per_ms,
        channels=sizes[1],
        scale=IntegerScale(1 / LOG_SCALE, tensor.scale, zero_after=tensor.zero_point),
    )


def _told(front_end: AudioFrontEnd) -> str:
    return (
        f"{front_end.channels} mel channels, frames of {front_end.window} samples every {front_end.hop}, "
        f"{front_end.sample_rate} Hz"
    )


def _samples(model: str) -> list[list[int]]:
    """Returns inputs for the sensor of a shipped model; nothing for other models."""
    if model != "digits":
        return []
    import numpy as np

    from aboard.base import resources

    with np.load(resources.models() / "digits_test.npz") as file:
        return [sample.ravel().tolist() for sample in file["x"][:_SAMPLES]]


def _report(result: NewResult) -> str:
    lines = facts(
        [
            ("application", result.path),
            ("board", result.board),
            ("model", result.model),
            ("front end", result.front_end),
        ]
    )
    return f"{lines}\n\nNext: cd {result.path} && aboard build firmware && aboard run firmware"
