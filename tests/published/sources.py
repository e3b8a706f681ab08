"""Models in checkouts of public repositories: TFLite files, and those that C sources keep as arrays of bytes."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: Larger files are no models of microcontrollers.
LARGEST = 3_000_000
_C_FILES = ("*.c", "*.cc", "*.cpp", "*.h", "*.hpp", "*.ino")
#: C writes a byte in about six characters.
_LARGEST_C = 6 * LARGEST
_IDENTIFIER = b"TFL3"
#: The same in C; it stands in the first line of such an array.
_IDENTIFIER_IN_C = "0x54, *0x46, *0x4c, *0x33"
_ARRAY = re.compile(r"\b(\w+)\s*\[[^\]]*\][^={};]*=\s*\{([^{}]*)\}")
_BYTE = re.compile(r"0[xX]([0-9a-fA-F]{1,2})\b")
_REMOTE = re.compile(r"github\.com[:/]([^/\s]+/[^/\s]+?)(?:\.git)?\s*$")


@dataclass(frozen=True)
class Published:
    """A model of a public repository.

    Attributes:
        repository: `owner/name`.
        commit: The commit that the file is read from; empty outside of git.
        path: Of the file in the repository; of an array in a C source, with `#` and the name of the array.
        data: The TFLite file.
        inputs: Input tensors that the repository publishes for the model, each a CSV text; empty if there are none.
        golden: The output that it publishes for these inputs, likewise.
    """

    repository: str
    commit: str
    path: str
    data: bytes = field(repr=False)
    inputs: tuple[str, ...] = field(default=(), repr=False)
    golden: str = field(default="", repr=False)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


class Tree:
    """Files of the newest commit of a git directory, or of a work tree's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        listed = self._git("ls-tree", "-rl", "HEAD").decode("utf-8", "replace").splitlines()
        rows = [line.split("\t", 1) for line in listed]
        #: Size and object of each file by its path; objects that a partial copy lacks have no size.
        self.files = {
            path: (int(size), name) for what, path in rows for *_, name, size in [what.split()] if size.isdigit()
        }
        self.commit = self._git("rev-parse", "HEAD").decode().strip()
        self.repository = self._name()

    def _git(self, *words: str) -> bytes:
        return subprocess.run(["git", "-C", self._folder, *words], capture_output=True, check=True).stdout

    def _name(self) -> str:
        remote = _REMOTE.search(self._git("config", "--default", "", "--get", "remote.origin.url").decode())
        if remote:
            return remote[1]
        parts = [part for part in self._folder.resolve().parts if "+" in part]
        return parts[-1].replace("+", "/", 1) if parts else self._folder.resolve().name

    def c_files(self) -> set[str]:
        """Returns the paths of C sources in which the identifier of a TFLite file stands."""
        command = ["git", "-C", self._folder, "grep", "-lIiE", "--full-name", _IDENTIFIER_IN_C, "HEAD", "--", *_C_FILES]
        # It ends with 1 where nothing is found, and complains where a partial copy lacks objects.
        found = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
        return {line.removeprefix("HEAD:") for line in found.splitlines()}

    def read(self, path: str) -> bytes:
        """Returns the content of a file; nothing where the object is absent from a partial copy."""
        try:
            return self._git("cat-file", "blob", self.files[path][1])
        except subprocess.CalledProcessError:
            return b""


def models(folder: Path) -> Iterator[Published]:
    """Yields the models of a checkout.

    Args:
        folder: A git directory or a work tree; its newest commit is read. The name of the repository is that of its
            remote; else that of a folder `owner+name` on its path.

    Raises:
        subprocess.CalledProcessError: The folder is no checkout.
    """
    tree = Tree(folder)
    in_c = tree.c_files()
    for path, (size, _) in sorted(tree.files.items()):
        if path.endswith(".tflite") and size <= LARGEST:
            data = tree.read(path)
            if data[4:8] == _IDENTIFIER:
                yield Published(tree.repository, tree.commit, path, data, *_goldens(tree, path))
        elif path in in_c and size <= _LARGEST_C:
            for name, data in arrays(tree.read(path).decode("utf-8", "replace")):
                yield Published(tree.repository, tree.commit, f"{path}#{name}", data)


def arrays(text: str) -> Iterator[tuple[str, bytes]]:
    """Yields the name and content of each array in a C source that is a TFLite file."""
    for match in _ARRAY.finditer(text):
        data = bytes(int(byte, 16) for byte in _BYTE.findall(match[2]))
        if data[4:8] == _IDENTIFIER and len(data) <= LARGEST:
            yield match[1], data


def _goldens(tree: Tree, path: str) -> tuple[tuple[str, ...], str]:
    """Returns inputs and the output that stand beside a model, as TFLM's integration tests name them."""
    stem = re.escape(path.removesuffix(".tflite"))
    named = {
        match[1]: each for each in tree.files if (match := re.fullmatch(rf"{stem}_(golden|input\d+)_\w+\.csv", each))
    }
    if "golden" not in named:
        return (), ""
    inputs = [tree.read(named[name]).decode() for name in sorted(named) if name != "golden"]
    return tuple(inputs), tree.read(named["golden"]).decode()


def sample(found: Iterable[Published], most: int) -> list[Published]:
    """Returns models without copies, at most some of each repository, evenly spread over its paths.

    Models with goldens are all kept.

    Args:
        found: The models; of equal files the first is kept.
        most: Models of a repository.
    """
    unique = {each.sha256: each for each in reversed(list(found))}
    by_repository: dict[str, list[Published]] = {}
    for each in sorted(unique.values(), key=lambda each: (each.repository, each.path)):
        by_repository.setdefault(each.repository, []).append(each)
    chosen: list[Published] = []
    for several in by_repository.values():
        chosen += [each for each in several if each.golden]
        chosen += _spread([each for each in several if not each.golden], most)
    return chosen


def _spread(several: Sequence[Published], most: int) -> list[Published]:
    if len(several) <= most:
        return list(several)
    return [several[number * len(several) // most] for number in range(most)]
