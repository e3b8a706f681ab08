"""The target's expressions for functions of kernels (column `intrinsics`), defined before the kernels are included."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from aboard.emit.accelerators import Added, placed
from aboard.errors import TargetError, did_you_mean
from aboard.target import Intrinsic, Target, columns

#: The macro by which kernels call each function of a type.
_MACROS = {
    ("exp", "float32"): "ABOARD_EXP_F32",
    ("logistic", "float32"): "ABOARD_LOGISTIC_F32",
    ("tanh", "float32"): "ABOARD_TANH_F32",
}
#: The header that uses them; a model without this header needs no expressions.
_HEADER = "src/kernels/portable/float_math.h"
_FOLDER = "src/intrinsics"
_OPERAND = "{0}"


@dataclass(frozen=True)
class IntrinsicDefinitions:
    """The expressions of a target in a bundle.

    Attributes:
        text: Includes and macros before the kernels; "" without expressions.
        added: Files that the expressions need.
    """

    text: str = ""
    added: Added = field(default_factory=lambda: Added({}))


def lowered(target: Target, files: Collection[str]) -> IntrinsicDefinitions:
    """Returns the expressions of a target's host for the kernels of a bundle.

    Args:
        target: The target.
        files: Paths in the bundle of the kernel headers that compute in floating point.

    Raises:
        TargetError: The column names a function that no kernel calls, or holds an invalid expression.
    """
    found: Mapping[object, object] = columns.call(target.host, "intrinsics") or {}
    where = f"kind {target.host.kind.name}, column intrinsics"
    known = {_macro(name, where): _checked(_shown(name), value, where) for name, value in found.items()}
    if not known or _HEADER not in files:
        return IntrinsicDefinitions()
    headers = dict.fromkeys(header for intrinsic in known.values() for header in intrinsic.headers)
    lines = [f"#include {header if header.startswith('<') else f'{chr(34)}{header}{chr(34)}'}" for header in headers]
    lines += [f"#define {macro}(x) ({known[macro].expression.replace(_OPERAND, '(x)')})" for macro in sorted(known)]
    added = Added({})
    for intrinsic in known.values():
        if intrinsic.runtime is not None:
            added = added.joined(placed(intrinsic.runtime, _FOLDER, where))
    return IntrinsicDefinitions(
        "\n".join(["/* Functions of the target, in place of the kernels' own. */", *lines]), added
    )


def _macro(name: object, where: str) -> str:
    if name in _MACROS:
        return _MACROS[name]
    raise TargetError(
        f"{where}: a function that no kernel calls, got {_shown(name)}, expected one that some call. "
        f"{did_you_mean(_shown(name), map(_shown, _MACROS))}"
    )


def _shown(name: object) -> str:
    return " of ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _checked(name: str, value: object, where: str) -> Intrinsic:
    if not isinstance(value, Intrinsic):
        raise TargetError(
            f"{where}: {name}, got {type(value).__name__}, expected Intrinsic. Write Intrinsic('vendor_expf({{0}})')"
        )
    if _OPERAND not in value.expression:
        raise TargetError(
            f"{where}: {name}, got {value.expression!r}, expected {_OPERAND} as the operand. "
            "Write Intrinsic('vendor_expf({0})')"
        )
    return value
