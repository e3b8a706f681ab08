"""Compares board, models and build id of a device with those of a project."""

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
    """The properties of a board that a session uses."""

    @property
    def id(self) -> str:
        """The board id that the image reports."""

    @property
    def memory(self) -> Sequence[RegionLike]:
        """Its memory regions; empty if they are unknown."""


class ProjectLike(Protocol):
    """The properties of a project that a session uses."""

    @property
    def board(self) -> BoardLike:
        """The board it was made for."""

    @property
    def path(self) -> Path:
        """Its folder."""

    @property
    def image(self) -> Path:
        """Path of the ELF file, which exists after a build."""

    @property
    def build_id(self) -> str:
        """The build id that the image reports."""

    @property
    def models(self) -> Sequence[Manifest]:
        """Its models, in the order in which the device numbers them."""


def check(hello: Hello, infos: Sequence[ModelInfo], project: ProjectLike, where: str) -> None:
    """Raises unless the device runs this project's build.

    Args:
        hello: The device's reply to HELLO.
        infos: The device's description of each of its models.
        project: The expected project.
        where: Name of the line.

    Raises:
        WrongModelError: Board, models or build differ. The message names both values.
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
