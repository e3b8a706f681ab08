"""Continuous integration of a project: golden inputs and outputs, suites for Robot Framework, and a GitHub workflow.

<root>/.github/workflows/aboard.yml    builds the image, and runs the suites
<project>/ci/qemu.robot                boots it in QEMU (or another emulator of the board) and checks its outputs
<project>/ci/renode.robot              the same with renode-test, if Renode supports the board
<project>/ci/golden/                   inputs and outputs of each model
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import jinja2
import numpy as np

from aboard import outputs, runners
from aboard.base import quoting, resources
from aboard.base.manifest import Manifest
from aboard.base.version import VERSION
from aboard.boards import cpu as cpus
from aboard.device import input_files
from aboard.device.tensor_io import Values
from aboard.errors import ProjectError
from aboard.project import templates
from aboard.project.project import Project
from aboard.runners.qemu import PACKAGES

WORKFLOW = ".github/workflows/aboard.yml"
#: aboard is in no package index, so the workflow installs a wheel that the repository contains.
DEFAULT_PACKAGE = f"wheels/aboard-{VERSION}-py3-none-any.whl"
_TEMPLATES = "ci"
_RENODE = "renode"
#: Tolerance for float outputs: kernels and interpreter sum in different orders.
_FLOAT_TOLERANCE = 0.0001

Named = Mapping[str, Values]


@dataclass(frozen=True)
class Golden:
    """Inputs of a model with the expected outputs.

    Attributes:
        model: Its name.
        samples: Inputs and outputs by tensor name, one pair for each sample.
    """

    model: str
    samples: Sequence[tuple[Named, Named]]


def emulator_of(project: Project) -> str | None:
    """Returns an emulator other than Renode that supports the project's board; None if there is none."""
    zephyr = templates.load(project.info.template).build == "zephyr"
    devices = runners.devices_of(project)
    for name, runner in runners.all_runners().items():
        # Images of Zephyr use more peripherals of a chip than aboard's emulation models.
        fits = runner.automatic and name != _RENODE and not (zephyr and name == "unicorn")
        if fits and runner.supports(project.board) is None and runner.lacks(devices) is None:
            return name
    return None


def inputs_for(model: Manifest, count: int) -> list[dict[str, Values]]:
    """Returns the inputs of the samples of a model: `random:0`, `random:1` and so on."""
    return [input_files.load(f"random:{seed}", model.inputs) for seed in range(count)]


def repository_of(project: Project) -> Path:
    """Returns the top folder of the repository that contains a project; without one, the project's folder."""
    return next(
        (folder for folder in (project.path, *project.path.parents) if (folder / ".git").exists()), project.path
    )


def write(
    project: Project,
    golden: Sequence[Golden],
    origin: str,
    root: Path,
    *,
    package: str = DEFAULT_PACKAGE,
    force: bool = False,
) -> list[Path]:
    """Writes workflow, suites and golden files.

    Args:
        project: The project.
        golden: One for each model of the project, all with the same number of samples.
        origin: Source of the golden outputs, as a phrase for the suites.
        root: Top folder of the repository, which contains the project.
        package: Source of aboard on the machine that runs the workflow, as `pip install` takes it. A relative path
            starts at the top of the repository.
        force: Overwrite files even if aboard did not write them, or if they were changed since.

    Returns:
        The files, absolute, sorted.

    Raises:
        ProjectError: The project is outside the repository, or no emulator supports its board.
        InputError: A file exists that aboard did not write, or that was changed since.
    """
    if root not in (project.path, *project.path.parents):
        raise ProjectError(f"{root}: does not hold the project, got {project.path}. Name a folder above it")
    files = {**_golden_files(project, golden), **_suites(project, golden, origin), **_workflow(project, root, package)}
    try:
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(f"{root}: cannot be written, got {error.strerror}. Check its rights") from error
    outputs.write_files(files, force=force)
    return sorted(files)


def _golden_files(project: Project, golden: Sequence[Golden]) -> dict[Path, bytes]:
    folder = project.path / "ci" / "golden"
    return {
        folder / f"{entry.model}_{number}_{what}.npz": input_files.npz(values)
        for entry in golden
        for number, pair in enumerate(entry.samples)
        for what, values in zip(("input", "output"), pair, strict=True)
    }


def _suites(project: Project, golden: Sequence[Golden], origin: str) -> dict[Path, bytes]:
    context = {
        "models": [{"name": model.name, "tolerance": _tolerance(model)} for model in project.models],
        "samples": len(golden[0].samples),
        "origin": origin,
        "image": project.info.image,
        "runner": emulator_of(project),
    }
    suites = {}
    if context["runner"] is not None:
        suites[project.path / "ci" / f"{context['runner']}.robot"] = _rendered("emulator.robot", context)
    if project.board.emulator.renode is not None:
        suites[project.path / "ci" / "renode.robot"] = _rendered("renode.robot", context)
    if not suites:
        raise ProjectError(
            f"{project.board.id}: no emulator can be this board, got a board file without one, expected "
            "[emulator.qemu] or [emulator.renode]. docs/how-to/adding_a_board.md says how to add it; real boards are "
            "for `aboard run --runner`"
        )
    return suites


def _tolerance(model: Manifest) -> float:
    return _FLOAT_TOLERANCE if any(np.dtype(tensor.dtype).kind == "f" for tensor in model.outputs) else 0


def _workflow(project: Project, root: Path, package: str) -> dict[Path, bytes]:
    board = project.board
    template = templates.load(project.info.template)
    runner = emulator_of(project)
    packages = PACKAGES[board.emulator.qemu.program] if runner == "qemu" and board.emulator.qemu else None
    jobs = [{"name": runner, "packages": packages}] if runner else []
    jobs += [{"name": _RENODE, "packages": None}] if board.emulator.renode else []
    inside = project.path.relative_to(root).as_posix()
    # A Zephyr application is a subfolder of its workspace.
    checkout = "repository" if template.build == "zephyr" else ""
    context = {
        "folder": project.path.name,
        "project": "/".join(part for part in (checkout, inside) if part not in ("", ".")) or ".",
        "checkout": checkout,
        "package": f"{checkout}/{package}" if checkout and not _is_absolute(package) else package,
        "jobs": jobs,
        "renode": board.emulator.renode,
        "template": template,
        "sdk": "riscv64-zephyr-elf" if cpus.find(board.core().mcpu).is_riscv else "arm-zephyr-eabi",
    }
    return {root / WORKFLOW: _rendered("workflow.yml", context)}


def _is_absolute(package: str) -> bool:
    return "://" in package or PurePosixPath(package).is_absolute()


def _rendered(name: str, context: Mapping[str, object]) -> bytes:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.project_templates() / _TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - the files are YAML and suites, not HTML
    )
    environment.filters |= quoting.FILTERS
    text = environment.get_template(f"{name}.j2").render(**context, generator=f"aboard {VERSION}")
    return outputs.sealed(f"{text.rstrip()}\n# {outputs.SEAL}\n".encode())
