"""Each command that writes keeps the rule: foreign files are refused and named, `--force` overwrites them."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard import cli, outputs

HOST = ["-t", "c -runtime=host"]
M4 = ["-b", "arm/mps2_an386"]

#: Commands that make a folder, with a file that each writes into it.
FOLDERS = {
    "compile": (["compile", "digits", *HOST], "CMakeLists.txt"),
    "create": (["create", "digits", *M4], "src/main.c"),
    "new-target": (["new-target", "my-npu"], "pyproject.toml"),
}
FILES = {
    "report": (["report", "digits", "-t", "c -mcpu=cortex-m4", "-o"], "x.html"),
    "partition": (["partition", "digits", *HOST, "--svg"], "x.svg"),
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder(command: str, capsys: pytest.CaptureFixture[str], work: Path) -> None:
    words, one = FOLDERS[command]
    words = [*words, "-o", "out"]
    for _ in range(2):
        assert cli.invoke(words) == 0
    whole = files(work / "out")
    (work / "out" / one).write_text("mine")
    (work / "out/notes.txt").write_text("precious")
    assert cli.invoke(words) == 1
    err = capsys.readouterr().err
    assert "out: holds 1 file that aboard did not write (notes.txt) and 1 file that was changed" in err
    assert f"({one}), expected a new folder" in err
    assert err.endswith(f"say --force, which would overwrite {one} and keep the rest\n")
    assert (work / "out" / one).read_text() == "mine"
    assert cli.invoke([*words, "--force"]) == 0
    assert files(work / "out") == {**whole, "notes.txt": b"precious"}


@pytest.mark.parametrize("command", FILES)
def test_a_file(command: str, capsys: pytest.CaptureFixture[str], work: Path) -> None:
    words, name = FILES[command]
    for _ in range(2):
        assert cli.invoke([*words, name]) == 0
    whole = (work / name).read_bytes()
    (work / name).write_bytes(whole + b" ")
    assert cli.invoke([*words, name]) == 1
    assert f"{name}: holds {len(whole) + 1:,} bytes that aboard did not write, or that were changed" in (
        capsys.readouterr().err
    )
    assert (work / name).read_bytes() == whole + b" "
    assert cli.invoke([*words, name, "--force"]) == 0
    assert (work / name).read_bytes() == whole


def test_a_web_application_is_no_bundle(capsys: pytest.CaptureFixture[str], work: Path) -> None:
    (work / "web/.git").mkdir(parents=True)
    for name in ("manifest.json", "app.js", ".git/HEAD"):
        (work / "web" / name).write_text("precious")
    assert cli.invoke(["compile", "digits", *HOST, "-o", "web"]) == 1
    assert capsys.readouterr().err == (
        "error: web: holds 3 files that aboard did not write (.git/HEAD, app.js, manifest.json), expected a new "
        "folder, or a bundle that nobody changed. Name another folder, or say --force, which would overwrite "
        "manifest.json and keep the rest\n"
    )
    assert set(files(work / "web").values()) == {b"precious"}


def test_a_bundle_for_another_target_stays_where_no_folder_was_named(
    capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    for _ in range(2):
        assert cli.invoke(["compile", "digits", *HOST]) == 0
    before = files(work / "build/digits")
    capsys.readouterr()
    assert cli.invoke(["compile", "digits", *M4]) == 1
    err = capsys.readouterr().err
    assert "build/digits: holds the bundle of digits.tflite (" in err
    assert ") for c -arithmetic=tflite -input=consumed" in err
    assert "arm/mps2_an386" in err.split("expected that of")[1]
    assert cli.invoke(["compile", "digits_f32", *HOST, "--name", "digits"]) == 1
    assert "expected that of digits_f32.tflite (" in capsys.readouterr().err
    assert files(work / "build/digits") == before
    assert cli.invoke(["compile", "digits", *M4, "-o", "build/digits"]) == 0
    assert cli.invoke(["compile", "digits", *HOST, "--force"]) == 0
    assert files(work / "build/digits") == before


def test_a_bundle_of_an_earlier_version_has_no_record(capsys: pytest.CaptureFixture[str], work: Path) -> None:
    assert cli.invoke(["compile", "digits", *HOST, "-o", "out"]) == 0
    (work / "out" / outputs.RECORD).unlink()
    assert cli.invoke(["compile", "digits", *M4, "-o", "out"]) == 1
    # What both would write alike is no loss.
    assert "files that aboard did not write (include/digits.h, " in capsys.readouterr().err


def test_the_records_of_bundles_are_no_part_of_a_project(work: Path) -> None:
    assert cli.invoke(["compile", "digits", *M4, "--hooks", "-o", "bundle"]) == 0
    assert cli.invoke(["create", "bundle", *M4, "-o", "one"]) == 0
    assert cli.invoke(["create", "digits", *M4, "-o", "two"]) == 0
    assert [path.relative_to(work).as_posix() for path in sorted(work.rglob(outputs.RECORD))] == [
        f"bundle/{outputs.RECORD}",
        f"one/{outputs.RECORD}",
        f"two/{outputs.RECORD}",
    ]
    assert files(work / "one") == files(work / "two")
