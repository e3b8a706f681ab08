"""Writes folders: bundles, projects and packages."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.base import scratch
from aboard.base.scratch import Scratch
from aboard.errors import ProjectError
from aboard.outputs import record
from aboard.outputs.place import followed, shown, swap, unwritable
from aboard.outputs.record import WriteRecord

_SHOWN = 3
#: Largest number of foreign files to count in a folder that is refused; the folder may be a home folder.
_COUNTED = 1000


def write_folder(
    folder: Path,
    what: str,
    of: str,
    fill: Callable[[Path], None],
    *,
    force: bool = False,
    disposable: Callable[[Path], bool] = record.none,
) -> Path:
    """Makes a folder, or replaces a folder that aboard made and nobody changed.

    Args:
        folder: The folder.
        what: Kind of folder: `bundle`, `amalgamation`, `project` or `package`.
        of: Sources and purpose of the folder, in words.
        fill: Writes everything into a new, empty folder.
        force: True to overwrite other people's files that are in the way. All their other files stay.
        disposable: True for a sub-folder that a build of aboard made and that is removed with the old folder.

    Returns:
        The folder, absolute, with links followed.

    Raises:
        ProjectError: The folder holds files that aboard did not write or that have changed since, or cannot be written.
    """
    place = followed(folder, ProjectError)
    _refuse_places(folder, place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with Scratch(beside=place) as temporary:
            fresh = temporary / "fresh"
            fresh.mkdir()
            fill(fresh)
            new = record.write(fresh, what, of)
            if place.exists():
                theirs = _Theirs.of(place, new, disposable, None if force else _COUNTED)
                if theirs and not force:
                    raise ProjectError(theirs.refusal(folder, what))
                _keep(theirs.kept, place, fresh)
                _keep_empty(place, fresh, disposable)
                shutil.copymode(place, fresh)
            swap(fresh, place, temporary / scratch.REPLACED)
    except OSError as error:
        raise unwritable(folder, error, ProjectError) from error
    return place


def refuse_other(folder: Path, of: str) -> None:
    """Refuses a default folder that already holds another output of aboard.

    Args:
        folder: The folder.
        of: Sources and purpose of the new contents, as for `write_folder`.

    Raises:
        ProjectError: The folder holds another output.
    """
    there = record.read(folder)
    if there is not None and there.of != of:
        raise ProjectError(
            f"{shown(folder)}: holds the {there.what} of {there.of}, expected that of {of}, or nothing. "
            "Name a folder with -o, or say --force to replace it"
        )


@dataclass(frozen=True)
class _Theirs:
    """The paths in a folder that differ from the files that aboard wrote.

    Attributes:
        added: Files that aboard did not write.
        changed: Files that aboard wrote and that have changed since.
        lost: Files of both lists that new files would overwrite.
        complete: False if the search stopped early and more files may exist.
    """

    added: Sequence[str]
    changed: Sequence[str]
    lost: Sequence[str]
    complete: bool

    @classmethod
    def of(cls, folder: Path, new: WriteRecord, disposable: Callable[[Path], bool], most: int | None) -> _Theirs:
        old = record.read(folder)
        written = old.files if old is not None else {}

        def is_theirs(path: str) -> bool:
            known = {written.get(path), new.files.get(path)} - {None}
            return not known or record.digest(folder / path) not in known

        found = list(itertools.islice(filter(is_theirs, record.files(folder, disposable)), most))
        lost = sorted({path for path in _in_the_way(folder, new.files) if is_theirs(path)})
        return cls(
            [path for path in found if path not in written],
            [path for path in found if path in written],
            lost,
            most is None or len(found) < most,
        )

    @property
    def kept(self) -> list[str]:
        lost = set(self.lost)
        return [path for path in (*self.added, *self.changed) if path not in lost]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed)

    def refusal(self, folder: Path, what: str) -> str:
        one = len(self.changed) == 1
        since = f"that {'was' if one else 'were'} changed since aboard wrote {'it' if one else 'them'}"
        parts = [_counted(self.added, "that aboard did not write", self.complete)] if self.added else []
        parts += [_counted(self.changed, since, self.complete)] if self.changed else []
        rest = " and keep the rest" if self.kept else ""
        effect = f"overwrite {_named(self.lost)}{rest}" if self.lost else "keep all of these files"
        return (
            f"{shown(folder)}: holds {' and '.join(parts)}, expected a new folder, or a {what} that nobody changed. "
            f"Name another folder, or say --force, which would {effect}"
        )


def _in_the_way(folder: Path, new: Iterable[str]) -> Iterator[str]:
    """Yields the files of a folder at the paths of new files, or at the paths of their parent folders."""
    for name in new:
        parts = name.split("/")
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            there = folder / path
            if os.path.lexists(there) and (there.is_symlink() or not there.is_dir()):
                yield path
                break
        else:
            if (folder / name).is_dir():
                yield from (f"{name}/{path}" for path in record.files(folder / name))


def _counted(paths: Sequence[str], which: str, complete: bool) -> str:
    number = f"{len(paths)}" if complete else f"{_COUNTED:,} or more"
    return f"{number} file{'s' if len(paths) != 1 else ''} {which} ({_named(paths)})"


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(map(shown, paths[:_SHOWN])) + more


def _refuse_places(folder: Path, place: Path) -> None:
    """Refuses destinations that cannot be replaced."""
    if os.path.lexists(place) and not place.is_dir():
        raise ProjectError(f"{shown(folder)}: is a file, expected a folder or none. Name another")
    if not place.is_dir():
        return
    with contextlib.suppress(OSError):
        if place in (Path.cwd(), *Path.cwd().parents):
            raise ProjectError(
                f"{shown(folder)}: the current folder and those above it cannot be replaced. Name a folder in it"
            )
    if os.path.ismount(place):
        raise ProjectError(f"{shown(folder)}: a mount point cannot be replaced. Name a folder in it")


def _keep(paths: Iterable[str], place: Path, fresh: Path) -> None:
    """Hard-links other people's files into the new folder, so that the old folder stays complete."""
    for path in paths:
        (fresh / path).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(place / path, fresh / path, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            shutil.copy2(place / path, fresh / path, follow_symlinks=False)


def _keep_empty(place: Path, fresh: Path, disposable: Callable[[Path], bool]) -> None:
    """Makes the empty folders again, which the record does not list."""
    old = record.read(place)
    written = {parent.as_posix() for path in (old.files if old is not None else ()) for parent in Path(path).parents}
    for name, inner, files in os.walk(place):
        folder = Path(name).relative_to(place)
        inner[:] = [each for each in inner if not disposable(place / folder / each)]
        if not inner and not files and folder.as_posix() not in written:
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                (fresh / folder).mkdir(parents=True, exist_ok=True)
