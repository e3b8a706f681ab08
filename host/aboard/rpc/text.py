"""Text that a device sends: whoever prints it must not have the terminal obey it."""

from __future__ import annotations

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(data: bytes, kept: str = "") -> str:
    """Returns a text without control characters, marks of direction and the like.

    Args:
        data: UTF-8; what is none is replaced.
        kept: Characters that may stay although they do not print, such as a newline.
    """
    text = data.decode("utf-8", "replace")
    return "".join(c if c.isprintable() or c in kept else _REPLACEMENT for c in text)
