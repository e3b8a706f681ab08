r"""Makes foreign text safe to show: names in a model, log lines of a device, messages of packages and tools.

Characters that control a terminal, hide other text or reverse it become visible escapes, such as `\x1b`.
"""

from __future__ import annotations

import unicodedata

#: Unicode categories of invisible characters: control, format (such as marks that reverse text), surrogates, private
#: use, and separators of lines and paragraphs.
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
    """True if the text has no hidden character and no line break."""
    return one_line(text) == text


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _HIDDEN else char
