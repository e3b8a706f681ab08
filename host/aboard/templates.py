"""Project templates: one folder each under `project_templates/`, described by its `template.toml`.

The folder's `*.j2` files are rendered with Jinja2 to the same paths without `.j2`. What several templates share lies in
`project_templates/shared`, which is no template because it has no `template.toml`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import jinja2
from pydantic import BaseModel, ConfigDict, ValidationError

from aboard import resources
from aboard.errors import ProjectError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OptionValue = bool | int | str

FILE_NAME = "template.toml"
_SUFFIX = ".j2"
_SWITCH: Mapping[str, bool] = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Option(_Record):
    """An option of a template, `-O name=value`.

    Attributes:
        type: `bool` (on, off), `int` or `choice`.
        default: Value where none is given.
        help: What it does, and at what price.
        minimum: Least value of an `int`.
        maximum: Largest value of an `int`.
        power_of_two: True for an `int` that has to be one.
        values: Allowed values of a `choice`.
    """

    type: Literal["bool", "int", "choice"]
    default: OptionValue
    help: str
    minimum: int | None = None
    maximum: int | None = None
    power_of_two: bool = False
    values: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.type == "bool":
            return "on or off"
        if self.type == "choice":
            return " or ".join(self.values)
        kind = "power of two" if self.power_of_two else "whole number"
        return f"a {kind} from {self.minimum or 0} to {self.maximum or 'any'}"

    def parse(self, value: OptionValue) -> OptionValue | None:
        """Returns the value in the option's type, or None when it is not allowed.

        Args:
            value: Text from a command line, or a Python value.
        """
        if self.type == "bool":
            return value if isinstance(value, bool) else _SWITCH.get(str(value).lower())
        if self.type == "choice":
            return value if value in self.values else None
        return None if isinstance(value, bool) else self._integer(value)

    def _integer(self, value: int | str) -> int | None:
        try:
            number = int(str(value), 0)
        except ValueError:
            return None
        too_small = self.minimum is not None and number < self.minimum
        too_large = self.maximum is not None and number > self.maximum
        uneven = self.power_of_two and number & (number - 1) != 0
        return None if too_small or too_large or uneven else number


class Template(_Record):
    """A template, as its `template.toml` says.

    Attributes:
        name: Name of its folder.
        description: What it makes, one line.
        runs_on: Which boards it is for: microcontrollers, or machines of host class.
        needs: What a build needs.
        prints: What a built image prints.
        image: File of the image in the build folder.
        firmware: What is copied from `firmware/`: files, or folders with all their files, with `{port}`, `{uart}` and
            `{counter}` in place of what the board has.
        options_from: Files with further options, relative to the folder of templates.
        options: Its options by name.
    """

    name: str
    description: str
    runs_on: Literal["microcontroller", "host"]
    needs: tuple[str, ...]
    prints: str
    image: str
    firmware: tuple[str, ...]
    options_from: tuple[str, ...] = ()
    options: dict[str, Option] = {}

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return resources.project_templates() / self.name

    def parse_options(self, given: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """Returns the values of all options.

        Args:
            given: What the user chose.

        Raises:
            ProjectError: An option is not known, or its value is not allowed.
        """
        values = {name: option.default for name, option in self.options.items()}
        for name, value in given.items():
            option = self.options.get(name)
            if option is None:
                raise ProjectError(
                    f"template {self.name}: unknown option, got {name}, expected one of its options. "
                    f"{did_you_mean(name, self.options)}"
                )
            parsed = option.parse(value)
            if parsed is None:
                raise ProjectError(
                    f"template {self.name}: option {name} has a wrong value, got {value}, expected {option.allowed}. "
                    f"It means: {option.help}"
                )
            values[name] = parsed
        return values

    def render(self, context: Mapping[str, object]) -> dict[str, str]:
        """Returns the rendered files, by path in the project.

        Args:
            context: What the files may use.
        """
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([self.folder, resources.project_templates()]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # noqa: S701 - the files are C, CMake and Markdown, not HTML
        )
        paths = sorted(path.relative_to(self.folder) for path in self.folder.rglob(f"*{_SUFFIX}"))
        return {
            path.as_posix().removesuffix(_SUFFIX): environment.get_template(path.as_posix()).render(context).rstrip()
            + "\n"
            for path in paths
        }


def names() -> list[str]:
    """Returns the names of all templates, sorted."""
    return sorted(path.parent.name for path in resources.project_templates().glob(f"*/{FILE_NAME}"))


def load(name: str) -> Template:
    """Returns a template.

    Raises:
        ProjectError: There is none of that name, or its file is wrong.
    """
    if name not in names():
        raise ProjectError(f"template {name}: not known, got {name}. {did_you_mean(name, names())}")
    path = resources.project_templates() / name / FILE_NAME
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        further: dict[str, object] = {}
        for shared in content.get("options_from", ()):
            text = (resources.project_templates() / shared).read_text(encoding="utf-8")
            further |= tomllib.loads(text)["options"]
        content["options"] = further | content.get("options", {})
        return Template.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ProjectError(
            f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. See docs/adding_a_port.md for the format"
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise ProjectError(f"{path}: cannot be read, got {error}. See docs/adding_a_port.md for the format") from error
