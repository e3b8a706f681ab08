"""Makes projects: writes a folder from bundles, a board and a template, completely or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from aboard import boards, outputs
from aboard.base import bundle_files, manifest
from aboard.base.manifest import Manifest
from aboard.base.version import VERSION
from aboard.boards.board import Board
from aboard.boards.zephyr import releases
from aboard.errors import ProjectError
from aboard.project import (
    capacity,
    device_needs,
    device_options,
    hooks,
    mlperf,
    power_pin,
    render,
    suitability,
    templates,
)
from aboard.project.placement import Placement
from aboard.project.project import BUILD_FOLDER, FILE_NAME, Project, ProjectInfo, is_build_folder
from aboard.project.templates import Option, OptionValue, Template

_BUILD_HEADER = "board/aboard_build.h"
_LINKER_SCRIPT = "linker.ld.j2"


class Bundle(Protocol):
    """A compiled model that can be written to a folder, such as `aboard.Module`."""

    @property
    def manifest(self) -> Manifest:
        """The manifest of the compiled model."""

    def save(self, folder: str | Path) -> Path:
        """Writes the bundle into a folder and returns the folder."""

    def with_hooks(self) -> Bundle:
        """Returns the bundle with hooks (`Manifest.hooks`), or unchanged if its code cannot be emitted again."""


def create(
    bundles: Bundle | str | Path | Sequence[Bundle | str | Path],
    board: str | Board,
    template: str | None = None,
    path: str | Path = "project",
    options: Mapping[str, OptionValue] | None = None,
    force: bool = False,
) -> Project:
    """Creates a project, completely or not at all.

    Args:
        bundles: One model or several: modules, or folders of bundles.
        board: The board, or its id or alias.
        template: Name of a template. The default is the template of the models' runtime, else `baremetal`, or `native`
            for this machine.
        path: Folder of the project: a new folder, or a folder with an unchanged project, which is replaced.
        options: Options of the template by name.
        force: True to overwrite files in the way that aboard did not write or that have changed since. All other files
            of yours stay.

    Raises:
        ProjectError: The template, an option, a bundle or the folder is wrong, a bundle is for another core, or it has
            no hooks and an option needs them.
        BoardError: The board is not known.
        CapacityError: The models do not fit the board.
    """
    chosen = board if isinstance(board, Board) else boards.load(board)
    listed = [bundles] if isinstance(bundles, (str, Path)) or not isinstance(bundles, Sequence) else list(bundles)
    several = [bundle if isinstance(bundle, (str, Path)) else bundle.with_hooks() for bundle in listed]
    wanted = template or _template_of(several) or templates.default(chosen.id, is_host=chosen.is_host)
    plan = templates.load(wanted)
    manifests = [_manifest(bundle) for bundle in several]
    further = device_options.offered(plan, device_options.targets_of(manifests))
    values = mlperf.adjust(options or {}, plan.parse_options(options or {}, further))
    values = hooks.adjust(options or {}, values, manifests)
    suitability.check(plan, chosen)
    chosen = power_pin.prepare(chosen, values)
    if plan.build == "zephyr" and "zephyr" in plan.options:
        values["zephyr"] = _release(plan.options["zephyr"], chosen, (options or {}).get("zephyr"))
    folder = outputs.write_folder(
        Path(path),
        "project",
        subject(several, chosen),
        lambda fresh: _fill(fresh, several, chosen, plan, values),
        force=force,
        disposable=is_build_folder,
    )
    return Project.open(folder)


def subject(bundles: Sequence[Bundle | str | Path], board: Board) -> str:
    """Returns the sources and the purpose of a project as text. Two projects with the same text can replace each other.

    Raises:
        ProjectError: The folder of a bundle holds no bundle.
    """
    models = [manifest.subject(_manifest(bundle)) for bundle in bundles]
    return f"{', '.join(models)}, on {board.id}"


def _manifest(bundle: Bundle | str | Path) -> Manifest:
    return manifest.read(Path(bundle)) if isinstance(bundle, (str, Path)) else bundle.manifest


def _template_of(bundles: Sequence[Bundle | str | Path]) -> str | None:
    """Returns the template of the first model whose runtime has a template; None if no runtime has one."""
    return next((model.template for model in map(_manifest, bundles) if model.template is not None), None)


def _release(option: Option, board: Board, given: OptionValue | None) -> str:
    """Returns the release of Zephyr for the project: a release that supports the board."""
    return releases.choose(board, option.values, str(option.default), None if given is None else str(given))


def _fill(
    folder: Path,
    bundles: Sequence[Bundle | str | Path],
    board: Board,
    template: Template,
    options: Mapping[str, OptionValue],
) -> None:
    """Writes a whole project into a new folder."""
    models = _write_bundles(folder / "models", bundles)
    _check_models(models, board)
    _check_flags(models, template)
    render.place_bundles(folder, template, models)
    memory = capacity.check(models, options, board)
    _check_regions(memory.placement, template)
    _check_state(models, template, options)
    _check_cores(models, template)
    needs = device_needs.collect(models, template, board)
    devices = device_options.files(models, options, needs)
    for name, text in render.generate(template, board, models, options, memory, devices).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    build_id = _hash(folder)
    if template.serves:
        (folder / _BUILD_HEADER).write_text(render.build_header(build_id), encoding="utf-8")
    info = ProjectInfo(
        generator=f"aboard {VERSION}",
        template=template.name,
        options=dict(options),
        image=f"{BUILD_FOLDER}/{template.image_of(models[0].name, on_host=board.is_host)}",
        models=tuple(model.name for model in models),
        build_id=build_id,
        board=board,
    )
    (folder / FILE_NAME).write_text(info.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _write_bundles(folder: Path, bundles: Sequence[Bundle | str | Path]) -> list[Manifest]:
    folder.mkdir(parents=True)
    models: list[Manifest] = []
    for number, bundle in enumerate(bundles):
        arriving = folder / f".{number}"
        if isinstance(bundle, (str, Path)):
            manifest.read(Path(bundle))
            bundle_files.copy(Path(bundle), arriving)
        else:
            bundle.save(arriving)
        # The project has its own record.
        (arriving / outputs.RECORD).unlink(missing_ok=True)
        model = manifest.read(arriving)
        if any(model.name == other.name for other in models):
            raise ProjectError(
                f"project: two models have the same name, got {model.name} twice, expected different names. "
                "Name one with `aboard compile --name`"
            )
        arriving.rename(folder / model.name)
        models.append(model)
    if not models:
        raise ProjectError("project: no bundle is given, expected one or more. Give the path of a bundle")
    return models


def _check_models(models: Sequence[Manifest], board: Board) -> None:
    core = board.core().mcpu
    again = f'--target "{board.target}"' if board.is_core or board.is_soc else f"--board {board.id}"
    for model in models:
        if model.core != core:
            raise ProjectError(
                f"{model.name}: was compiled for another core, got {model.core}, expected {core} of {board.id}. "
                f"Compile it again with {again}"
            )


def _check_cores(models: Sequence[Manifest], template: Template) -> None:
    """Refuses models that call a second core if the project does not own the linker script, which places its stack."""
    calling = [model.name for model in models if any(flags.selects_core for flags in model.source_flags)]
    if calling and not (template.folder / _LINKER_SCRIPT).is_file():
        fitting = [name for name in templates.names() if (templates.load(name).folder / _LINKER_SCRIPT).is_file()]
        raise ProjectError(
            f"template {template.name}: does not start other cores, got {' and '.join(calling)}, which calls one, "
            f"expected a model for one core. Compile without that device, or use --template {' or '.join(fitting)}"
        )


def _check_flags(models: Sequence[Manifest], template: Template) -> None:
    """Refuses models whose sources need flags that the build rules of the template cannot give."""
    for model in models:
        folders = model.include_folders if template.flags == "none" else ()
        defined = template.flags == "none" and any(flag.startswith("-D") for flag in model.cflags)
        if folders or defined or (template.flags != "source" and model.source_flags):
            device = next((node.device for node in model.nodes if node.device), "a device")
            is_speed = "-DABOARD_SPEED" in model.cflags and not (model.include_folders or model.source_flags)
            raise ProjectError(
                f"template {template.name}: cannot give single sources the flags that {model.name} needs for "
                f"{'-opt=speed' if is_speed else device}. Compile the model without "
                f"{'it' if is_speed else 'that device'}, or use --template cmake-lib"
            )


def _check_regions(placed: Placement, template: Template) -> None:
    """Refuses arenas and weights in memory regions if the project does not own the linker script."""
    wanted = [
        f"{'state' if buffer.is_state else 'an arena'} in {buffer.region}"
        for buffer in placed.further
        if buffer.section
    ]
    wanted += [f"weights in {weights.region}" for weights in placed.weights]
    if wanted and not (template.folder / _LINKER_SCRIPT).is_file():
        fitting = [name for name in templates.names() if (templates.load(name).folder / _LINKER_SCRIPT).is_file()]
        raise ProjectError(
            f"template {template.name}: does not place memory regions, got {' and '.join(wanted)}, expected a model "
            f"without -arena, -state=REGION and -weights. Compile without them, or use --template "
            f"{' or '.join(fitting)}"
        )


def _check_state(models: Sequence[Manifest], template: Template, options: Mapping[str, OptionValue]) -> None:
    """Refuses models with state if the project's code does not provide memory for it and reset it."""
    keeping = next((model for model in models if model.state is not None), None)
    if keeping is not None and (not template.serves or mlperf.asked_for(options)):
        raise ProjectError(
            f"template {template.name}: provides no memory for state, got {len(keeping.states)} states of "
            f"{keeping.name}, expected none. Use the bundle itself, or a project that serves the RPC"
        )


def _hash(folder: Path) -> str:
    """Returns the hash of a project's sources, without the files that contain the hash and without build results."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in (FILE_NAME, _BUILD_HEADER) or name.startswith(f"{BUILD_FOLDER}/"):
            continue
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
