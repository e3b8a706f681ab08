"""Column `intrinsics`: kernels compute exp, tanh and logistic as the target has it, and other models are left alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.errors import TargetError
from aboard.target import Intrinsic, Kind, Runtime, Target, attach, kind, plugins, register
from support import markdown, sanitized
from support.element_models import Value, build
from support.fake_device import fake_device

HOST = "c -runtime=host"
VECTOR = Value((1, 4, 1, 6), np.float32)
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(VECTOR.shape)
#: Powers of two in place of those of e, so that a result tells which was computed.
HEADER = """\
#ifndef VENDOR_MATH_H
#define VENDOR_MATH_H
float vendor_exp2f(float x);
#endif
"""
SOURCE = """\
#include <math.h>
#include "vendor_math.h"
#ifndef VENDOR_BASE
#error "the definitions are missing"
#endif
float vendor_exp2f(float x) { return powf(VENDOR_BASE, x); }
"""
FILES = Runtime({"inc/vendor_math.h": HEADER, "vendor_math.c": SOURCE}, ("inc",), ("VENDOR_BASE=2.0f",))
VENDOR = Intrinsic("vendor_exp2f({0})", headers=("vendor_math.h",), runtime=FILES)
EXP2 = {("exp", "float32"): VENDOR}


@contextmanager
def intrinsics(found: Mapping[Any, Any], name: str = "c") -> Iterator[None]:
    """Gives a kind of CPU expressions of its own for a block."""
    with plugins.restored():
        if name != "c":
            c = kind("c")
            register(Kind(name, "A CPU of these tests", "cpu", c.attributes, c.complete, c.keys))
        attach(name, "intrinsics", lambda target: dict(found))
        yield


def compiled(operator: str, target: str = HOST) -> Module:
    return aboard.compile(
        build(operator, [VECTOR], VECTOR, {"Beta": 1.0} if operator == "SOFTMAX" else {}), target=target
    )


def base_two(operator: str, x: np.ndarray) -> np.ndarray:
    """Returns what an operator gives with powers of two in place of those of e."""
    wide = x.astype(np.float64)
    if operator == "SOFTMAX":
        powers = np.exp2(wide)
        return powers / powers.sum(axis=-1, keepdims=True)
    if operator == "LOGISTIC":
        return 1 / (1 + np.exp2(-wide))
    # The kernel has a polynomial of its own for small operands.
    return np.where(np.abs(wide) < 0.55, np.tanh(wide), np.sign(wide) * (1 - 2 / (np.exp2(2 * np.abs(wide)) + 1)))


@pytest.mark.parametrize("operator", ["SOFTMAX", "LOGISTIC", "TANH"])
def test_kernels_compute_with_the_exponential_of_the_target(operator: str, tmp_path: Path) -> None:
    with intrinsics(EXP2):
        module = compiled(operator)
        result = module.run(X)
        sanitized.compile_strictly(module, tmp_path, ["gcc"])
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, base_two(operator, X), rtol=1e-5)
    assert "#define ABOARD_EXP_F32(x) (vendor_exp2f((x)))" in module.files["src/model.c"]
    assert {"src/intrinsics/vendor_math.c"} < set(module.manifest.sources)
    assert module.manifest.include_folders == ("src/intrinsics/inc",)
    assert "-DVENDOR_BASE=2.0f" in module.manifest.cflags


def test_a_function_may_be_one_of_the_compilers(tmp_path: Path) -> None:
    found = {
        ("tanh", "float32"): Intrinsic("({0} < 0.0f ? -fabsf({0}) : fabsf({0})) * 0.25f", headers=("<math.h>",)),
        ("logistic", "float32"): Intrinsic("{0} * 0.5f"),
    }
    with intrinsics(found):
        for operator, factor in (("TANH", 0.25), ("LOGISTIC", 0.5)):
            np.testing.assert_array_equal(compiled(operator).run(X), X * np.float32(factor))
        module = compiled("TANH")
    assert module.files["src/model.c"].index("#include <math.h>") < module.files["src/model.c"].index('"kernels/')
    assert not any("intrinsics" in path for path in module.files)
    sanitized.compile_strictly(module, tmp_path, ["gcc"])


def test_other_kinds_of_cpu_and_hosts_of_composites_have_them_too() -> None:
    with intrinsics(EXP2, "vendor"), fake_device():
        alone = compiled("LOGISTIC", "vendor -runtime=host").run(X)
        host = compiled("LOGISTIC", "vendor -runtime=host + fake").run(X)
        plain = compiled("LOGISTIC").run(X)
    np.testing.assert_array_equal(alone, host)
    assert not np.allclose(alone, plain)  # type: ignore[arg-type]
    np.testing.assert_allclose(plain, 1 / (1 + np.exp(-X)), rtol=1e-6)  # type: ignore[arg-type]


def test_a_model_without_these_functions_is_the_same_as_before() -> None:
    model = resources.models() / "digits.tflite"
    before = aboard.compile(model, target=HOST)
    with intrinsics(EXP2):
        after = aboard.compile(model, target=HOST)
    assert before.files == after.files
    assert before.manifest == after.manifest


def test_the_function_gets_the_target() -> None:
    def found(target: Target) -> dict[tuple[str, str], Intrinsic]:
        return EXP2 if target.opt == "speed" else {}

    with plugins.restored():
        attach("c", "intrinsics", found)
        fast, small = (compiled("LOGISTIC", f"{HOST} -opt={opt}").files["src/model.c"] for opt in ("speed", "size"))
    assert "vendor_exp2f" in fast
    assert "vendor_exp2f" not in small


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            {("exq", "float32"): VENDOR},
            r"kind c, column intrinsics: .*got exq of float32, expected one that some call\. Did you mean exp of",
        ),
        ({"exp": VENDOR}, r"column intrinsics: a function that no kernel calls, got exp, expected one that some call"),
        (
            {("exp", "float32"): "expf({0})"},
            r"intrinsics: exp of float32, got str, expected Intrinsic\. Write Intrinsic\('vendor_expf\(\{0\}\)'\)",
        ),
        (
            {("exp", "float32"): Intrinsic("expf(x)")},
            r"intrinsics: exp of float32, got 'expf\(x\)', expected \{0\} as the operand\. Write Intrinsic",
        ),
        (
            {("exp", "float32"): Intrinsic("f({0})", runtime=Runtime({"../f.c": ""}))},
            r"kind c, column intrinsics: a file, got \.\./f\.c, expected a \.c or \.h, or a LICENSE, below the",
        ),
    ],
)
def test_what_is_no_expression_is_refused(found: Any, text: str) -> None:
    with intrinsics(found), pytest.raises(TargetError, match=text):
        compiled("LOGISTIC")


def test_the_example_of_the_page_is_one() -> None:
    (text,) = [text for language, text in markdown.blocks("docs/reference/targets.md") if "Intrinsic" in text]
    with plugins.restored():
        exec(text, {})
        m7, m4 = (compiled("TANH", f"c -mcpu=cortex-{core}").files["src/model.c"] for core in ("m7", "m4"))
    assert "#include <vendor_math.h>\n#define ABOARD_EXP_F32(x) (vendor_expf((x)))\n" in m7
    assert "vendor" not in m4
