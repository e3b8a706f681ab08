"""Temporary folders: gone when they are closed, and when their process was killed; never those of a live process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aboard.base import scratch
from aboard.base.scratch import Scratch
from aboard.errors import ToolError

SLEEPER = """
import sys, time
from pathlib import Path
from aboard.base.scratch import Scratch
one = Scratch()
(one.path / "sub").mkdir()
(one.path / "sub" / "file").write_text("x")
two = Scratch(beside=Path(sys.argv[1]))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def sleeper(temporary: Path, beside: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(beside)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_it_is_gone_when_it_is_closed(temporary: Path) -> None:
    with Scratch() as folder:
        (folder / "sub").mkdir()
        (folder / "sub/file").write_text("x")
        (folder / "link").symlink_to("/etc")
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_beside_leaves_nothing_either(temporary: Path, tmp_path: Path) -> None:
    with Scratch(beside=tmp_path / "out") as folder:
        assert folder.parent == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_a_living_ones_stays(temporary: Path, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("killed", "alive")]
    for place in places:
        place.mkdir()
    killed, alive = (sleeper(temporary, place / "out") for place in places)
    with killed, alive:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list(temporary.iterdir())) == 4
        scratch.sweep()
        assert len(list(temporary.iterdir())) == 2
        assert list(places[0].iterdir()) == []
        assert len(list(places[1].iterdir())) == 1
        alive.kill()
        alive.wait()
    scratch.sweep()
    assert list(temporary.iterdir()) == []
    assert list(places[1].iterdir()) == []


def test_what_is_not_ours_stays(temporary: Path, tmp_path: Path) -> None:
    (temporary / "aboard-tmp-with-files").mkdir()
    (temporary / "aboard-tmp-with-files/mine").write_text("precious")
    (temporary / "aboard-out").mkdir()
    (temporary / "aboard-tmp-link").symlink_to(tmp_path)
    # A note of a stranger that leads elsewhere.
    note = temporary / "aboard-tmp-stranger"
    note.mkdir()
    (note / ".lock").touch()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/.lock").touch()
    (note / ".beside").write_bytes(os.fsencode(tmp_path))
    scratch.sweep()
    assert sorted(path.name for path in temporary.iterdir()) == [
        "aboard-out",
        "aboard-tmp-link",
        "aboard-tmp-with-files",
    ]
    assert (tmp_path / "thesis/.lock").is_file()


def test_what_was_moved_out_of_the_way_is_put_back(temporary: Path, tmp_path: Path) -> None:
    left = tmp_path / ".aboard-tmp-12345678"
    (left / "replaced").mkdir(parents=True)
    (left / "replaced/main.c").write_text("old")
    (left / ".lock").touch()
    (left / ".place").write_bytes(os.fsencode(tmp_path / "out"))
    scratch.sweep(tmp_path)
    assert (tmp_path / "out/main.c").read_text() == "old"
    assert not left.exists()


def test_many_at_once_do_not_take_each_others(temporary: Path) -> None:
    def work(number: int) -> None:
        for _ in range(30):
            with Scratch() as folder:
                (folder / "mine").write_text(str(number))
                scratch.sweep()
                assert (folder / "mine").read_text() == str(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert list(temporary.iterdir()) == []


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(ToolError, match=r"gone.*: no temporary folder can be made there, got No such file .* TMPDIR"):
        Scratch()
