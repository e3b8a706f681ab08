"""The test program of a bundle: passes where a build is right, and says what is wrong where it is not."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.compiler.pipeline import Module
from aboard.emit import sample
from aboard.ir import DType
from aboard.kernels.contract import Implementation
from aboard.kernels.select import strategy
from aboard.ops import interpreter
from support import channel_models, image_models, int16_models, markdown, zoo
from support.examples import either, part
from support.sanitized import SANITIZERS, WARNINGS
from support.tflite_builder import ModelBuilder

DIGITS = resources.models() / "digits.tflite"
CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55", "rv32imac")
TRACE = ("-DABOARD_HOOKS=1", "-DABOARD_TRACE=1")
MODELS = {
    "digits": DIGITS.read_bytes(),
    "digits_f32": (resources.models() / "digits_f32.tflite").read_bytes(),
    "many_ops_int8": zoo.many_ops(),
    "many_ops_int16": zoo.many_ops(np.int16),
    "many_ops_float": zoo.many_ops(np.float32),
    "keywords_int16": int16_models.keyword_model(),
    "cascades": image_models.image_model(29),
    "fewer_channels": channel_models.random_model(5),
}


def outcome(
    module: Module,
    folder: Path,
    flags: Sequence[str] = (),
    compiler: str = "gcc",
    changes: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> tuple[int, str]:
    """Builds the test program of a bundle and returns its exit code and what it printed.

    Args:
        module: The model.
        folder: Where to build.
        flags: More of the compiler's.
        compiler: The compiler.
        changes: By the path of a file in the bundle: text, and what replaces it.
    """
    bundle = (module.with_hooks() if TRACE[0] in flags else module).save(folder / "bundle")
    for path, (old, new) in changes.items():
        text = (bundle / path).read_text()
        assert old in text
        (bundle / path).write_text(text.replace(old, new, 1))
    (main,) = [path for path in module.manifest.tests if path.endswith(".c")]
    sources = [str(bundle / path) for path in (*module.manifest.sources, main)]
    command = [compiler, *WARNINGS, *flags, f"-I{bundle / 'include'}", *sources, "-o", str(folder / "test")]
    subprocess.run(command, check=True)
    done = subprocess.run([str(folder / "test")], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("core", "flags"), [("cortex-m0", ()), ("cortex-m4", (*SANITIZERS, *TRACE))], ids=["outputs", "operators"]
)
@pytest.mark.parametrize("name", MODELS)
def test_a_right_build_passes(name: str, core: str, flags: Sequence[str], tmp_path: Path) -> None:
    module = aboard.compile(MODELS[name], target=f"c -mcpu={core} -opt=size", name="model")
    assert outcome(module, tmp_path, flags) == (0, "model: ok\n")


@pytest.mark.parametrize("compiler", either(["gcc", "clang"], ["gcc"]))
@pytest.mark.parametrize("attributes", ["-input=rows", "-input=kept", "-arena=fast:2K,slow:64K"])
def test_inputs_and_arenas_of_every_kind(attributes: str, compiler: str, tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target=f"c -mcpu=cortex-m4 {attributes}", name="model")
    for flags in ((), TRACE):
        assert outcome(module, tmp_path, ("-O2", *flags), compiler) == (0, "model: ok\n")


@pytest.mark.parametrize(("name", "core"), part(itertools.product(MODELS, CORES)))
def test_tcc_builds_it_for_every_set_of_kernels(name: str, core: str, tmp_path: Path) -> None:
    module = aboard.compile(MODELS[name], target=f"c -mcpu={core}", name="model")
    for flags in ((), TRACE):
        assert outcome(module, tmp_path, flags, "tcc") == (0, "model: ok\n")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32, np.bool_])
def test_inputs_of_every_type(dtype: type, tmp_path: Path) -> None:
    build = ModelBuilder()
    quantised = {"scale": 0.5, "zero_point": 0} if np.dtype(dtype).itemsize <= 2 and dtype is not np.bool_ else {}
    for name, shape in (("x", (1, 2, 33)), ("y", (1, 33, 2))):
        build.tensor(name, shape, dtype, **quantised)
    build.tensor("order", (3,), np.int32, data=np.array([0, 2, 1], np.int32))
    model = build.op("TRANSPOSE", ["x", "order"], ["y"], {}).build(["x"], ["y"])
    module = aboard.compile(model, target="c -mcpu=cortex-m0", name="model")
    assert outcome(module, tmp_path) == (0, "model: ok\n")


def test_a_kernel_that_reads_what_it_has_overwritten_fails(tmp_path: Path) -> None:
    def points(explained: strategy.Explanation) -> Implementation | None:
        able = [found.implementation for found in explained.candidates if not found.refused]
        return next((found for found in able if found.name == "dsp_points_s8"), None)

    with strategy.forced(points):
        module = aboard.compile(DIGITS, target="c -mcpu=cortex-m4 -input=kept", name="digits")
    wrong = {"src/kernels/arm_dsp/pointwise.h": ("aboard_dsp_load(pixel + k)", "aboard_dsp_load(x + k)")}
    assert outcome(module, tmp_path / "a", ("-Wno-unused",), changes=wrong) == (
        1,
        "digits: sample 0: output 0 differs\n",
    )
    code, text = outcome(module, tmp_path / "b", ("-Wno-unused", *TRACE), changes=wrong)
    assert (code, text) == (1, "digits: sample 0: operator 2, result 0 differs\n")
    assert module.manifest.nodes[2].implementation == "dsp_points_s8"


def test_a_float_that_is_off_fails(tmp_path: Path) -> None:
    module = aboard.compile(MODELS["digits_f32"], target="c -mcpu=cortex-m0", name="model")
    wrong = {"src/model_weights.h": ("= {\n    ", "= {\n    9 + ")}
    code, text = outcome(module, tmp_path, changes=wrong)
    assert (code, text) == (1, "model: sample 0: output 0 differs\n")


def test_a_run_that_fails_is_said(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=cortex-m0", name="model")
    size = module.manifest.ram_bytes
    wrong = {"src/model.c": ("bytes < MODEL_ARENA_BYTES", f"bytes < {size + 1}")}
    assert outcome(module, tmp_path, changes=wrong) == (1, "model: sample 0: the run returned status 1\n")


def test_what_is_expected_is_computed_from_inputs_that_anybody_can_make() -> None:
    first = sample.values(DType.INT8, (1, 5000), 0, 0)
    assert first.dtype == np.int8
    assert (first.min(), first.max()) == (-128, 127)
    assert not np.array_equal(first, sample.values(DType.INT8, (1, 5000), 1, 0))
    assert not np.array_equal(first, sample.values(DType.INT8, (1, 5000), 0, 1))
    floats = sample.values(DType.FLOAT32, (4, 100), 2, 1)
    assert floats.dtype == np.float32
    assert -2 <= floats.min() < -1.9 < 1.9 < floats.max() < 2


def test_the_same_model_gives_the_same_program_of_a_few_kilobytes() -> None:
    first, second = (aboard.compile(DIGITS, target="c -mcpu=cortex-m4", name="m") for _ in range(2))
    assert first.files["test/m_test.c"] == second.files["test/m_test.c"]
    assert len(first.files["test/m_test.c"]) < 4096
    assert first.manifest.tests == ("test/m_test.c", "test/sample.h")
    assert not set(first.manifest.tests) & {*first.manifest.sources, *first.manifest.headers}


def test_of_a_large_model_one_sample_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    run_all = interpreter.run_all
    monkeypatch.setattr(interpreter, "run_all", lambda *given: (runs.append(1), run_all(*given))[1])
    module = aboard.compile(DIGITS, target="c -mcpu=cortex-m0", name="m")
    assert len(runs) == 4
    assert module.graph is not None
    assert module.scheduled is not None
    many = 10**9
    program, layout = module.scheduled.program, module.scheduled.layout
    files = sample.files(module.graph, program, layout, "aboard", module.target, many, hooks=True)
    assert len(runs) == 5
    assert "/** Runs 1 samples." in files["test/m_test.c"]


def test_a_bundle_that_is_read_has_its_test(tmp_path: Path) -> None:
    module = aboard.compile(DIGITS, target="c -mcpu=cortex-m4", name="m")
    again = Module.load(module.save(tmp_path / "bundle"))
    assert again.files == module.files


@pytest.mark.parametrize("compiler", ["cc", "tcc"])
def test_the_lines_of_the_page(compiler: str, tmp_path: Path) -> None:
    page = [text for language, text in markdown.blocks("docs/reference/model_api.md") if language == "sh"]
    lines = [line for text in page for line in markdown.commands(text)]
    printed = [markdown.run(re.sub("^cc ", f"{compiler} ", line), tmp_path) for line in lines]
    assert [text.splitlines()[-1] for text in printed[1:3]] == ["digits: ok", "digits: ok"]
