"""The amalgamation: a bundle as one C file and one header, for build systems that take single files.

<name>.h    the model's API, with the headers of `aboard/` that it includes
<name>.c    everything else; includes <name>.h and headers of the C library

Both are texts of the bundle in the order in which a compiler reads them, so that they compile to the same code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from aboard import outputs
from aboard.base import manifest
from aboard.base.manifest import Manifest
from aboard.errors import ProjectError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)".*$')
#: A definition at file scope that other files cannot see. clang-format leaves the name and what follows on one line.
_STATIC = re.compile(r"^static\b[^;={(]*?\b(\w+)[ \t]*(?=[\[(=])", re.MULTILINE)
_ATTRIBUTES = re.compile(r"\bABOARD_\w+(?:\([^)]*\))?")
_GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.MULTILINE)


def files(bundle: Mapping[str, str], record: Manifest) -> dict[str, str]:
    """Returns the two files of an amalgamation, by name.

    Args:
        bundle: The files of the bundle, by path.
        record: Its manifest.

    Raises:
        ProjectError: Single sources of the bundle need flags of their own, or the model has hooks.
    """
    _check(record)
    texts = _Texts(bundle)
    # Applications align the arena with a macro of config.h, which the API itself does not need.
    header = "".join(map(texts.inlined_once, (f"include/{record.name}.h", "include/aboard/config.h")))
    sources = [f"src/{record.name}.c", *(path for path in record.sources if path != f"src/{record.name}.c")]
    taken: set[str] = set()
    parts = [_renamed(texts.inlined(path), PurePosixPath(path).stem, taken) for path in sources]
    head = [
        f"/* The whole model {record.name}. Flags of gcc and clang that it is made for: {' '.join(record.cflags)} */",
        *_definitions(record.cflags),
        f'#include "{record.name}.h"\n',
    ]
    return {f"{record.name}.h": header, f"{record.name}.c": "\n".join([*head, *parts])}


def save(bundle: Mapping[str, str], record: Manifest, folder: Path, *, force: bool = False) -> Path:
    """Writes the two files, or nothing.

    Args:
        bundle: The files of the bundle, by path.
        record: Its manifest.
        folder: A new folder, or an amalgamation that is replaced.
        force: True to overwrite files in the way that aboard did not write.

    Raises:
        ProjectError: As `files`; or the folder holds something else, or cannot be written.
    """
    made = files(bundle, record)

    def fill(fresh: Path) -> None:
        for name, text in made.items():
            (fresh / name).write_text(text, encoding="utf-8")

    return outputs.write_folder(folder, "amalgamation", manifest.subject(record), fill, force=force)


def _check(record: Manifest) -> None:
    if record.hooks:
        raise ProjectError(
            f"{record.name}: an amalgamation has no hooks, got a bundle with hooks, expected one without. "
            "Compile without --hooks"
        )
    if record.source_flags or record.include_folders:
        device = next((node.device for node in record.nodes if node.device), "a device")
        raise ProjectError(
            f"{record.name}: cannot be one file, got sources for {device} with flags or folders of their own, expected "
            "one set of flags. Compile the model without that device, or use the bundle"
        )


def _definitions(cflags: Iterable[str]) -> Iterator[str]:
    """Yields the macros that the flags define, for compilers that are not given the flags."""
    for flag in cflags:
        if flag.startswith("-D"):
            name, _, value = flag.removeprefix("-D").partition("=")
            yield f"#ifndef {name}\n#define {name} {value or 1}\n#endif"


def _renamed(text: str, stem: str, taken: set[str]) -> str:
    """Returns a source whose file-scope names differ from those of earlier sources, which `taken` collects."""
    own = {match[1] for match in _STATIC.finditer(_ATTRIBUTES.sub("", text))}
    for name in sorted(own & taken):
        text = re.sub(rf"\b{name}\b", f"{stem}_{name}", text)
    taken |= own
    return text


class _Texts:
    """The files of a bundle, of which headers with an include guard are inlined once."""

    def __init__(self, bundle: Mapping[str, str]) -> None:
        self._bundle = bundle
        self._inlined: set[str] = set()

    def inlined_once(self, path: str) -> str:
        """Returns `inlined` of a header, or a comment if the header is in the text already and has an include guard."""
        if path in self._inlined and _GUARD.search(self._bundle[path]):
            return f"/* {path.removeprefix('include/')}: above. */\n"
        return self.inlined(path)

    def inlined(self, path: str) -> str:
        """Returns a file, with the files that it includes in place of their `#include` lines."""
        self._inlined.add(path)
        folder = PurePosixPath(path).parent
        lines = []
        for line in self._bundle[path].splitlines():
            included = _INCLUDE.match(line)
            lines.append(line if included is None else self._included(included[1], folder))
        return "\n".join(lines) + "\n"

    def _included(self, name: str, folder: PurePosixPath) -> str:
        return self.inlined_once(next(path for path in self._candidates(name, folder) if path in self._bundle))

    @staticmethod
    def _candidates(name: str, folder: PurePosixPath) -> Iterator[str]:
        """Yields the paths of an included file, in the order in which a compiler searches them."""
        for root in (folder, PurePosixPath("include")):
            parts: list[str] = []
            for part in (root / name).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            yield "/".join(parts)
