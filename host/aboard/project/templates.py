"""Project templates: one folder each under `project_templates/`, described by its `template.toml`.

The folder's `*.j2` files are rendered with Jinja2 to the same paths without `.j2`. A path with `MODEL` in it is
rendered for each model, and a file of which nothing is left is not written. What several templates share lies in
`project_templates/shared`, which is no template because it has no `template.toml`. The environment variable
`ABOARD_TEMPLATES` names further folders of the same layout (separated as in PATH), which come before the built-in one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import jinja2
from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base import quoting, resources
from aboard.errors import ProjectError, did_you_mean
from aboard.target import runtimes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OptionValue = bool | int | str

FILE_NAME = "template.toml"

#: Environment variable with further folders of templates.
SEARCH_PATH = "ABOARD_TEMPLATES"

_MANUAL = "See docs/adding_a_template.md for the format"
_SUFFIX = ".j2"
_EACH_MODEL = "MODEL"
_SWITCH: Mapping[str, bool] = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


class ModelLike(Protocol):
    """What a file that is made for each model is named by."""

    @property
    def name(self) -> str:
        """C identifier of the model."""


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
        runs_on: Which boards it is for: microcontrollers, machines of host class, or both.
        needs: What a build needs.
        prints: What a built image prints.
        image: What the build makes, in the build folder: the image, or the library of the first model, which `MODEL`
            stands for.
        image_on_host: The same where it is for this machine; None where that is no other.
        build: What builds it: `cmake` alone, `zephyr` (CMake in a Zephyr workspace), or `none` of what aboard calls.
        next: What to do with a project that aboard does not build.
        serves: True when the image answers the RPC, so that it can be run and verified.
        bundle: Where the files of models go in the project, by their paths in the bundle or the folders there; both
            sides may hold `MODEL`, and what goes to an empty path is left out. Files that are not named stay in
            `models/MODEL`.
        drivers: Whose drivers it uses: those that the board's file names, or the operating system's own.
        firmware: What is copied from `firmware/`: files, or folders with all their files, with `{port}`, `{uart}` and
            `{counter}` in place of what the board has, and `{protocol}` of that option's value.
        options_from: Files with further options, relative to the folder of templates.
        options: Its options by name.
    """

    name: str
    description: str
    runs_on: Literal["microcontroller", "host", "any"]
    needs: tuple[str, ...]
    prints: str
    image: str
    image_on_host: str | None = None
    build: Literal["cmake", "zephyr", "none"] = "cmake"
    next: str = ""
    serves: bool = True
    bundle: Mapping[str, str] = {}
    drivers: Literal["board", "system"] = "board"
    firmware: tuple[str, ...]
    options_from: tuple[str, ...] = ()
    options: dict[str, Option] = {}

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return _folder(self.name)

    def image_of(self, model: str, *, on_host: bool) -> str:
        """Returns the image in the build folder.

        Args:
            model: Name of the first model.
            on_host: True where the project is for a machine of host class.
        """
        return ((on_host and self.image_on_host) or self.image).replace(_EACH_MODEL, model)

    def place(self, model: str, path: str) -> str | None:
        """Returns where a file of a bundle goes in the project; None where it is left out.

        Args:
            model: Name of the model.
            path: Of the file in the bundle.
        """
        for source, target in self.bundle.items():
            named, goes = source.replace(_EACH_MODEL, model), target.replace(_EACH_MODEL, model)
            if path == named:
                return goes or None
            if path.startswith(f"{named}/"):
                return f"{goes}{path.removeprefix(named)}" if goes else None
        return f"models/{model}/{path}"

    def require_server(self) -> None:
        """Checks that images of this template can be run.

        Raises:
            ProjectError: They do not answer the RPC.
        """
        if not self.serves:
            fitting = [name for name in names() if load(name).serves]
            raise ProjectError(
                f"template {self.name}: makes nothing that answers on a line, got {self.name}, expected a template "
                f"with the RPC server. Use --template {' or '.join(fitting)}"
            )

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

    def render(self, context: Mapping[str, object], models: Sequence[ModelLike] = ()) -> dict[str, str]:
        """Returns the rendered files, by path in the project.

        Args:
            context: What the files may use.
            models: The models, for the files that are made for each; there each is `model`.
        """
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([self.folder, resources.project_templates()]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # noqa: S701 - the files are C, CMake and Markdown, not HTML
        )
        environment.filters |= quoting.FILTERS
        files: dict[str, str] = {}
        for path in sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob(f"*{_SUFFIX}")):
            source = environment.get_template(path)
            place = path.removesuffix(_SUFFIX)
            if _EACH_MODEL in place:
                for model in models:
                    files[place.replace(_EACH_MODEL, model.name)] = source.render({**context, "model": model})
            else:
                files[place] = source.render(context)
        return {place: text.rstrip() + "\n" for place, text in files.items() if text.strip()}


def names() -> list[str]:
    """Returns the names of all templates, sorted."""
    own = {path.parent.name for folder in folders() for path in folder.glob(f"*/{FILE_NAME}")}
    return sorted(own | set(runtimes.templates()))


def folders() -> list[Path]:
    """Returns the folders of templates: those of `ABOARD_TEMPLATES`, then ours."""
    further = [Path(text) for text in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if text]
    return [*further, resources.project_templates()]


def _folder(name: str) -> Path:
    """Returns the folder of a template: the first that has it, or one that a runtime of a plug-in brings."""
    own = [folder / name for folder in folders() if (folder / name / FILE_NAME).is_file()]
    return own[0] if own else runtimes.templates()[name]


def default(board_id: str, *, is_host: bool) -> str:
    """Returns the name of the template that projects for a board are made with where none is named.

    Args:
        board_id: Id of the board. One that is known from Zephyr alone (`zephyr:BOARD`) has no drivers of ours.
        is_host: True for a machine of host class.
    """
    if board_id.startswith("zephyr:"):
        return "zephyr"
    return "native" if is_host else "baremetal"


def load(name: str) -> Template:
    """Returns a template.

    Raises:
        ProjectError: There is none of that name, or its file is wrong.
    """
    if name not in names():
        raise ProjectError(f"template {name}: not known, got {name}. {did_you_mean(name, names())}")
    path = _folder(name) / FILE_NAME
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
        raise ProjectError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. {_MANUAL}") from error
    except (OSError, ValueError, KeyError) as error:
        raise ProjectError(f"{path}: cannot be read, got {error}. {_MANUAL}") from error
