"""What cmsis-nn generates: calls, packed constants, the sources that go with them, errors where there are none."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard.backends.cmsis_nn import library
from aboard.backends.cmsis_nn.calls import LibraryCall, Struct, call_of
from aboard.backends.cmsis_nn.geometry import Unit
from aboard.compiler.pipeline import compile_model, partition_model
from aboard.errors import TargetError
from aboard.importers import load
from aboard.target import Target
from support import cmsis_nn_tree, one_op, oracle, sanitized
from support.tflite_builder import ModelBuilder
from support.weighted_models import Layer, layers
from support.zoo import many_ops

HOST = "c -runtime=host + cmsis-nn"
CONV = {"StrideH": 2, "StrideW": 1, "Padding": "SAME", "DilationHFactor": 1, "DilationWFactor": 1}


@pytest.fixture(autouse=True)
def without_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (library.VARIABLE, library.ZEPHYR):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tree = cmsis_nn_tree.stand_in(tmp_path / "tree")
    monkeypatch.setenv(library.VARIABLE, str(tree))
    return tree


def call(model: bytes, unit: Unit) -> LibraryCall:
    """Returns the call for the only node of a model."""
    (node,) = load(model, name="m").nodes
    return call_of(node, unit)


def named(made: LibraryCall, ctype: str) -> list[dict[str, object]]:
    return [dict(a.fields) for a in made.arguments if isinstance(a, Struct) and a.ctype == ctype]


def test_a_convolution_has_its_structs_and_constants() -> None:
    options = {**CONV, "FusedActivationFunction": "RELU"}
    layer = Layer("CONV_2D", (1, 5, 4, 3), (6, 3, 3, 3), (1, 3, 4, 6), 0, options)
    made = call(layer.model(), Unit.DSP)
    assert (made.function, made.scratch) == ("arm_convolve_wrapper_s8", 2 * 28 * 2)
    assert named(made, "cmsis_nn_context") == [{"buf": "s0", "size": 112}]
    (params,) = named(made, "cmsis_nn_conv_params")
    assert params == {
        "input_offset": -3,
        "output_offset": -7,
        "stride": {"w": 1, "h": 2},
        "padding": {"w": 1, "h": 1},
        "dilation": {"w": 1, "h": 1},
        "activation": {"min": -7, "max": 127},
    }
    dims = [tuple(fields.values()) for fields in named(made, "cmsis_nn_dims")]
    assert dims == [(1, 5, 4, 3), (6, 3, 3, 3), (1, 1, 1, 6), (1, 3, 4, 6)]
    np.testing.assert_array_equal(made.constants["weights"], layer.weights)
    assert {name: values.dtype.name for name, values in made.constants.items()} == {
        "weights": "int8",
        "bias": "int32",
        "multipliers": "int32",
        "shifts": "int32",
    }


def test_a_missing_bias_is_zeros() -> None:
    layer = Layer("CONV_2D", (1, 4, 4, 2), (3, 1, 1, 2), (1, 2, 4, 3), 0, CONV, bias=False)
    np.testing.assert_array_equal(call(layer.model(), Unit.C).constants["bias"], [0, 0, 0])


@pytest.mark.parametrize(("per_channel", "count"), [(True, 5), (False, 1)])
def test_products_with_helium_have_sums_of_their_weights(per_channel: bool, count: int) -> None:
    layer = Layer("FULLY_CONNECTED", (2, 9), (5, 9), (2, 5), 0, {}, per_channel=per_channel, zero_point_in=4)
    assert "sums" not in call(layer.model(), Unit.DSP).constants
    made = call(layer.model(), Unit.MVE)
    expected = made.constants["bias"] - 4 * layer.weights.astype(np.int32).sum(axis=1)
    np.testing.assert_array_equal(made.constants["sums"], expected)
    assert (made.constants["sums"].nbytes, made.scratch) == (named(made, "cmsis_nn_context")[0]["size"], 0)
    assert named(made, "cmsis_nn_quant_params")[0]["is_per_channel"] == int(per_channel)
    assert made.constants["multipliers"].shape == (count,)


def test_where_a_wrapper_is_not_exact_another_function_is_called() -> None:
    options = {**CONV, "StrideH": 1, "StrideW": 2}
    line = Layer("CONV_2D", (1, 1, 9, 4), (3, 1, 5, 4), (1, 1, 5, 3), 0, options).model()
    assert call(line, Unit.DSP).function == "arm_convolve_wrapper_s8"
    made = call(line, Unit.MVE)
    assert (made.function, made.scratch, len(made.arguments)) == ("arm_convolve_s8", 4 * 32, 12)
    assert made.arguments[9] == "NULL"
    options |= {"StrideW": 4, "DepthMultiplier": 4}
    one = Layer("DEPTHWISE_CONV_2D", (1, 1, 9, 1), (1, 1, 5, 4), (1, 1, 3, 4), 3, options)
    assert call(one.model(), Unit.DSP).function == "arm_depthwise_conv_wrapper_s8"
    made = call(one.model(), Unit.MVE)
    assert (made.function, made.scratch) == ("arm_depthwise_conv_s8", 0)


def twice(kind: str) -> bytes:
    """Returns a model of one tensor added to, or multiplied with, itself."""
    build = ModelBuilder().tensor("x", (1, 6), np.int8, scale=0.1, zero_point=2)
    return (
        build.tensor("y", (1, 6), np.int8, scale=0.3, zero_point=-4).op(kind, ["x", "x"], ["y"], {}).build(["x"], ["y"])
    )


def test_elementwise_functions_take_numbers() -> None:
    assert call(twice("ADD"), Unit.C).arguments == (
        *("x0", "x0"),
        *(-2, 2**30, 0, -2, 2**30, 0, 20, "y0"),
        *(-4, 1431655730, -20),
        *(-128, 127, 6),
    )
    assert call(twice("MUL"), Unit.C).arguments == ("x0", "x0", -2, -2, "y0", -4, 1145324601, -4, -128, 127, 6)


def test_all_calls_fit_the_recorded_declarations(stand_in: Path, tmp_path: Path) -> None:
    declared = cmsis_nn_tree.declarations((stand_in / "Include" / "arm_nnfunctions.h").read_text())
    for target, compiler in (
        (HOST, ["gcc"]),
        (HOST, ["clang"]),
        ("cortex-m4-cmsis-nn", ["arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb"]),
        ("cortex-m55-cmsis-nn", ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]),
    ):
        module = compile_model(many_ops(), target=target, name="net")
        assert [node.device for node in module.manifest.nodes].count("cmsis-nn") == 8
        bundle = module.save(tmp_path / "bundle")
        folders = [f"-I{bundle / folder}" for folder in ("include", "src", *module.manifest.include_folders)]
        sources = [str(bundle / path) for path in module.manifest.sources]
        done = subprocess.run(
            [*compiler, *sanitized.WARNINGS, *folders, "-fsyntax-only", *sources], capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")
        texts = [(bundle / path).read_text() for path in module.manifest.sources]
        called = {name for text in texts for name in re.findall(r"\b(arm_\w+_s8)\(", text)}
        assert called <= set(declared)
        assert len(called) == 8


def test_single_rounding_is_an_error_of_the_compiler(stand_in: Path, tmp_path: Path) -> None:
    module = compile_model(twice("ADD"), target=HOST, name="net")
    bundle = module.save(tmp_path / "bundle")
    folders = [f"-I{bundle / folder}" for folder in ("include", *module.manifest.include_folders)]
    source = str(bundle / next(path for path in module.manifest.sources if "cmsis_nn_0" in path))
    command = ["gcc", "-std=c99", "-DCMSIS_NN_USE_SINGLE_ROUNDING", *folders, "-fsyntax-only", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "results would not be those of the reference" in done.stderr


def test_the_bundle_has_the_sources_that_are_called_and_the_licence(tmp_path: Path) -> None:
    tree = cmsis_nn_tree.stand_in(tmp_path / "tree")
    (tree / "Source" / "arm_softmax_s8.c").write_text(
        '#include "Internal/more.h"\n/* arm_avgpool_s8(x) in a comment */\n'
        "void arm_softmax_s8(const int8_t *input,\n    const int32_t rows)\n{\n    arm_helper(input);\n}\n"
    )
    (tree / "Include" / "Internal").mkdir()
    (tree / "Include" / "Internal" / "more.h").write_text("void arm_max_pool_s8(const int8_t *x);\n")
    (tree / "Source" / "deep").mkdir()
    (tree / "Source" / "deep" / "helper.c").write_text("void arm_helper(const int8_t *x)\n{\n    (void)x;\n}\n")
    runtime = library.sources(tree, "arm_softmax_s8", 7)
    assert sorted(runtime.files) == [
        "Include/Internal/more.h",
        "LICENSE",
        "Source/arm_softmax_s8.c",
        "Source/deep/helper.c",
    ]
    assert (runtime.include_folders, runtime.is_foreign) == (("Include",), True)


def test_projects_compile_the_library_without_warnings(stand_in: Path) -> None:
    module = compile_model(twice("ADD"), target="cortex-m4-cmsis-nn", name="net")
    (flags,) = module.manifest.source_flags
    path = "src/devices/cmsis_nn/Source/arm_elementwise_add_s8.c"
    assert (flags.sources, flags.gcc, flags.clang) == ((path,), ("-w",), ("-Dmemcpy=__builtin_memcpy", "-w"))
    assert "src/devices/cmsis_nn/LICENSE" in module.files
    (flags,) = compile_model(twice("ADD"), target=HOST, name="net").manifest.source_flags
    assert (flags.gcc, flags.clang) == (("-w",), ("-w",))


def test_without_a_tree_the_error_says_how_to_get_one() -> None:
    text = (
        r"target cmsis-nn: the sources of CMSIS-NN are not there, got neither -cmsis-nn= nor CMSIS_NN_PATH, expected "
        r"the folder with Include/arm_nnfunctions\.h\. Get it with `git clone -b v7\.0\.0 https://github\.com/ARM-soft"
        r"ware/CMSIS-NN` and name the folder with -cmsis-nn= or in the environment variable CMSIS_NN_PATH; in a Zephyr "
        r"workspace ZEPHYR_BASE is enough"
    )
    with pytest.raises(TargetError, match=text):
        compile_model(many_ops(), target="cortex-m4-cmsis-nn", name="m")


def test_a_folder_without_the_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"c -mcpu=cortex-m4 + cmsis-nn -cmsis-nn={tmp_path}"
    with pytest.raises(TargetError, match=rf"-cmsis-nn= names no source tree of CMSIS-NN, got {tmp_path}, expected a"):
        compile_model(many_ops(), target=spec, name="m")
    monkeypatch.setenv(library.VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(TargetError, match=rf"CMSIS_NN_PATH names no source tree of CMSIS-NN, got {tmp_path}/missing,"):
        compile_model(many_ops(), target="cortex-m4-cmsis-nn", name="m")


def test_the_attribute_comes_before_the_environment(stand_in: Path, tmp_path: Path) -> None:
    other = cmsis_nn_tree.stand_in(tmp_path / "other")
    (target,) = Target(f"{HOST} -cmsis-nn={other}").devices
    assert library.find(target) == other
    assert library.find(Target(HOST).devices[0]) == stand_in


def test_another_release_is_refused(stand_in: Path) -> None:
    header = stand_in / "Include" / "arm_nnfunctions.h"
    header.write_text(header.read_text().replace("const int32_t size);", "const int32_t size, int32_t more);"))
    text = (
        r"CMSIS-NN in .*: arm_elementwise_add_s8, got with 17 arguments, expected it with 16 arguments as in release "
        r"7\.0\.0\. Check out the tag v7\.0\.0"
    )
    with pytest.raises(TargetError, match=text):
        library.sources(stand_in, "arm_elementwise_add_s8", 16)
    with pytest.raises(TargetError, match=r"arm_softmax_s16, got none of that name, expected it with 7 arguments"):
        library.sources(stand_in, "arm_softmax_s16", 7)


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
def test_the_recorded_declarations_are_those_of_the_tree(tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    ours = (cmsis_nn_tree.DATA / cmsis_nn_tree.HEADER).read_text()
    functions = cmsis_nn_tree.declarations((tree / cmsis_nn_tree.HEADER).read_text())
    structs = cmsis_nn_tree.fields((tree / "Include" / "arm_nn_types.h").read_text())
    for name, types in cmsis_nn_tree.declarations(ours).items():
        assert functions[name] == types, name
    for name, members in cmsis_nn_tree.fields(ours).items():
        assert structs[name] == members, name


def check_exact(model: bytes, tree: Path, *inputs: np.ndarray) -> None:
    """Fails unless the library computes the only node of a model, and gives the reference's results in this process."""
    module = compile_model(model, target=f"{HOST} -cmsis-nn={tree}", name="m")
    assert [node.device for node in module.manifest.nodes] == ["cmsis-nn"]
    results = module.run({record.name: x for record, x in zip(module.manifest.inputs, inputs, strict=True)})
    (expected,) = oracle.tflm(model, *inputs)
    np.testing.assert_array_equal(results, expected)


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_random_layers_are_exact_in_this_process(kind: str, tree: Path, data: st.DataObject) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    layer = data.draw(layers(kind))
    module = partition_model(layer.model(), target=HOST, name="m")
    if module.claims:
        check_exact(layer.model(), tree, layer.input())


@pytest.mark.parametrize("tree", cmsis_nn_tree.trees())
def test_a_model_of_many_ops_is_exact_in_this_process(tree: Path) -> None:
    """Needs a source tree: CMSIS_NN_PATH."""
    module = compile_model(many_ops(), target=f"{HOST} -cmsis-nn={tree}", name="m")
    x = np.random.default_rng(4).integers(-128, 128, module.manifest.inputs[0].shape).astype(np.int8)
    results = module.run(x)
    assert isinstance(results, dict)
    expected = dict(
        zip((record.name for record in module.manifest.outputs), one_op.compiled(many_ops(), x), strict=True)
    )
    assert results.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(results[name], values)


def test_the_page_names_the_functions_that_are_called() -> None:
    page = (cmsis_nn_tree.DATA.parents[2] / "docs" / "how-to" / "cmsis_nn.md").read_text(encoding="utf-8")
    declared = cmsis_nn_tree.declarations((cmsis_nn_tree.DATA / cmsis_nn_tree.HEADER).read_text(encoding="utf-8"))
    assert set(re.findall(r"`(arm_\w+_s8)`", page)) == set(declared)
    assert "git clone -b v7.0.0 https://github.com/ARM-software/CMSIS-NN" in page
