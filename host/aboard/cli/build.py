"""`aboard build`: builds a project's image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard.base.table import amount, facts
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console, project_argument, toolchain_option
from aboard.cli.output_options import output_options
from aboard.cli.schema_project import BuildReport, ImageModule, ImageRegion, ToolchainInfo
from aboard.project import mlperf, templates

if TYPE_CHECKING:
    from aboard.project.build_result import BuildResult as Built
    from aboard.project.project import Project
    from aboard.project.toolchain import Toolchain


@click.command("build", epilog=example("aboard build build/kws", "aboard build build/kws --toolchain zig --json"))
@project_argument
@toolchain_option
@output_options
@pass_console
def command(console: Console, project: Path, toolchain: str | None) -> None:
    """Build the image of the project in DIR, with CMake and Ninja."""
    from aboard.project.project import Project

    opened = Project.open(project)
    built = build(console, opened, toolchain)
    result = describe(opened, built)
    serves = templates.load(opened.info.template).serves
    runs = serves and not mlperf.asked_for(opened.info.options)
    console.emit(result, lambda: _report(result, serves=serves, runs=runs))


def build(console: Console, project: Project, toolchain: str | None) -> Built:
    """Builds a project, and shows the step on a terminal.

    Raises:
        AboardError: A tool is missing, the compiler failed, or the image is too large.
    """
    from aboard.project import build as builds

    with console.step(f"building {project.path.name}"):
        return builds.build(project, toolchain)


def describe(project: Project, built: Built) -> BuildReport:
    """Returns the JSON record of an image."""
    sizes = built.sizes
    return BuildReport(
        path=str(project.path),
        image=str(built.image),
        toolchain=describe_toolchain(built.toolchain),
        ram_bytes=max(model.ram_bytes for model in project.models),
        flash_bytes=sizes.model_flash_bytes,
        image_ram_bytes=sizes.image_ram_bytes,
        ram_needed_bytes=sizes.ram_needed_bytes,
        image_flash_bytes=sizes.image_flash_bytes,
        stack_reserved_bytes=sizes.stack_reserved,
        regions=[ImageRegion(**vars(region)) for region in built.regions],
        modules=[ImageModule(**vars(module)) for module in built.modules],
    )


def describe_toolchain(toolchain: Toolchain) -> ToolchainInfo:
    """Returns the JSON record of a toolchain."""
    return ToolchainInfo(name=toolchain.name, version=toolchain.version, path=str(toolchain.path))


def _report(result: BuildReport, *, serves: bool, runs: bool) -> str:
    ram = (
        f"{amount(result.ram_needed_bytes)}, of them the model {result.ram_bytes:,} "
        f"and the stack {result.stack_reserved_bytes:,}"
    )
    if not serves:
        ram = f"{amount(result.ram_bytes)} for the arena, which the application provides"
    lines = facts(
        [
            ("image", result.image),
            ("toolchain", f"{result.toolchain.name} {result.toolchain.version}"),
            ("flash", f"{amount(result.image_flash_bytes)}, of them the model {result.flash_bytes:,}"),
            ("RAM", ram),
            *((f"region {region.name}", _share(region)) for region in result.regions if region.used_bytes),
            *((module.name, _both(module)) for module in result.modules),
        ]
    )
    return f"{lines}\n\nNext: aboard run {result.path}" if runs else lines


def _share(region: ImageRegion) -> str:
    return f"{region.used_bytes:,} of {amount(region.size_bytes)}"


def _both(module: ImageModule) -> str:
    return f"{module.flash_bytes:,} bytes of flash, {module.ram_bytes:,} of RAM"
