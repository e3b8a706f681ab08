"""`aboard ci`: continuous integration of a project."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aboard import runners
from aboard.api import Session
from aboard.cli import model as models
from aboard.cli.console import Console
from aboard.cli.options import example, force_option, pass_console, project_argument
from aboard.cli.output_options import output_options
from aboard.cli.schema_ci import CiResult
from aboard.errors import ModelError
from aboard.project.project import Project
from aboard.testing import ci
from aboard.testing.ci import Golden

if TYPE_CHECKING:
    from aboard.base.manifest import Manifest
    from aboard.check.reference import Reference


@click.group("ci", epilog=example("aboard ci init app --reference kws.tflite"))
def command() -> None:
    """Continuous integration of a project (docs/how-to/renode_and_ci.md)."""


@command.command(
    "init",
    epilog=example("aboard ci init app --reference kws.tflite", "aboard ci init app --samples 10 --force --json"),
)
@project_argument
@click.option(
    "--reference",
    "files",
    metavar="MODEL",
    multiple=True,
    help="Model file that the golden outputs are computed from; one for each model of the project. Default: the "
    "golden outputs are the results of the image on its emulator.",
)
@click.option(
    "--samples", type=click.IntRange(1, 1000), default=3, show_default=True, help="Random inputs of each model."
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Top of the repository. Default: the repository that contains DIR.",
)
@click.option(
    "--package",
    metavar="WHEEL",
    default=ci.DEFAULT_PACKAGE,
    show_default=True,
    help="Source that the workflow installs aboard from, as pip takes it: path of a wheel in the repository, or URL.",
)
@force_option
@output_options
@pass_console
def init(
    console: Console,
    project: Path,
    files: tuple[str, ...],
    samples: int,
    root: Path | None,
    package: str,
    force: bool,
) -> None:
    """Write a GitHub workflow and suites that build the project in DIR, boot it and check golden outputs.

    The suites are for Robot Framework. One boots the image in QEMU, or in another emulator of the board. If Renode
    supports the board, a second one is for `renode-test`.
    """
    opened = Project.open(project)
    top = (root or ci.repository_of(opened)).resolve()
    if files:
        golden, origin = _computed(opened, files, samples)
    else:
        golden, origin = _recorded(console, opened, samples)
    written = ci.write(opened, golden, origin, top, package=package, force=force)
    result = CiResult(
        path=str(opened.path),
        root=str(top),
        emulator=ci.emulator_of(opened),
        renode=opened.board.emulator.renode is not None,
        origin=origin,
        samples=samples,
        package=package,
        package_present=None if "://" in package else (top / package).exists(),
        files=[path.relative_to(top).as_posix() for path in written],
    )
    console.emit(result, lambda: _report(result))


def _computed(project: Project, files: Sequence[str], samples: int) -> tuple[list[Golden], str]:
    """Returns golden outputs that the reference interpreter computes from the model files."""
    from aboard import frameworks
    from aboard.check.reference import Reference

    paths = [models.model_file(text) for text in files]
    by_hash = {hashlib.sha256(frameworks.read_bytes(path)).hexdigest(): path for path in paths}
    golden, names = [], []
    for model in project.models:
        if model.model_hash not in by_hash:
            raise ModelError(
                f"--reference: no file is what {model.name} was compiled from, got {', '.join(map(str, paths))}, "
                f"expected {model.model_file} as it was then. Give that file, or create the project again"
            )
        reference = Reference.open(by_hash[model.model_hash])
        golden.append(Golden(model.name, list(_pairs(model, reference, samples))))
        names.append(f"{model.model_file} ({reference.name})")
    return golden, f"computed from {', '.join(names)}"


def _pairs(model: Manifest, reference: Reference, samples: int) -> Iterator[tuple[ci.Named, ci.Named]]:
    for feed in ci.inputs_for(model, samples):
        yield feed, reference.run(feed)


def _recorded(console: Console, project: Project, samples: int) -> tuple[list[Golden], str]:
    """Returns golden outputs recorded from the present image."""
    name = ci.emulator_of(project)
    runner = runners.choose(project.board, name, devices=runners.devices_of(project))
    golden = []
    with console.step(f"recording outputs with {runner.name}"), Session.open(project, runner) as session:
        for model in project.models:
            inputs = ci.inputs_for(model, samples)
            golden.append(Golden(model.name, [(feed, session.infer(feed, model.name).outputs) for feed in inputs]))
    return golden, f"what the image gave with {runner.name} when they were recorded"


def _report(result: CiResult) -> str:
    suite = f"python -m robot {result.path}/ci/{result.emulator}.robot" if result.emulator else ""
    renode = f"renode-test {result.path}/ci/renode.robot" if result.renode else ""
    lines = [f"In {result.root}:", "", *(f"  {path}" for path in result.files), ""]
    lines.append(f"The golden outputs are {result.origin}.")
    if result.package_present is False:
        lines.append(
            f"The workflow installs aboard from {result.package}, which is not there. Put the wheel there (make wheel "
            "in a checkout of aboard builds it), or name another source with --package."
        )
    lines.append(f"Here: aboard build {result.path} && {suite or renode}")
    return "\n".join(lines)
