"""How many operands or results a kernel takes that exists once for each number of them."""

from __future__ import annotations

#: What firmware/kernels/arity.h has lists for.
MAX_PARTS = 16
