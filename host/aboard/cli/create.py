"""`aboard create`: makes a project from models or bundles; the project builds without aboard."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import boards
from aboard.api import create
from aboard.base.table import amount, facts
from aboard.cli import model as model_argument
from aboard.cli.console import Console
from aboard.cli.options import (
    Place,
    example,
    force_option,
    models_argument,
    name_option,
    opt_option,
    output_dir_option,
    pass_console,
    place_options,
    template_option,
    template_options,
)
from aboard.cli.output_options import output_options
from aboard.cli.schema_project import CreateResult, ModelInfo
from aboard.project import device_options, templates
from aboard.target import Target

if TYPE_CHECKING:
    from aboard.project.project import Project


@click.command(
    "create",
    epilog=example(
        "aboard create kws.tflite --board arm/mps2_an386 -o build/kws",
        "aboard create digits --board arm/mps2_an386 --template baremetal -O trace=on -o build/project",
        "aboard create kws.tflite vww.tflite --board arm/mps3_an547 -o build/both",
    ),
)
@models_argument
@place_options
@output_dir_option("")
@force_option
@template_option
@template_options
@name_option
@opt_option
@output_options
@pass_console
def command(
    console: Console,
    models: tuple[str, ...],
    place: Place,
    output_dir: Path,
    force: bool,
    template: str | None,
    options: dict[str, str],
    name: str | None,
    opt: str | None,
) -> None:
    """Create a project that runs MODEL on a board. Several models make one image and share an arena.

    MODEL is a .tflite file, a bundle's folder, or the name of a shipped model. The project builds with CMake alone.
    """
    if name is not None and len(models) > 1:
        raise click.UsageError("--name is for one model. Compile them apart with `aboard compile --name`.")
    chosen = place.board_or_core()
    if template is not None:
        # Checked before time is spent on compiling.
        plan = templates.load(template)
        targets = [] if place.target is None else [Target(place.target)]
        plan.parse_options(options, device_options.offered(plan, targets))
    modules = compile_all(console, models, place, name=name, opt=opt)
    with console.step("creating the project"):
        project = create(modules, chosen, template, output_dir, options, force)
    result = describe(project)
    console.emit(result, lambda: _report(result))


def compile_all(
    console: Console,
    models: Iterable[str],
    place: Place,
    *,
    name: str | None,
    opt: str | None,
    tuning: Path | None = None,
    toolchain: str | None = None,
    passes: str | None = None,
) -> list[model_argument.Compiled]:
    """Compiles models; reads bundles.

    Raises:
        AboardError: One of them cannot be compiled.
    """
    modules = []
    for text in models:
        with console.step(f"compiling {text}"):
            module = model_argument.load(
                text, place, name=name, opt=opt, tuning=tuning, toolchain=toolchain, passes=passes
            )
            modules.append(module)
    return modules


def describe(project: Project) -> CreateResult:
    """Returns the JSON record of a project."""
    return CreateResult(
        path=str(project.path),
        board=project.board.id,
        template=project.info.template,
        options=dict(project.info.options),
        models=[
            ModelInfo(
                name=model.name,
                model_hash=model.model_hash,
                target=model.target,
                ram_bytes=model.ram_bytes,
                weights_bytes=model.weights_bytes,
            )
            for model in project.models
        ],
        build_id=project.build_id,
    )


def _report(result: CreateResult) -> str:
    models = [
        (f"model {model.name}", f"{amount(model.ram_bytes)} of RAM, {amount(model.weights_bytes)} of constants")
        for model in result.models
    ]
    options = ", ".join(f"{key}={_word(value)}" for key, value in result.options.items())
    lines = facts(
        [
            ("project", result.path),
            ("board", result.board),
            ("template", result.template),
            ("options", options or "none"),
            *models,
        ]
    )
    template = templates.load(result.template)
    if template.build == "none":
        return f"{lines}\n\nNext: {template.next}"
    there = "cmake -S . -B build && cmake --build build"
    if template.build == "zephyr":
        there = f"west build -b {boards.load(result.board).zephyr}"
    return f"{lines}\n\nNext: aboard build {result.path}\n  or, there: {there}"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
