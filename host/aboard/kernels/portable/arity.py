"""Largest number of operands or results of kernels that exist once for each number."""

from __future__ import annotations

#: The number of lists in firmware/kernels/arity.h.
MAX_PARTS = 16
