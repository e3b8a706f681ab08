"""Foreign text in generated files: one function per language makes the text safe there.

Foreign text comes from a model, a manifest, a board file, a package or the name of a folder. Templates use the
functions as filters (`{{ board.name | markdown }}`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

from aboard.base import printable

_PRINTABLE_ASCII = range(0x20, 0x7F)
_TRIGRAPH = re.compile(r"(?<=\?)\?")
_COMMENT_MARK = re.compile(r"\*(?=/)|/(?=\*)")
# In Tcl, a backslash before a letter does not mean that letter.
_TCL = re.compile(r"[^A-Za-z0-9_.:/-]")
_MARKDOWN = re.compile(r"[\\`*_\[\]<>&|]")


def c_string(text: str) -> str:
    """Returns a C string literal of the text in UTF-8. It holds printable ASCII only, and no trigraphs."""
    # An octal escape ends after three digits. A hexadecimal escape would take in the digits that follow.
    plain = _TRIGRAPH.sub(r"\?", text.replace("\\", "\\\\").replace('"', '\\"'))
    return f'"{_octal(plain)}"'


def c_comment(text: str) -> str:
    """Returns the text for a line of a C comment of either kind. The text cannot end, nest or continue the comment."""
    # Digits follow every backslash, so that no line ends in a backslash.
    plain = _TRIGRAPH.sub(r"\\077", _octal(text.replace("\\", "\\134")))
    return _COMMENT_MARK.sub(r"\g<0> ", plain)


def _octal(text: str) -> str:
    """Returns the text with an octal escape for every byte that is not printable ASCII."""
    coded = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _PRINTABLE_ASCII else f"\\{byte:03o}" for byte in coded)


def markdown(text: str) -> str:
    """Returns the text for a line of Markdown, with its markup and HTML characters escaped."""
    return _MARKDOWN.sub(r"\\\g<0>", printable.one_line(text))


def shell(text: str) -> str:
    """Returns the text as one word of a shell command line."""
    return shlex.quote(printable.one_line(text))


def tcl_word(text: str) -> str:
    """Returns the text as one word of a Tcl command, for OpenOCD."""
    return _TCL.sub(r"\\\g<0>", printable.one_line(text))


def yaml_string(text: str) -> str:
    """Returns a YAML scalar in double quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if printable.is_one_line(c) else f"\\U{ord(c):08x}" for c in plain) + '"'


def workflow_string(text: str) -> str:
    """Returns a YAML scalar for a GitHub workflow, in which `${{` does not start an expression."""
    return yaml_string(text.replace("${{", "${{ '${{' }}"))


#: The filters of templates, by name.
FILTERS: Mapping[str, Callable[[str], str]] = {
    "c_comment": c_comment,
    "c_string": c_string,
    "markdown": markdown,
    "one_line": printable.one_line,
    "shell": shell,
    "workflow_string": workflow_string,
    "yaml_string": yaml_string,
}
