"""Reports for people, from results of the compiler and the device: pure functions without I/O."""

from __future__ import annotations
