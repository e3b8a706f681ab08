"""`aboard.toml`: the board and the options of a project, which commands take where the command line has none.

The command line takes precedence over environment variables, and these over the file. The file is the first one in the
current folder and the folders above it, up to the root of the Git repository. Outside a repository, only the current
folder counts, so that no file of another user's folder is taken. `docs/reference/command_line.md` describes the keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from click.core import ParameterSource
from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr, ValidationError

from aboard.base import programs, toml
from aboard.cli.console import Console
from aboard.errors import ProjectError, did_you_mean

FILE_NAME = "aboard.toml"

_MANUAL = "See docs/reference/command_line.md for the keys"
#: Environment variables that take precedence over a key.
_ENVIRONMENT: Mapping[str, str] = {"toolchain": programs.TOOLCHAIN}


class ProjectSettings(BaseModel):
    """The contents of `aboard.toml`. Each key is the name of the parameter of commands that it is the default of.

    Attributes:
        board: As `--board`.
        target: As `--target`; excludes `board`.
        template: As `--template`.
        toolchain: As `--toolchain`; a path is relative to the folder of the file.
        runner: As `--runner` of the commands that run images.
        options: As `-O`: options of the template by name. Those of the command line are added.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    board: StrictStr | None = None
    target: StrictStr | None = None
    template: StrictStr | None = None
    toolchain: StrictStr | None = None
    runner: StrictStr | None = None
    options: dict[str, StrictBool | StrictInt | StrictStr] = {}


def find(start: Path) -> Path | None:
    """Returns the file for commands that are run in a folder; None if there is none."""
    folders = [start, *start.parents]
    root = next((index for index, folder in enumerate(folders) if _has(folder, ".git")), 0)
    return next((folder / FILE_NAME for folder in folders[: root + 1] if _has(folder, FILE_NAME)), None)


def _has(folder: Path, name: str) -> bool:
    """True if a folder has a file or folder of a name, as far as this user may see."""
    try:
        return (folder / name).exists()
    except OSError:
        return False


def read(path: Path) -> dict[str, object]:
    """Returns the defaults that a file states, by the name of the parameter of commands.

    Raises:
        ProjectError: The file cannot be read, or a key is unknown or has a wrong value.
    """
    try:
        content = toml.read(path)
        settings = ProjectSettings.model_validate(content)
    except OSError as error:
        raise ProjectError(f"{path}: cannot be read, got {error.strerror}. Change its rights, or remove it") from error
    except ValidationError as error:
        raise ProjectError(f"{path}: {' '.join(_problems(path, error))} {_MANUAL}") from error
    except ValueError as error:
        raise ProjectError(f"{path}: not TOML, got: {error}. {_MANUAL}") from error
    if settings.board is not None and settings.target is not None:
        line = _line_of(path, "target")
        raise ProjectError(f"{path}: {line}has both board and target, expected one of them. Remove one")
    values = {name: value for name, value in settings if value and not os.environ.get(_ENVIRONMENT.get(name, ""))}
    if "options" in values:
        values["options"] = [f"{name}={_text(value)}" for name, value in settings.options.items()]
    if settings.toolchain is not None and "/" in settings.toolchain and "toolchain" in values:
        values["toolchain"] = str(path.parent / settings.toolchain)
    return values


def apply(ctx: click.Context, name: str, command: click.Command) -> None:
    """Makes the settings for the current folder the defaults of a command and of its subcommands.

    Args:
        ctx: Context of the group that the command belongs to.
        name: Name of the command.
        command: The command.

    Raises:
        ProjectError: The file is wrong.
    """
    path = find(Path.cwd())
    if path is None:
        return
    values = read(path)
    inner = dict.fromkeys(command.commands, values) if isinstance(command, click.Group) else {}
    ctx.default_map = {name: {**values, **inner}}
    ctx.meta[FILE_NAME] = path


def prefer_command_line(
    ctx: click.Context, one: tuple[str, str | None], other: tuple[str, str | None]
) -> tuple[str | None, str | None]:
    """Returns the values of two parameters that exclude each other, without the file's if the command line has one.

    Args:
        ctx: Context of the command.
        one: Name and value of a parameter.
        other: Name and value of the other parameter.
    """
    stated = [_is_from_file(ctx, name) for name, _ in (one, other)]
    if None in (one[1], other[1]) or stated[0] == stated[1]:
        return one[1], other[1]
    ctx.set_parameter_source(one[0] if stated[0] else other[0], ParameterSource.DEFAULT)
    return (None, other[1]) if stated[0] else (one[1], None)


def announce(ctx: click.Context, console: Console) -> None:
    """Prints which parameters of a command come from the file, with --verbose."""
    for name, value in ctx.params.items():
        if _is_from_file(ctx, name):
            shown = ", ".join(f"{key}={text}" for key, text in value.items()) if isinstance(value, dict) else value
            console.detail(f"{name} {shown} from {ctx.meta[FILE_NAME]}")


def _is_from_file(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def _text(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problems(path: Path, error: ValidationError) -> Iterator[str]:
    """Yields the problems of a file, a sentence each."""
    # pydantic reports each alternative of a union, at a place below that of the value.
    found = {".".join(map(str, detail["loc"][:2])): detail for detail in error.errors()}
    for where, detail in found.items():
        line = _line_of(path, where.rpartition(".")[2])
        if detail["type"] == "extra_forbidden":
            yield f"{line}unknown key {where}. {did_you_mean(where, ProjectSettings.model_fields)}"
        else:
            expected = "a table" if where == "options" else "text"
            expected = "text, a whole number, true or false" if "." in where else expected
            yield f"{line}{where}: wrong value, got {detail['input']!r}, expected {expected}."


def _line_of(path: Path, key: str) -> str:
    """Returns `line N: ` for the first line that states a key, or a table of that name; empty if none is found."""
    pattern = re.compile(rf"""\s*\[?\s*["']?{re.escape(key)}["']?\s*(\]|=|\.)""")
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((f"line {number}: " for number, line in enumerate(lines, 1) if pattern.match(line)), "")
