"""Is the device the one the project was made for? Board, models and build, as both state them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from aboard.base.manifest import Manifest
from aboard.errors import WrongModelError
from aboard.faults.decode import RegionLike
from aboard.rpc.replies import Hello, ModelInfo

_HASH_DIGITS = 12


class BoardLike(Protocol):
    """What a session has to know of a board."""

    @property
    def id(self) -> str:
        """Its id, as the image states it."""

    @property
    def memory(self) -> Sequence[RegionLike]:
        """Its memory regions; none where they are not known."""


class ProjectLike(Protocol):
    """What a session has to know of a project."""

    @property
    def board(self) -> BoardLike:
        """The board it was made for."""

    @property
    def path(self) -> Path:
        """Its folder."""

    @property
    def image(self) -> Path:
        """Where the image lies once it is built."""

    @property
    def build_id(self) -> str:
        """What the image states."""

    @property
    def models(self) -> Sequence[Manifest]:
        """Its models, in the order in which the device numbers them."""


def check(hello: Hello, infos: Sequence[ModelInfo], project: ProjectLike, where: str) -> None:
    """Refuses a device that is not the project's.

    Args:
        hello: What the device says of itself.
        infos: What it says of its models.
        project: What is expected.
        where: Name of the line.

    Raises:
        WrongModelError: Board, models or build differ; both are named.
    """
    if hello.board != project.board.id:
        raise WrongModelError(
            f"{where}: another board, got {hello.board}, expected {project.board.id}. "
            "Choose the port of the right board, or make the project for this one"
        )
    ours = ", ".join(_label(model.name, model.model_hash) for model in project.models)
    if [info.hash.hex() for info in infos] != [model.model_hash for model in project.models]:
        theirs = ", ".join(_label(info.name, info.hash.hex()) for info in infos)
        raise WrongModelError(
            f"{where}: the device runs another model, got {theirs}, expected {ours}. "
            "Build the project and flash its image"
        )
    if hello.build != project.build_id:
        raise WrongModelError(
            f"{where}: the device runs another build of {ours}, got {hello.build}, expected {project.build_id}. "
            "Build the project and flash its image"
        )


def _label(name: str, digest: str) -> str:
    return f"{name} ({digest[:_HASH_DIGITS]})"
