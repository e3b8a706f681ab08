"""`aboard.toml`: where it is found, what takes precedence, and what its errors say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from aboard import cli
from aboard.base import programs
from aboard.cli import settings
from support import markdown

MANUAL = "See docs/reference/command_line.md for the keys"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, with its folder as the current one."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(programs.TOOLCHAIN, raising=False)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / settings.FILE_NAME).write_text(text, encoding="utf-8")


def compiled(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke(["compile", "digits", "--json", "-o", "bundle", "--force", *words]) == 0
    return json.loads(capsys.readouterr().out)


def options(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert cli.invoke(["create", "digits", "--json", "-o", "project", *words]) == 0
    return json.loads(capsys.readouterr().out)["options"]


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.invoke([*words]) == 1
    return capsys.readouterr().err


def test_the_board_of_a_project_is_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\n')
    assert compiled(capsys)["board"] == "bbc/microbit"


def test_a_target_is_taken_with_its_attributes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'target = "bbc/microbit -opt=size"\n')
    assert "-opt=size" in compiled(capsys)["target"]


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ('board = "bbc/microbit"', ("-b", "arm/mps2_an386")),
        ('board = "bbc/microbit"', ("-t", "arm/mps2_an386")),
        ('target = "bbc/microbit"', ("-b", "arm/mps2_an386")),
        ('target = "bbc/microbit"', ("-t", "arm/mps2_an386")),
    ],
)
def test_the_command_line_takes_precedence(
    stated: str, words: tuple[str, ...], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, f"{stated}\n")
    assert compiled(capsys, *words)["board"] == "arm/mps2_an386"


def test_two_targets_on_the_command_line_stay_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\n')
    assert cli.invoke(["compile", "digits", "-b", "arm/mps2_an386", "-t", "c -mcpu=cortex-m4"]) == 2
    assert "--target and --board exclude each other" in capsys.readouterr().err


def test_options_of_the_template_are_joined(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\n[options]\nstack_bytes = 8192\nprofile = false\nframe_bytes = "1024"\n')
    found = options(capsys, "-O", "frame_bytes=256", "-O", "baud=9600")
    names = ("stack_bytes", "profile", "frame_bytes", "baud")
    assert [found[name] for name in names] == [8192, False, 256, 9600]


def test_subcommands_take_the_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\n')
    assert cli.invoke(["targets", "why", "digits", "--json"]) == 0
    assert "-hardware=bbc/microbit" in json.loads(capsys.readouterr().out)["target"]
    assert cli.invoke(["boards", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "bbc/microbit"


@pytest.mark.parametrize("inside", [".", "src", "src/models"])
def test_a_file_serves_the_folders_below(inside: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, 'board = "bbc/microbit"\n')
    (project / inside).mkdir(parents=True, exist_ok=True)
    assert settings.find(project / inside) == project / settings.FILE_NAME


def test_the_nearest_file_counts(project: Path) -> None:
    (project / "src").mkdir()
    write(project, 'board = "bbc/microbit"\n')
    write(project / "src", 'board = "arm/mps2_an386"\n')
    assert settings.find(project / "src") == project / "src" / settings.FILE_NAME


def test_nothing_above_the_repository_is_read(project: Path) -> None:
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    write(project, 'board = "bbc/microbit"\n')
    assert settings.find(inner) is None


def test_outside_a_repository_only_the_current_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    write(tmp_path, 'board = "bbc/microbit"\n')
    assert settings.find(tmp_path / "src") is None
    assert settings.find(tmp_path) == tmp_path / settings.FILE_NAME


def test_folders_that_may_not_be_read_have_no_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, 'board = "bbc/microbit"\n')

    def denied(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", denied)
    assert settings.find(project) is None


def test_a_folder_of_that_name_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / settings.FILE_NAME).mkdir()
    assert failed(capsys, "boards") == (
        f"error: {project / settings.FILE_NAME}: cannot be read, got Is a directory. Change its rights, or remove it\n"
    )


def test_the_environment_takes_precedence_over_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, 'toolchain = "zig"\n')
    assert settings.read(project / settings.FILE_NAME) == {"toolchain": "zig"}
    monkeypatch.setenv(programs.TOOLCHAIN, "arm-none-eabi-gcc")
    assert settings.read(project / settings.FILE_NAME) == {}


def test_the_path_of_a_compiler_is_relative_to_the_file(project: Path) -> None:
    write(project, 'toolchain = "tools/arm-none-eabi-gcc"\n')
    path = project / settings.FILE_NAME
    assert settings.read(path) == {"toolchain": str(project / "tools" / "arm-none-eabi-gcc")}
    write(project, 'toolchain = "/opt/gcc"\n')
    assert settings.read(path) == {"toolchain": "/opt/gcc"}


def test_the_runner_is_that_of_commands_that_run_images(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "arm/mps2_an386"\nrunner = "qmu"\n')
    options(capsys)
    assert failed(capsys, "run", "project").startswith("error: runner qmu: unknown.")
    assert "qmu" not in failed(capsys, "flash", "project")
    assert "qmu" not in failed(capsys, "debug", "project", "--gdb", "none")


def test_verbose_names_the_settings_that_are_used(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\ntoolchain = "zig"\n')
    assert cli.invoke(["compile", "digits", "-o", "one", "-v"]) == 0
    path = project / settings.FILE_NAME
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"aboard: board bbc/microbit from {path}"
    assert "zig" not in "".join(said)
    assert cli.invoke(["compile", "digits", "-o", "two", "-v", "-t", "c -mcpu=cortex-m4"]) == 0
    assert str(path) not in capsys.readouterr().err


def test_commands_without_these_options_and_help_work(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\n')
    assert cli.invoke(["ops", "ADD", "--json"]) == 0
    write(project, "bord = 1\n")
    assert cli.invoke(["--help"]) == 0
    assert cli.invoke(["--version"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('\nbord = "x"\n', "line 2: unknown key bord. Did you mean board?"),
        ('[options]\nboard = 1\n[opts]\nx = "y"\n', "line 3: unknown key opts. Did you mean options?"),
        ("board = 1\n", "line 1: board: wrong value, got 1, expected text."),
        ('template = ["a"]\n', "line 1: template: wrong value, got ['a'], expected text."),
        ("options = 3\n", "line 1: options: wrong value, got 3, expected a table."),
        (
            "[options]\n\nbaud = 1.5\n",
            "line 3: options.baud: wrong value, got 1.5, expected text, a whole number, true or false.",
        ),
        (
            'board = 1\n"port" = 2\n',
            "line 1: board: wrong value, got 1, expected text. line 2: unknown key port. Choose one of: "
            + ", ".join(sorted(settings.ProjectSettings.model_fields))
            + ".",
        ),
    ],
)
def test_wrong_keys_are_named_with_their_lines(
    text: str, problem: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, text)
    assert failed(capsys, "boards") == f"error: {project / settings.FILE_NAME}: {problem} {MANUAL}\n"


def test_the_page_has_an_example_and_every_key(project: Path) -> None:
    page = (markdown.CHECKOUT / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    write(project, example[1])
    assert settings.read(project / settings.FILE_NAME) == {
        "board": "bbc/microbit",
        "template": "baremetal",
        "toolchain": "arm-none-eabi-gcc",
        "runner": "qemu",
        "options": ["stack_bytes=8192", "trace=true"],
    }
    keys = re.findall(r"^\| `\[?(\w+)\]?` \|", page, re.MULTILINE)
    assert [key for key in keys if key.islower()] == list(settings.ProjectSettings.model_fields)


def test_a_board_and_a_target_exclude_each_other(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, 'board = "bbc/microbit"\ntarget = "c -mcpu=cortex-m0"\n')
    assert failed(capsys, "boards") == (
        f"error: {project / settings.FILE_NAME}: line 2: has both board and target, expected one of them. Remove one\n"
    )


def test_what_is_not_toml_is_refused_with_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, "board = \n")
    said = failed(capsys, "boards")
    assert said.startswith(f"error: {project / settings.FILE_NAME}: not TOML, got: ")
    assert "line 1" in said


def test_a_file_that_cannot_be_read_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, "")

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("aboard.base.toml.read", denied)
    with pytest.raises(settings.ProjectError, match=r"cannot be read, got Permission denied. Change its rights"):
        settings.read(project / settings.FILE_NAME)
