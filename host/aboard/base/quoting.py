"""Foreign text in generated files: for each language, the one function that makes it safe there.

Text is foreign that a model, a manifest, a board file, a package or the name of a folder brings. Templates reach the
functions by their names, as filters (`{{ board.name | markdown }}`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

from aboard.base import printable

_PRINTABLE_ASCII = range(0x20, 0x7F)
_TRIGRAPH = re.compile(r"(?<=\?)\?")
_COMMENT_MARK = re.compile(r"\*(?=/)|/(?=\*)")
# Before a letter a backslash would mean something else than the letter.
_TCL = re.compile(r"[^A-Za-z0-9_.:/-]")
_MARKDOWN = re.compile(r"[\\`*_\[\]<>&|]")


def c_string(text: str) -> str:
    """Returns a C string literal of the text in UTF-8; all of it is printable ASCII, and no trigraph is in it."""
    # An octal escape has three digits at most, so a digit behind three is no part of it. A hexadecimal one has no end.
    plain = _TRIGRAPH.sub(r"\?", text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{_octal(plain)}"'


def c_comment(text: str) -> str:
    """Returns the text as a part of a line in a C comment of either kind, which it cannot end, nest or continue."""
    # A backslash is always followed by digits, so that none stands at the end of a line.
    plain = _TRIGRAPH.sub(r"\\077", _octal(text.replace("\\", "\\134")))
    return _COMMENT_MARK.sub(r"\g<0> ", plain)


def _octal(text: str) -> str:
    """Returns a text in which every byte that is no printable ASCII is an octal escape."""
    coded = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _PRINTABLE_ASCII else f"\\{byte:03o}" for byte in coded)


def markdown(text: str) -> str:
    """Returns the text as a part of a line of Markdown, without markup or HTML of its own."""
    return _MARKDOWN.sub(r"\\\g<0>", printable.one_line(text))


def shell(text: str) -> str:
    """Returns the text as one word of a shell's command line."""
    return shlex.quote(printable.one_line(text))


def tcl_word(text: str) -> str:
    """Returns the text as one word of a Tcl command, which OpenOCD executes."""
    return _TCL.sub(r"\\\g<0>", printable.one_line(text))


def yaml_string(text: str) -> str:
    """Returns a YAML scalar in double quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if printable.is_one_line(c) else f"\\U{ord(c):08x}" for c in plain) + '"'


def workflow_string(text: str) -> str:
    """Returns a YAML scalar for a GitHub workflow, in which `${{` is no expression."""
    return yaml_string(text.replace("${{", "${{ '${{' }}"))


#: What templates may use, by name.
FILTERS: Mapping[str, Callable[[str], str]] = {
    "c_comment": c_comment,
    "c_string": c_string,
    "markdown": markdown,
    "one_line": printable.one_line,
    "shell": shell,
    "workflow_string": workflow_string,
    "yaml_string": yaml_string,
}
