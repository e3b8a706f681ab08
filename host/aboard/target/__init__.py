"""Targets: what the compiler and the runtime may ask about where code will run."""

from __future__ import annotations

from aboard.target.c import C
from aboard.target.cpu import Cpu
from aboard.target.kind import Attribute, Kind, Value, kind, kinds, register
from aboard.target.target import Target

__all__ = ["Attribute", "C", "Cpu", "Kind", "Target", "Value", "kind", "kinds", "register"]
