r"""Foreign text made safe to show: names in a model, log lines of a device, words of a package or of a tool.

Characters that drive a terminal, hide other text or turn it round become visible escapes, such as `\x1b`.
"""

from __future__ import annotations

import unicodedata

#: Categories of Unicode without a shape of their own: control, format (such as marks that turn text round), halves of
#: characters, private use, and separators of lines and paragraphs.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_LAYOUT = "\n\t"


def one_line(text: str) -> str:
    """Returns a text on one line, with a visible escape for every hidden character."""
    return text if text.isprintable() else "".join(map(_shown, text))


def lines(text: str) -> str:
    """Returns a text whose line breaks and tabs are kept, with a visible escape for every other hidden character."""
    if text.isprintable():
        return text
    return "".join(char if char in _LAYOUT else _shown(char) for char in text.replace("\r\n", "\n"))


def is_one_line(text: str) -> bool:
    """True for a text in which nothing is hidden."""
    return one_line(text) == text


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _HIDDEN else char
