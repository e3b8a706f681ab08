"""Single files: aboard's own are replaced, others are named, devices are written to."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from aboard import outputs
from aboard.device import input_files
from aboard.errors import InputError
from aboard.outputs import file as files


def text(words: str) -> bytes:
    return outputs.sealed(f"<p>{words}</p>\n<!-- {outputs.SEAL} -->\n".encode())


def test_a_seal_notices_every_change() -> None:
    content = text("hello")
    assert files.is_sealed(content)
    for at in range(len(content)):
        assert not files.is_sealed(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    assert not files.is_sealed(content + b"\n")
    assert not files.is_sealed(content[1:])
    assert not files.is_sealed(f"not sealed {outputs.SEAL}".encode())


def test_the_last_place_is_sealed_where_a_text_has_several() -> None:
    assert files.is_sealed(outputs.sealed(f"{outputs.SEAL} {outputs.SEAL}".encode()))


def test_what_aboard_wrote_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    for words in ("one", "two"):
        outputs.write_file(path, text(words))
        assert path.read_bytes() == text(words)
    path.chmod(0o600)
    outputs.write_file(path, text("three"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["x.html"]


def test_what_was_changed_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    outputs.write_file(path, text("one"))
    path.write_bytes(path.read_bytes().replace(b"one", b"my"))
    with pytest.raises(InputError, match=r"x\.html: holds 98 bytes that aboard did not write, or that were changed"):
        outputs.write_file(path, text("two"))
    assert b"my" in path.read_bytes()
    outputs.write_file(path, text("two"), force=True)
    assert path.read_bytes() == text("two")


def test_an_empty_file_and_the_same_bytes_are_no_loss(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    outputs.write_file(tmp_path / "empty", text("one"))
    (tmp_path / "plain").write_bytes(b"plain")
    outputs.write_file(tmp_path / "plain", b"plain")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    outputs.write_file(tmp_path / "link", text("one"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == text("one")
    (tmp_path / "real").unlink()
    with pytest.raises(InputError, match=r"link: is a symbolic link to .*real, which is not there"):
        outputs.write_file(tmp_path / "link", text("two"))


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    outputs.write_file(Path("/dev/null"), text("one"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(InputError, match=r"/dev/full: cannot be written, got No space left on device\. Make room"):
        outputs.write_file(Path("/dev/full"), text("one"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    outputs.write_file(pipe, text("one"))
    reader.join(10)
    assert got == [text("one")]
    code = "from pathlib import Path; from aboard import outputs; outputs.write_file(Path('/dev/stdout'), b'one')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"one"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": is a folder, expected a file\. Name a file in it"):
        outputs.write_file(tmp_path, text("one"))
    with pytest.raises(InputError, match=r"no/x: no such folder, got .*no\. Make it first"):
        outputs.write_file(tmp_path / "no/x", text("one"))
    with pytest.raises(InputError, match=r"\.\.\.n+ \(\d+ characters\): cannot be written, got File name too long"):
        outputs.write_file(tmp_path / ("n" * 300), text("one"))


def test_of_several_files_none_is_written_where_one_is_anothers(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine")
    wanted = {tmp_path / "a": text("a"), tmp_path / "b": text("b")}
    with pytest.raises(InputError, match="b: holds 4 bytes"):
        outputs.write_files(wanted)
    assert not (tmp_path / "a").exists()
    outputs.write_files(wanted, force=True)
    assert (tmp_path / "b").read_bytes() == text("b")


def test_arrays_are_sealed_and_the_same_every_time(tmp_path: Path) -> None:
    y = {"out:0": np.arange(4, dtype=np.int8)}
    path = tmp_path / "y.npz"
    input_files.save(path, y)
    first = path.read_bytes()
    input_files.save(path, {"out:0": np.zeros(4, np.int8)})
    input_files.save(path, y)
    assert path.read_bytes() == first
    with np.load(path) as found:
        np.testing.assert_array_equal(found["out:0"], y["out:0"])
    np.savez(path, mine=np.zeros(3))
    for refusing in (lambda: input_files.check_output(path), lambda: input_files.save(path, y)):
        with pytest.raises(InputError, match=r"y\.npz: holds .* bytes that aboard did not write"):
            refusing()
    with np.load(path) as found:
        assert found.files == ["mine"]
    input_files.save(path, y, force=True)
    assert path.read_bytes() == first
