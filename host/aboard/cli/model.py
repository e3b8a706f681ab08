"""Reads the argument MODEL: a model file, a bundle's folder, or the name of a shipped model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aboard import frameworks
from aboard.base import extensions, manifest, resources
from aboard.base.manifest import Manifest
from aboard.errors import ModelError, ProjectError, TargetError, ToolError, did_you_mean

if TYPE_CHECKING:
    from aboard.cli.options import Place
    from aboard.compiler.pipeline import Module
    from aboard.kernels.select.strategy import Explanation
    from aboard.partition.partitioner import Partition
    from aboard.partition.pipeline import OnStep
    from aboard.passes import Pipeline


class Compiled(Protocol):
    """A compiled model: a module of this process, or a bundle on disk."""

    @property
    def name(self) -> str:
        """C identifier of the model."""

    @property
    def manifest(self) -> Manifest:
        """The manifest."""

    def save(self, folder: str | Path) -> Path:
        """Writes the bundle."""

    def with_hooks(self) -> Compiled:
        """Returns the model with hooks, or unchanged if its code cannot be emitted again."""


@dataclass(frozen=True)
class LoadedBundle:
    """A bundle on disk; does not import the compile path.

    Attributes:
        path: Its folder.
        manifest: The manifest in the bundle.
    """

    path: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        """C identifier of the model."""
        return self.manifest.name

    def save(self, folder: str | Path) -> Path:
        """Copies the bundle to a new folder."""
        return Path(shutil.copytree(self.path, folder))

    def with_hooks(self) -> LoadedBundle:
        """Returns the bundle unchanged: its code was emitted before."""
        return self


def shipped() -> list[str]:
    """Returns the names of the shipped models."""
    return sorted(path.stem for path in resources.models().glob("*.tflite"))


def find(text: str) -> Path:
    """Returns the path of a model file or a bundle's folder.

    Args:
        text: A path, or the name of a shipped model. An existing path is preferred.

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


def model_file(text: str) -> Path:
    """Returns the path of a model file.

    Args:
        text: A path, or the name of a shipped model.

    Raises:
        ModelError: There is neither, or it is a bundle.
    """
    path = find(text)
    if is_bundle(path):
        raise ModelError(f"{path}: a folder, expected a model file. Name the .tflite file")
    return path


def is_bundle(path: Path) -> bool:
    """True for a folder that is not a model of a framework: a bundle, or what is wrongly taken for one."""
    return path.is_dir() and not frameworks.is_model_folder(path)


def compile_file(
    text: str,
    place: Place,
    *,
    name: str | None = None,
    opt: str | None = None,
    tuning: Path | None = None,
    toolchain: str | None = None,
    passes: str | None = None,
    on_step: OnStep | None = None,
    hooks: bool = True,
    dimensions: Mapping[str, int] | None = None,
) -> Module:
    """Compiles a model file.

    Args:
        text: MODEL.
        place: Board or target of the model.
        name: C identifier.
        opt: Optimisation goal, as for `--opt`.
        tuning: File of tuning records; None for the user's own.
        toolchain: Toolchain of the build, which the tuning records must be for; None to choose by rule.
        passes: The passes as text; None for the target's own.
        on_step: Called between passes.
        hooks: Whether the code can profile, trace, and run one node by itself.
        dimensions: Sizes of free dimensions by their name.

    Raises:
        AboardError: The file does not exist, is a bundle, or does not compile.
    """
    path = model_file(text)
    with whole_installation(text):
        from aboard.compiler.pipeline import compile_model
        from aboard.tuning.record_file import Records, default_path

        records = Records(tuning or default_path(), required=tuning is not None, toolchain=toolchain)
        return compile_model(
            path,
            target=place.target,
            board=place.board,
            name=name,
            opt=opt,
            tuning=records,
            passes=passes,
            on_step=on_step,
            hooks=hooks,
            dimensions=dimensions,
        )


def pipeline(place: Place, passes: str | None) -> Pipeline:
    """Returns the passes that run for a target.

    Args:
        place: Board or target of the model.
        passes: The passes as text; None for the target's own.

    Raises:
        AboardError: The target or the text is not valid.
    """
    target = place.as_target()
    with whole_installation("passes"), extensions.blamed():
        from aboard.partition.pipeline import pipeline_of

        return pipeline_of(target, passes)


def partition_file(text: str, place: Place) -> Partition:
    """Returns which device would compute which node of a model file.

    Args:
        text: MODEL.
        place: Board or target of the model.

    Raises:
        AboardError: The file does not exist, is a bundle or cannot be read, or a device's package is wrong.
    """
    path = model_file(text)
    with whole_installation(text):
        from aboard.compiler.pipeline import partition_model

        return partition_model(path, target=place.target, board=place.board)


def explain_file(text: str, place: Place) -> list[Explanation]:
    """Returns how each node of a model file would be computed, and why; arguments, errors: see `partition_file`."""
    path = model_file(text)
    with whole_installation(text):
        from aboard.compiler.pipeline import explain_model

        return explain_model(path, target=place.target, board=place.board)


def load(
    text: str,
    place: Place,
    *,
    name: str | None = None,
    opt: str | None = None,
    tuning: Path | None = None,
    toolchain: str | None = None,
    passes: str | None = None,
) -> Compiled:
    """Returns a model: compiled now, or read from a bundle.

    Args:
        text: MODEL.
        place: Board or target of the model.
        name: C identifier.
        opt: Optimisation goal, as for `--opt`.
        tuning: File of tuning records; None for the user's own.
        toolchain: Toolchain of the build; None to choose by rule.
        passes: The passes as text; None for the target's own. A bundle takes none.

    Raises:
        AboardError: There is no such model, it does not compile, or it is a bundle and name, opt or tuning is given.
    """
    path = find(text)
    if not is_bundle(path):
        return compile_file(text, place, name=name, opt=opt, tuning=tuning, toolchain=toolchain, passes=passes)
    if not (path / manifest.FILE_NAME).is_file():
        raise ProjectError(f"{path}: a folder without {manifest.FILE_NAME}, expected a bundle. Give the .tflite file")
    if name is not None or opt is not None or tuning is not None:
        raise TargetError(
            f"{path}: is compiled already, expected a model file with --name, --opt or --tuning. "
            "Leave them out, or give the .tflite file"
        )
    return LoadedBundle(path, manifest.read(path))


@contextmanager
def whole_installation(text: str) -> Iterator[None]:
    """Raises in a device-only installation, with the missing package.

    Raises:
        ToolError: A package of the compile path cannot be imported.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "aboard":
            raise
        raise ToolError(
            f"{text}: this installation cannot compile models, the package {error.name} is missing. "
            f"Install it (pip install {error.name}), or aboard with all that it needs (docs/how-to/installation.md). "
            "Projects that are built run without it"
        ) from error
