"""Folders: what aboard wrote is replaced, what anybody else wrote is named and stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aboard import outputs
from aboard.base import scratch
from aboard.errors import ProjectError
from aboard.outputs import place as places

Fill = Callable[[Path], None]
OLD = {"main.c": "int old;", "src/model.c": "old", "src/gone.h": "gone"}
NEW = {"main.c": "int new;", "src/model.c": "new", "include/added.h": "added"}


def fill(files: dict[str, str]) -> Fill:
    def written(fresh: Path) -> None:
        for name, text in files.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).write_text(text)

    return written


def write(folder: Path, files: dict[str, str] = NEW, *, force: bool = False, of: str = "m for t") -> Path:
    return outputs.write_folder(
        folder, "bundle", of, fill(files), force=force, disposable=lambda path: path.name == "build"
    )


def everything(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != outputs.RECORD
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "out", OLD)


def refused(folder: Path) -> str:
    before = everything(folder)
    with pytest.raises(ProjectError) as caught:
        write(folder)
    assert everything(folder) == before
    return str(caught.value)


def test_what_nobody_changed_is_replaced(folder: Path) -> None:
    assert write(folder) == folder
    assert everything(folder) == NEW
    assert not (folder / "src/gone.h").exists()
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_a_file_that_was_removed_is_no_loss(folder: Path) -> None:
    (folder / "main.c").unlink()
    write(folder)
    assert everything(folder) == NEW


@pytest.mark.parametrize("name", ["main.c", "src/model.c"])
def test_a_changed_file_is_named_and_force_overwrites_it(folder: Path, name: str) -> None:
    (folder / name).write_text("mine")
    assert refused(folder) == (
        f"{folder}: holds 1 file that was changed since aboard wrote it ({name}), expected a new folder, or a bundle "
        f"that nobody changed. Name another folder, or say --force, which would overwrite {name}"
    )
    write(folder, force=True)
    assert everything(folder) == NEW


def test_a_changed_file_that_is_not_in_the_way_stays(folder: Path) -> None:
    (folder / "src/gone.h").write_text("mine")
    assert "which would keep all of these files" in refused(folder)
    write(folder, force=True)
    assert everything(folder) == {**NEW, "src/gone.h": "mine"}


def test_added_files_are_counted_and_stay_whatever_is_forced(folder: Path) -> None:
    mine = {f"mine/{number}.txt": str(number) for number in range(5)} | {".git/HEAD": "ref"}
    fill(mine)(folder)
    (folder / "empty/inner").mkdir(parents=True)
    (folder / "link").symlink_to("/nowhere")
    message = refused(folder)
    assert "holds 7 files that aboard did not write (.git/HEAD, link, mine/0.txt and 4 more)" in message
    write(folder, force=True)
    assert everything(folder) == {**NEW, **mine}
    assert (folder / "empty/inner").is_dir()
    assert (folder / "link").readlink() == Path("/nowhere")
    assert "holds 7 files" in refused(folder)


def test_a_folder_without_a_record_is_anothers(tmp_path: Path) -> None:
    web = {"main.c": "precious", "app.js": "precious too"}
    fill(web)(tmp_path / "web")
    assert "holds 2 files that aboard did not write (app.js, main.c)" in refused(tmp_path / "web")
    assert "say --force, which would overwrite main.c and keep the rest" in refused(tmp_path / "web")
    write(tmp_path / "web", force=True)
    assert everything(tmp_path / "web") == {**NEW, "app.js": "precious too"}


def test_what_lies_where_folders_go_is_in_the_way(tmp_path: Path) -> None:
    fill({"src": "a file", "main.c/inner": "in a folder"})(tmp_path / "out")
    assert "would overwrite main.c/inner, src" in refused(tmp_path / "out")
    write(tmp_path / "out", force=True)
    assert everything(tmp_path / "out") == NEW


def test_the_same_bytes_of_another_are_no_loss(tmp_path: Path) -> None:
    fill(NEW)(tmp_path / "out")
    write(tmp_path / "out")
    assert everything(tmp_path / "out") == NEW


def test_a_damaged_record_is_none(folder: Path) -> None:
    (folder / outputs.RECORD).write_text("{}")
    assert "holds 3 files that aboard did not write" in refused(folder)


def test_a_file_that_became_a_link_was_changed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.c").write_text(OLD["main.c"])
    (folder / "main.c").unlink()
    (folder / "main.c").symlink_to(tmp_path / "elsewhere.c")
    assert "1 file that was changed since aboard wrote it (main.c)" in refused(folder)
    write(folder, force=True)
    assert (tmp_path / "elsewhere.c").read_text() == OLD["main.c"]


def test_what_builds_made_goes_with_the_folder(folder: Path) -> None:
    fill({"build/x.o": "object"})(folder)
    write(folder)
    assert everything(folder) == NEW


def test_a_large_folder_is_not_counted_to_its_end(tmp_path: Path) -> None:
    fill({f"f{number:04}": "" for number in range(1200)} | {"main.c": "mine"})(tmp_path / "out")
    message = refused(tmp_path / "out")
    assert "holds 1,000 or more files that aboard did not write (f0000, f0001, f0002 and 997 more)" in message
    assert "would overwrite main.c and keep the rest" in message


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    for _ in range(2):
        assert write(tmp_path / "out") == tmp_path / "disk"
        assert (tmp_path / "out").is_symlink()
        assert everything(tmp_path / "disk") == NEW


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "gone")
    with pytest.raises(ProjectError, match=r"out: is a symbolic link to .*gone, which is not there"):
        write(tmp_path / "out")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(ProjectError, match=r"round: (is a symbolic link to|cannot be written, got Too many levels)"):
        write(tmp_path / "round")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "round"]


def test_places_that_nothing_can_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ProjectError, match="file: is a file, expected a folder or none"):
        write(tmp_path / "file", force=True)
    (tmp_path / "here/inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here/inner")
    for here in (Path(), Path(".."), tmp_path / "here"):
        with pytest.raises(ProjectError, match="the current folder and those above it cannot"):
            write(here, force=True)
    with pytest.raises(ProjectError, match="a mount point cannot be replaced"):
        write(Path("/proc"), force=True)
    with pytest.raises(ProjectError, match=r"cannot be written, got File name too long\. Choose a shorter name"):
        write(tmp_path / ("n" * 300))
    with pytest.raises(ProjectError, match=r"\.\.\.x+ \(\d{4} characters\): cannot be written, got File name too long"):
        write(tmp_path / "/".join(["x" * 200] * 25))


def test_only_what_is_not_the_same_is_refused(folder: Path) -> None:
    outputs.refuse_other(folder, "m for t")
    outputs.refuse_other(folder.parent / "nothing", "m for u")
    with pytest.raises(ProjectError, match=r"out: holds the bundle of m for t, expected that of m for u, or nothing"):
        outputs.refuse_other(folder, "m for u")


def test_nothing_is_written_where_filling_fails(folder: Path) -> None:
    def broken(fresh: Path) -> None:
        (fresh / "half").write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ProjectError, match=r"out: cannot be written, got No space left on device\. Make room"):
        outputs.write_folder(folder, "bundle", "m", broken)
    assert everything(folder) == OLD
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


def test_a_file_system_without_exchange(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(one: Path, other: Path) -> None:
        raise OSError(places.errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(places, "exchange", none)
    write(folder)
    assert everything(folder) == NEW
    assert [path.name for path in folder.parent.iterdir()] == ["out"]


KILLED = """
import os, sys
from pathlib import Path
from aboard import outputs
from aboard.base import scratch
from aboard.outputs import place

def none(one, other):
    raise OSError(22, "Invalid argument")

if sys.argv[2] == "no exchange":
    place.exchange = none
steps = int(sys.argv[3])

def traced(frame, event, argument):
    # Each line of the package is a moment at which the process may be killed.
    global steps
    if frame.f_code.co_filename.find("/aboard/outputs/") < 0 and frame.f_code.co_filename.find("/aboard/scratch") < 0:
        return None
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), 9)
    return traced

def fill(fresh):
    (fresh / "main.c").write_text("int new;")

sys.settrace(traced)
outputs.write_folder(Path(sys.argv[1]), "bundle", "m", fill)
"""


@pytest.mark.parametrize("exchange", ["exchange", "no exchange"])
def test_a_killed_process_leaves_the_old_or_the_new(tmp_path: Path, exchange: str) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    seen = set()
    for step in (*range(1, 400, 37), 100_000):
        folder = write(tmp_path / "work" / str(step) / "out", {"main.c": "int old;"})
        command = [sys.executable, "-c", KILLED, str(folder), exchange, str(step)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, -9), done.stderr
        # Any command removes what is left, wherever it writes itself.
        scratch.sweep(temporary)
        state = everything(folder)
        assert state in ({"main.c": "int old;"}, {"main.c": "int new;"})
        assert [path.name for path in folder.parent.iterdir()] == ["out"]
        seen.add(state["main.c"])
        if done.returncode == 0:
            break
    assert seen == {"int old;", "int new;"}
    assert list(temporary.iterdir()) == []


def test_the_record_names_every_file(folder: Path) -> None:
    text = (folder / outputs.RECORD).read_text()
    assert re.findall(r'"([\w/]+\.[ch])": "[0-9a-f]{64}"', text) == sorted(OLD)
