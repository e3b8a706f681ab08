"""Tiling: cutting a layer into pieces that fit the memory of a device, and the order of their transfers."""

from aboard.ops.box import Box
from aboard.tiling.runs import RunGroup, runs
from aboard.tiling.tiles import Tile, TilePlan, Transfer

__all__ = ["Box", "RunGroup", "Tile", "TilePlan", "Transfer", "runs"]
