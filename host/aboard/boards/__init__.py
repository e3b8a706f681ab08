"""Boards: what a board is, the files that describe boards, and the registry that finds them by name."""

from __future__ import annotations

from aboard.boards.board import Board
from aboard.boards.core_packages import AddedCore
from aboard.boards.files import SEARCH_PATH
from aboard.boards.registry import aliases, gpu, gpus, is_known, load, names, of_core, of_hardware, path_of, soc_path_of

__all__ = [
    "SEARCH_PATH",
    "AddedCore",
    "Board",
    "aliases",
    "gpu",
    "gpus",
    "is_known",
    "load",
    "names",
    "of_core",
    "of_hardware",
    "path_of",
    "soc_path_of",
]
