"""The options that choose the output of a command: `--json`, `-q` and `-v`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from aboard.cli.console import Console, Verbosity

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _set_json(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    del parameter
    if value:
        ctx.ensure_object(Console).json = True


def _set_verbosity(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    wanted = Verbosity.QUIET if parameter.name == "quiet" else Verbosity.VERBOSE
    console = ctx.ensure_object(Console)
    if value and console.verbosity not in (Verbosity.NORMAL, wanted):
        raise click.UsageError("--quiet and --verbose exclude each other: give one.", ctx)
    if value:
        console.verbosity = wanted


def verbosity_options(function: _Function) -> _Function:
    """Adds `-q` and `-v`, which set the verbosity of the console."""
    add = functools.partial(click.option, is_flag=True, is_eager=True, expose_value=False, callback=_set_verbosity)
    function = add("-v", "--verbose", help="Print each step and each program that is started, on stderr.")(function)
    return add("-q", "--quiet", help="Print no notes and no progress on stderr, errors only.")(function)


def output_options(function: _Function) -> _Function:
    """Adds `--json`, `-q` and `-v`."""
    text = "Print one JSON object on stdout (docs/reference/json.md)."
    add = click.option("--json", is_flag=True, is_eager=True, expose_value=False, callback=_set_json, help=text)
    return add(verbosity_options(function))
