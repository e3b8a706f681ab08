"""Reads XML of vendors: package descriptions and SVD files."""

from __future__ import annotations

from pathlib import Path

# Entities, the danger of untrusted XML, are refused below.
from xml.etree import ElementTree

from aboard.errors import BoardError


def parse(text: bytes, where: str | Path) -> ElementTree.Element:
    """Returns the root of an XML document without a document type.

    Args:
        text: The document.
        where: Its name, for messages.

    Raises:
        BoardError: The text is not XML, or has a document type, which could define entities.
    """
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise BoardError(f"{where}: has a document type, expected plain XML. Remove the line with <!DOCTYPE")
    try:
        return ElementTree.fromstring(text)  # noqa: S314  without entities
    except ElementTree.ParseError as error:
        raise BoardError(f"{where}: not XML, got: {error}. Download the file again") from error


def number(text: str) -> int:
    """Returns a number of an SVD file or a package description: decimal, `0x` hexadecimal, or `#` binary.

    Raises:
        ValueError: The text is no number.
    """
    text = text.strip().lower().lstrip("+")
    return int(text[1:], 2) if text.startswith("#") else int(text, 0) if "x" in text else int(text)
