"""Reports for people, made from results of the compiler and the device: pure functions, no I/O."""

from __future__ import annotations
