"""Project templates: one folder each under `project_templates/`, described by its `template.toml`.

Jinja2 renders the `*.j2` files of the folder to the same paths without `.j2`. A path that contains `MODEL` is rendered
once for each model. A file with an empty result is not written. `project_templates/shared` holds files for several
templates; it is not a template because it has no `template.toml`. The environment variable `ABOARD_TEMPLATES` names
additional folders of the same layout (separated as in PATH); they take precedence over the built-in folder.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import jinja2
from pydantic import BaseModel, ConfigDict, ValidationError

from aboard.base import quoting, resources, toml
from aboard.boards.board import CORE
from aboard.errors import ProjectError, did_you_mean
from aboard.target import runtimes

OptionValue = bool | int | str

FILE_NAME = "template.toml"

#: Environment variable with additional folders of templates.
SEARCH_PATH = "ABOARD_TEMPLATES"

_MANUAL = "See docs/how-to/adding_a_template.md for the format"
_SUFFIX = ".j2"
_EACH_MODEL = "MODEL"
_SWITCH: Mapping[str, bool] = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}


class ModelLike(Protocol):
    """The part of a model that names the files made for each model."""

    @property
    def name(self) -> str:
        """C identifier of the model."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Option(_Record):
    """An option of a template, `-O name=value`.

    Attributes:
        type: `bool` (on, off), `int` or `choice`.
        default: Default value.
        help: Effect and cost of the option.
        minimum: Smallest value of an `int`.
        maximum: Largest value of an `int`.
        power_of_two: True if an `int` must be a power of two.
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
        """The allowed values, in words, for messages and help."""
        if self.type == "bool":
            return "on or off"
        if self.type == "choice":
            return " or ".join(self.values)
        kind = "power of two" if self.power_of_two else "whole number"
        return f"a {kind} from {self.minimum or 0} to {self.maximum or 'any'}"

    def parse(self, value: OptionValue) -> OptionValue | None:
        """Returns the value in the option's type; None if the value is not allowed.

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
    """A template: the contents of its `template.toml`.

    Attributes:
        name: Name of the folder.
        description: Description of the projects, one line.
        runs_on: Supported boards: microcontrollers, machines of host class, or both.
        needs: Requirements of a build, in words.
        prints: Output of a built image, in words.
        image: Result of the build, relative to the build folder: the image, or the library of the first model, whose
            name replaces `MODEL`.
        image_on_host: `image` for projects for this machine; None if it is the same.
        build: Build system: `cmake`, `zephyr` (CMake in a Zephyr workspace), or `none` if aboard does not build the
            project.
        next: Next step for the user with a project that aboard does not build.
        flags: Flags that the build rules give: `source` (also to single sources), `library` (to all sources of a
            model), or `none`. aboard refuses models that need more.
        cores: Cores that the template's system compiles for, without modifiers; empty for every core.
        system_name: Key of board files with the name that the template's system has for a board; None if it needs none.
        serves: True if the image serves the RPC, so that aboard can run and verify it.
        bundle: Destinations of bundle files in the project, by file or folder path in the bundle. Both sides may
            contain `MODEL`. Files with an empty destination are left out. Files without a destination stay in
            `models/MODEL`.
        drivers: Source of the drivers: the board file, or the operating system.
        firmware: Files and whole folders to copy from `firmware/`. `{port}`, `{uart}` and `{counter}` are replaced by
            the drivers of the board, and `{protocol}` by the value of that option.
        options_from: Files with further options, relative to the folder of templates.
        options: Options by name.
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
    flags: Literal["source", "library", "none"] = "source"
    cores: tuple[str, ...] = ()
    system_name: Literal["zephyr", "arduino"] | None = None
    serves: bool = True
    bundle: Mapping[str, str] = {}
    drivers: Literal["board", "system"] = "board"
    firmware: tuple[str, ...]
    options_from: tuple[str, ...] = ()
    options: dict[str, Option] = {}

    @property
    def folder(self) -> Path:
        """Folder of the template, absolute."""
        return _folder(self.name)

    def image_of(self, model: str, *, on_host: bool) -> str:
        """Returns the path of the image, relative to the build folder.

        Args:
            model: Name of the first model.
            on_host: True if the project is for a machine of host class.
        """
        return ((on_host and self.image_on_host) or self.image).replace(_EACH_MODEL, model)

    def place(self, model: str, path: str) -> str | None:
        """Returns the destination of a bundle file, relative to the project; None if the file is left out.

        Args:
            model: Name of the model.
            path: Path of the file in the bundle.
        """
        for source, target in self.bundle.items():
            named, goes = source.replace(_EACH_MODEL, model), target.replace(_EACH_MODEL, model)
            if path == named:
                return goes or None
            if path.startswith(f"{named}/"):
                return f"{goes}{path.removeprefix(named)}" if goes else None
        return f"models/{model}/{path}"

    def require_server(self) -> None:
        """Checks that aboard can run images of this template.

        Raises:
            ProjectError: The images do not serve the RPC.
        """
        if not self.serves:
            fitting = [name for name in names() if load(name).serves]
            raise ProjectError(
                f"template {self.name}: its images have no RPC server, so that aboard cannot run them. "
                f"Use --template {' or '.join(fitting)}"
            )

    def parse_options(
        self, given: Mapping[str, OptionValue], further: Mapping[str, Option] | None = None
    ) -> dict[str, OptionValue]:
        """Returns the values of all options.

        Args:
            given: Options that the user chose.
            further: Options beside those of the template, by name (`aboard.project.device_options`).

        Raises:
            ProjectError: An option is not known, or its value is not allowed.
        """
        known = {**self.options, **(further or {})}
        values = {name: option.default for name, option in known.items()}
        for name, value in given.items():
            option = known.get(name)
            if option is None:
                raise ProjectError(f"template {self.name}: unknown option {name}. {did_you_mean(name, known)}")
            parsed = option.parse(value)
            if parsed is None:
                raise ProjectError(
                    f"template {self.name}: option {name} has a wrong value, got {value}, expected {option.allowed}. "
                    f"Change the value; the option means: {option.help}"
                )
            values[name] = parsed
        return values

    def render(self, context: Mapping[str, object], models: Sequence[ModelLike] = ()) -> dict[str, str]:
        """Returns the rendered files, by path in the project.

        Args:
            context: Variables for the files.
            models: The models. Files that are made for each model see it as `model`.
        """
        environment = _environment(self.folder, resources.project_templates())
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


@functools.cache
def _environment(*folders: Path) -> jinja2.Environment:
    """Returns what renders the files of a template, and compiles each once; one that has changed, again."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - the files are C, CMake and Markdown, not HTML
    )
    environment.filters |= quoting.FILTERS
    return environment


def names() -> list[str]:
    """Returns the names of all templates, sorted."""
    own = {path.parent.name for folder in folders() for path in folder.glob(f"*/{FILE_NAME}")}
    return sorted(own | set(runtimes.templates()))


def folders() -> list[Path]:
    """Returns the folders of templates: the folders of `ABOARD_TEMPLATES`, then the folder of the package."""
    further = [Path(text) for text in os.environ.get(SEARCH_PATH, "").split(os.pathsep) if text]
    return [*further, resources.project_templates()]


def _folder(name: str) -> Path:
    """Returns the folder of a template: the first match in `folders()`, else the template of a plug-in's runtime."""
    own = [folder / name for folder in folders() if (folder / name / FILE_NAME).is_file()]
    return own[0] if own else runtimes.templates()[name]


def modified_ns(name: str) -> int:
    """Returns the modification time of the file of a template; 0 if it cannot be read."""
    try:
        return (_folder(name) / FILE_NAME).stat().st_mtime_ns
    except OSError:
        return 0


def default(board_id: str, *, is_host: bool) -> str:
    """Returns the name of the default template for a board.

    Args:
        board_id: Id of the board. aboard has no drivers for boards that only Zephyr describes (`zephyr:BOARD`), and
            none where only the core is known (`core:NAME`).
        is_host: True for a machine of host class.
    """
    if board_id.startswith("zephyr:"):
        return "zephyr"
    if board_id.startswith(CORE):
        return "cmake-lib"
    return "native" if is_host else "baremetal"


def load(name: str) -> Template:
    """Returns the template of a name.

    Raises:
        ProjectError: No template has that name, or its file is wrong.
    """
    if name not in names():
        raise ProjectError(f"template {name}: unknown. {did_you_mean(name, names())}")
    path = _folder(name) / FILE_NAME
    try:
        content = toml.read(path)
        further: dict[str, object] = {}
        for shared in content.get("options_from", ()):
            further |= toml.read(resources.project_templates() / shared)["options"]
        content["options"] = further | content.get("options", {})
        return Template.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise ProjectError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}. {_MANUAL}") from error
    except (OSError, ValueError, KeyError) as error:
        raise ProjectError(f"{path}: cannot be read, got {error}. {_MANUAL}") from error
