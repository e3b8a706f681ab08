"""Models as Python objects: modules of PyTorch, estimators of scikit-learn, models of Keras."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aboard.base import scratch
from aboard.errors import ExtraError, InputError, ModelError
from aboard.frameworks import extras


@dataclass(frozen=True)
class ObjectKind:
    """Objects of one framework.

    Attributes:
        name: What they are, with an article.
        base: Module and name of a class that they derive from; the module's begin is enough.
        converter: Module of this package.
        extra: Extra of aboard that installs the packages.
    """

    name: str
    base: tuple[str, str]
    converter: str
    extra: str


_KINDS = (
    ObjectKind("a module of PyTorch", ("torch.nn", "Module"), "pytorch", "torch"),
    ObjectKind("an exported program of PyTorch", ("torch.export", "ExportedProgram"), "pytorch", "torch"),
    ObjectKind("an estimator of scikit-learn", ("sklearn.base", "BaseEstimator"), "scikit_learn", "sklearn"),
    ObjectKind("a Keras model", ("keras.", "Model"), "keras", "keras"),
)


def as_file(model: str | Path | bytes | object, example_inputs: object = None) -> tuple[str | Path | bytes, str | None]:
    """Returns a model as a path or as the bytes of a file, and the name of an object's class.

    Args:
        model: A path or bytes, which are returned; or a fitted object of a framework.
        example_inputs: One sample, for objects of PyTorch and scikit-learn.

    Raises:
        ModelError: The object is not a model, or its framework cannot convert it.
        InputError: Example inputs are missing, or come with a file.
        ExtraError: A package for the conversion is not installed.
    """
    if isinstance(model, str | Path | bytes):
        if example_inputs is not None:
            raise InputError("example_inputs: got them with a model file, which has its shapes. Leave them out")
        return model, None
    name = type(model).__name__
    for kind in _KINDS:
        if any(_is(cls, kind.base) for cls in type(model).__mro__):
            return _converted(kind, model, example_inputs), name
    raise ModelError(
        f"model: got an object of class {name}, expected a path, bytes, a module of PyTorch, a fitted estimator of "
        "scikit-learn or a Keras model. Give one of these"
    )


def _is(cls: type, base: tuple[str, str]) -> bool:
    return cls.__name__ == base[1] and cls.__module__.startswith(base[0])


def _converted(kind: ObjectKind, model: Any, example_inputs: object) -> bytes:
    converter = importlib.import_module(f"aboard.frameworks.{kind.converter}")
    name = type(model).__name__
    try:
        if kind.converter != "keras":
            return bytes(converter.of_model(model, example_inputs))
        with scratch.Scratch() as folder:
            return bytes(converter.of_model(model, folder / "saved_model"))
    except (InputError, ModelError):
        raise
    except ModuleNotFoundError as error:
        raise ExtraError(
            f"{name}: {kind.name}, for whose conversion the package {error.name} is missing (extra {kind.extra} of "
            f"aboard). Run:\n    pip install {extras.requirements(kind.extra)}"
        ) from error
    except Exception as error:  # converters raise anything
        reason, advice = converter.explain(error)
        raise ModelError(
            f"{name}: {kind.name}, which cannot be converted ({' '.join(reason.split())[:400]}). {advice}"
        ) from error
