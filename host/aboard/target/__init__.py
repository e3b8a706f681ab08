"""Targets: what the compiler and the runtime may ask about where code will run."""

from __future__ import annotations

from aboard.target.aliases import add as alias
from aboard.target.c import C
from aboard.target.columns import Column, attach, declare
from aboard.target.composite import COMPOSITE
from aboard.target.cpu import Cpu
from aboard.target.device import Knob, MemoryRegion, Runtime, TileConstraint
from aboard.target.kind import Attribute, Kind, Need, Value, kind, kinds, register
from aboard.target.plugins import INTERFACE, Plugin
from aboard.target.target import Target

__all__ = [
    "COMPOSITE",
    "INTERFACE",
    "Attribute",
    "C",
    "Column",
    "Cpu",
    "Kind",
    "Knob",
    "MemoryRegion",
    "Need",
    "Plugin",
    "Runtime",
    "Target",
    "TileConstraint",
    "Value",
    "alias",
    "attach",
    "declare",
    "kind",
    "kinds",
    "register",
]
