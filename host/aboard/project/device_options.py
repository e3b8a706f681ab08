"""Options of projects that the devices of a model bring (column `options`): other C files for a device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aboard.base.manifest import Manifest
from aboard.errors import ProjectError
from aboard.project.templates import Option, OptionValue, Template
from aboard.target import DeviceOption, ProjectNeeds, Target, columns

#: Folder of the project for the files of an option.
_FOLDER = "firmware/devices"


@dataclass(frozen=True)
class DeviceFiles:
    """What the chosen values of options add to a project.

    Attributes:
        files: Text of each file by its path in the project.
        definitions: Macros for all sources, `NAME=value`.
        needs: What the drivers of the devices need beside it (`device_needs`).
    """

    files: Mapping[str, str]
    definitions: tuple[str, ...] = ()
    needs: ProjectNeeds = field(default_factory=ProjectNeeds)


def of_targets(targets: Iterable[Target]) -> dict[str, DeviceOption]:
    """Returns the options that the devices of targets bring, by name."""
    found: dict[str, DeviceOption] = {}
    for target in targets:
        for device in target.devices:
            for option in columns.call(device, "options") or ():
                found[option.name] = option
    return found


def offered(template: Template, targets: Iterable[Target]) -> dict[str, Option]:
    """Returns the options of devices that projects of a template have: those that aboard builds and runs itself."""
    if template.build != "cmake" or not template.serves:
        return {}
    return {
        name: Option(type="choice", default=next(iter(option.values)), help=option.help, values=tuple(option.values))
        for name, option in of_targets(targets).items()
    }


def targets_of(models: Sequence[Manifest]) -> list[Target]:
    """Returns the targets of models."""
    return [Target(model.target) for model in models]


def files(models: Sequence[Manifest], options: Mapping[str, OptionValue], needs: ProjectNeeds) -> DeviceFiles:
    """Returns what the chosen values of devices' options add to a project.

    Args:
        models: The models of the project.
        options: The chosen values.
        needs: What the drivers of the devices need.

    Raises:
        ProjectError: Two models need different files, or different values of a macro.
    """
    found: dict[str, str] = {}
    macros: dict[str, str] = {}
    for target in targets_of(models):
        for name, option in of_targets([target]).items():
            runtime = option.values.get(str(options.get(name)))
            if runtime is None:
                continue
            for path, text in runtime.files.items():
                if found.setdefault(f"{_FOLDER}/{name}/{path}", text) != text:
                    raise _differs(name, path)
            for macro in runtime.definitions:
                if macros.setdefault(macro.partition("=")[0], macro) != macro:
                    raise _differs(name, macro)
    return DeviceFiles(dict(sorted(found.items())), tuple(macros.values()), needs)


def _differs(option: str, what: str) -> ProjectError:
    return ProjectError(
        f"project: two models need different devices behind -O {option}, got two values of {what.partition('=')[0]}, "
        "expected one. Compile all models for the same device, or make a project for each"
    )
