"""Options of a project that need hooks in the models: calls around every node, and a function that runs one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aboard.base.manifest import Manifest
from aboard.errors import ProjectError
from aboard.project.templates import OptionValue

#: Options of templates that do nothing without hooks.
HOOK_OPTIONS = ("profile", "trace", "run_op", "power_pin_layers")


def adjust(
    given: Mapping[str, OptionValue], values: Mapping[str, OptionValue], models: Sequence[Manifest]
) -> dict[str, OptionValue]:
    """Returns the options of a template, those that need hooks off if a model has none.

    Args:
        given: Options that the user chose.
        values: Values of all options.
        models: Models of the project.

    Raises:
        ProjectError: The user chose an option that needs hooks, and a model has none.
    """
    plain = next((model.name for model in models if not model.hooks), None)
    if plain is None:
        return dict(values)
    wanted = [name for name in HOOK_OPTIONS if name in given and values[name]]
    if wanted:
        raise ProjectError(
            f"bundle {plain}: has no hooks, which -O {wanted[0]}=on needs. Compile it with --hooks, or create the "
            "project from the model file"
        )
    return {**values, **{name: False for name in HOOK_OPTIONS if name in values}}
