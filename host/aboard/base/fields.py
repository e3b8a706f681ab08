"""Pydantic field types for records that others may have written: manifests, projects and board files.

A value that passes cannot break out of a generated file, a path or a command line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from aboard.base import printable

_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Flags that read files, write files or load code: each takes a path, or is named here.
_FLAG = re.compile(
    r"-O([0-3sgz]|fast)"
    r"|-f(?!plugin|dump|profile|save|debug|sanitize|diagnostics)[a-z0-9-]+(=[a-z0-9-]+)?"
    r"|-D[A-Za-z_][A-Za-z0-9_]*(=-?[A-Za-z0-9_.]+)?"
    r"|-m[a-z0-9-]+(=[A-Za-z0-9_.+-]+)?"
    r"|-std=[a-z0-9]+"
    r"|-w|-W[a-z0-9-]+(=[0-9]+)?"
)


def _one_line(text: str) -> str:
    if not printable.is_one_line(text):
        raise ValueError(f"hidden characters, got {printable.one_line(text)[:80]}, expected text on one line")
    return text


def _lines(text: str) -> str:
    if printable.lines(text) != text:
        raise ValueError(f"hidden characters, got {printable.one_line(text)[:80]}, expected text")
    return text


def relative_path(text: str) -> str:
    """Returns the path; raises `ValueError` if it is not a valid `RelativePath`."""
    if not all(_FILE.fullmatch(part) for part in text.split("/")):
        raise ValueError(
            f"path, got {printable.one_line(text)[:80]}, expected one below the folder: names of letters, digits and "
            "_.+- joined by /"
        )
    return text


def _file_name(text: str) -> str:
    if text in (".", "..") or "/" in text:
        raise ValueError(f"name of a file, got {text[:80]}, expected one without folders")
    return text


def flag(text: str) -> str:
    """Returns the flag; raises `ValueError` if it is not a valid `Flag`."""
    if not _FLAG.fullmatch(text):
        raise ValueError(
            f"flag of the compiler, got {printable.one_line(text)[:80]}, expected one of the kinds -O2, -fname, "
            "-fname=word, -DNAME, -DNAME=value, -mname=value, -std=c99, -w, -Wname"
        )
    return text


#: Text on one line, without control characters and without characters that hide or reverse other text.
Line = Annotated[str, AfterValidator(_one_line)]
#: As `Line`, but line breaks and tabs are allowed.
Lines = Annotated[str, AfterValidator(_lines)]
#: A C identifier in lower case, such as the C name of a model or a tensor.
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=200)]
#: Name of a template, a core or a runner.
Word = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.+-]*$", max_length=200)]
#: SHA-256 in hex.
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: Relative POSIX path that stays below its folder and needs no quotes in CMake, Make and shells.
RelativePath = Annotated[str, AfterValidator(relative_path)]
#: File name without folders. aboard only shows it.
FileName = Annotated[Line, Field(min_length=1), AfterValidator(_file_name)]
#: Flag of gcc and clang that controls code generation and names no file.
Flag = Annotated[str, AfterValidator(flag)]
#: A size, a number or an offset. Addresses have 32 bits; the MACs of a model may need more.
Count = Annotated[int, Field(ge=0, lt=1 << 63, strict=True)]
Size = Annotated[int, Field(ge=0, lt=1 << 48, strict=True)]
#: A dimension of a tensor.
Dimension = Annotated[int, Field(ge=1, lt=1 << 31, strict=True)]


def first_problem(error: ValidationError | UnicodeDecodeError) -> str:
    """Returns the first problem of a record that was read, as `<field>: <problem>`."""
    if isinstance(error, UnicodeDecodeError):
        return "file: not UTF-8"
    first = error.errors(include_url=False, include_context=False)[0]
    what = first["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, first["loc"])) or ("" if first["type"] == "value_error" else "file")
    return f"{place}: {what}" if place else what


def is_file_within(path: Path, folder: Path) -> bool:
    """True if the path, after following symbolic links, is a regular file inside the folder."""
    return path.is_file() and path.resolve().is_relative_to(folder.resolve())
