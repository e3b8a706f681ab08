"""Text for people, made from what the compiler and the device say: pure functions, no I/O."""

from __future__ import annotations
