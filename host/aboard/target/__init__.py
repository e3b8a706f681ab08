"""Targets: the hardware that code will run on, as the compiler and the runtime see it."""

from __future__ import annotations

from aboard.boards.cpu import Cpu
from aboard.target.c import C
from aboard.target.columns import Column, attach, declare
from aboard.target.composite import COMPOSITE
from aboard.target.device import DeviceOption, Intrinsic, Knob, MemoryRegion, ProjectNeeds, Runtime, TileConstraint
from aboard.target.kind import Attribute, Kind, Need, Value, register
from aboard.target.lookup import alias, kind, kinds
from aboard.target.plugins import INTERFACE, Plugin
from aboard.target.runtimes import LinkedRuntime
from aboard.target.target import Target

__all__ = [
    "COMPOSITE",
    "INTERFACE",
    "Attribute",
    "C",
    "Column",
    "Cpu",
    "DeviceOption",
    "Intrinsic",
    "Kind",
    "Knob",
    "LinkedRuntime",
    "MemoryRegion",
    "Need",
    "Plugin",
    "ProjectNeeds",
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
