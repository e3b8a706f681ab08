"""Prints the section of the changelog that belongs to a tag, for a release.

usage: python scripts/release_notes.py v0.2.0
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class ReleaseError(Exception):
    """Tag, version and changelog disagree. Its text is a message for whoever makes the release."""


def notes(tag: str, project: str, changelog: str) -> str:
    """Returns the text of the section of a version, without its heading.

    Args:
        tag: `v` and the version, such as `v0.2.0`.
        project: Text of pyproject.toml.
        changelog: Text of CHANGELOG.md: a heading `## VERSION` for each version, with or without more words behind it.

    Raises:
        ReleaseError: The tag is no version, the package has another one, or the section is missing or empty.
    """
    match = re.fullmatch(r"v(\d+\.\d+\.\d+\S*)", tag)
    if match is None:
        raise ReleaseError(
            f"{tag}: is not the tag of a version, expected v and three numbers, such as v0.2.0. Tag again"
        )
    version = match[1]
    own = re.search(r'^version = "(.+)"$', project, re.MULTILINE)
    if own is None or own[1] != version:
        got = own[1] if own else "none"
        raise ReleaseError(
            f"pyproject.toml: version is {got}, expected {version}. Set the version, and tag that commit"
        )
    section = re.search(
        rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if section is None or not section[1].strip():
        raise ReleaseError(f"CHANGELOG.md: has no section ## {version} with text. Add it, and tag that commit")
    return section[1].strip() + "\n"


def main(arguments: Sequence[str]) -> int:
    """Prints the section for the tag in the arguments; returns 1 where it cannot."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "CHANGELOG.md"))
    try:
        sys.stdout.write(notes(arguments[0], *texts))
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
