"""Completes words of command lines in shells: names of boards and templates. Click completes commands and options."""

from __future__ import annotations

import click


def board(ctx: click.Context, parameter: click.Parameter, begin: str) -> list[str]:
    """Returns the ids of the boards with a begin."""
    del ctx, parameter
    from aboard import boards

    return [name for name in boards.names() if name.startswith(begin)]


def template(ctx: click.Context, parameter: click.Parameter, begin: str) -> list[str]:
    """Returns the names of the templates with a begin."""
    del ctx, parameter
    from aboard.project import templates

    return [name for name in templates.names() if name.startswith(begin)]
