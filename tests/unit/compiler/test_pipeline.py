from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from aboard.base import manifest, resources
from aboard.compiler.pipeline import Module, compile_model
from aboard.device import real_values
from aboard.errors import InputError, ModelError, PassError, ProjectError, TargetError
from aboard.importers import load
from aboard.ir import Graph
from aboard.ir.printer import dump
from aboard.partition.pipeline import pipeline_of
from support import sanitized

DIGITS = resources.models() / "digits.tflite"
M4 = "c -mcpu=cortex-m4 -runtime=standalone"
HOST = "c -runtime=host"


def samples() -> dict[str, np.ndarray]:
    with np.load(resources.models() / "digits_test.npz") as archive:
        return {name: archive[name] for name in archive.files}


def test_two_compilations_give_the_same_bytes(tmp_path: Path) -> None:
    one, two = compile_model(DIGITS, target=M4), compile_model(str(DIGITS), target=M4)
    assert one.files == two.files
    assert one.manifest == two.manifest
    first, second = one.save(tmp_path / "one"), two.save(tmp_path / "two")
    for path in sorted(first.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()


def test_no_generated_file_names_a_machine_or_a_time(tmp_path: Path) -> None:
    bundle = compile_model(DIGITS, target=M4).save(tmp_path / "digits")
    for path in bundle.rglob("*"):
        if path.is_file():
            assert not re.search(rf"{tmp_path}|/home/|/root/|/tmp/|20\d\d-\d\d-\d\d", path.read_text()), path


def test_the_manifest_adds_up() -> None:
    module = compile_model(DIGITS, target=f"{M4} -opt=speed")  # rows in blocks are no buffers
    record = module.manifest
    assert record.macs_run == sum(node.macs for node in record.nodes)
    assert record.macs >= record.macs_run > 0
    assert record.ram_bytes >= record.ram_lower_bound_bytes > max(buffer.bytes for buffer in record.buffers) // 2
    assert record.ram_bytes == max(buffer.offset + buffer.bytes for buffer in record.buffers)
    assert record.core == "cortex-m4"
    assert sum(node.weights_bytes for node in record.nodes) >= record.weights_bytes > 0
    assert f"#define DIGITS_ARENA_BYTES {record.ram_bytes}\n" in module.files["include/digits.h"]


@pytest.mark.parametrize("opt", ["size", "balanced", "speed"])
def test_every_opt_gives_the_same_results(opt: str) -> None:
    x = samples()["x"][:4]
    module = compile_model(DIGITS, target=HOST, opt=opt)
    plain = compile_model(DIGITS, target=HOST)
    for sample in x:
        np.testing.assert_array_equal(module.run(sample), plain.run(sample))


def test_size_shares_code_that_speed_specialises() -> None:
    target = "c -mcpu=rv32imac"
    small, fast = (compile_model(DIGITS, target=target, opt=opt).files["src/digits.c"] for opt in ("size", "speed"))
    shared, own = "aboard_fully_connected_s8_shared(", "aboard_fully_connected_s8("
    assert (shared in small, own in small) == (True, False)
    assert (shared in fast, own in fast) == (False, True)


def test_a_kept_input_survives_and_costs_ram() -> None:
    kept = compile_model(DIGITS, target=f"{HOST} -input=kept")
    consumed = compile_model(DIGITS, target=HOST)
    record = kept.manifest.inputs[0]
    end = len(kept.manifest.nodes) - 1
    inside = [b for b in kept.manifest.buffers if b.offset <= record.offset < b.offset + b.bytes and b.first == 0]
    assert [b.last for b in inside] == [end]
    assert kept.manifest.ram_bytes >= consumed.manifest.ram_bytes
    assert "#define DIGITS_INPUTS_KEPT true" in kept.files["include/digits.h"]
    assert "The inputs are left as they were." in kept.files["include/digits.h"]
    assert "The inputs are overwritten: set them before every run." in consumed.files["include/digits.h"]


def test_the_model_is_clean_under_sanitizers_and_warnings(tmp_path: Path) -> None:
    module = compile_model(DIGITS, target=HOST)
    x = samples()["x"][0]
    outputs = sanitized.run(module, x, tmp_path)
    np.testing.assert_array_equal(next(iter(outputs.values())), module.run(x))
    for compiler in (["gcc"], ["clang"]):
        sanitized.compile_strictly(module, tmp_path, compiler)


def test_a_bundle_reads_back_as_it_was(tmp_path: Path) -> None:
    module = compile_model(DIGITS, target=HOST, name="numbers")
    folder = module.save(tmp_path / "deep" / "bundle")
    again = Module.load(folder)
    assert again.manifest == module.manifest
    assert again.files == module.files
    x = samples()["x"][0]
    np.testing.assert_array_equal(again.run(x), module.run(x))


def test_saving_replaces_a_bundle_and_nothing_else(tmp_path: Path) -> None:
    module = compile_model(DIGITS, target=M4)
    folder = module.save(tmp_path / "bundle")
    compile_model(DIGITS, target=M4, name="other").save(folder)
    assert not (folder / "src/digits.c").exists()
    assert (folder / "src/other.c").is_file()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("precious")
    with pytest.raises(ProjectError, match=r"mine: holds 1 file that aboard did not write \(thesis.txt\), expected"):
        module.save(mine)
    assert [p.name for p in mine.iterdir()] == ["thesis.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle", "mine"]


def test_a_damaged_bundle_is_refused(tmp_path: Path) -> None:
    folder = compile_model(DIGITS, target=M4).save(tmp_path / "bundle")
    (folder / "src" / "digits.c").unlink()
    with pytest.raises(ProjectError, match=r"digits\.c: cannot be read, got No such file .* `aboard compile`"):
        Module.load(folder)
    (folder / manifest.FILE_NAME).write_text('{"format": 2}')
    with pytest.raises(ProjectError, match=r"manifest\.json: format: .* Make the bundle again"):
        Module.load(folder)
    with pytest.raises(ProjectError, match=r"manifest\.json: cannot be read, got No such file .* expected a bundle"):
        Module.load(tmp_path / "nowhere")


def test_target_or_board_must_be_given() -> None:
    with pytest.raises(TargetError, match="compile: target and board, got neither, expected one of them"):
        compile_model(DIGITS)
    with pytest.raises(TargetError, match="compile: target and board, got both, expected one of them"):
        compile_model(DIGITS, target=M4, board="arm/mps2_an386")


def test_a_board_stands_for_its_target() -> None:
    record = compile_model(DIGITS, board="arm/mps2_an386").manifest
    assert record.core == "cortex-m4"
    assert "arm/mps2_an386" in record.target


def test_code_for_another_core_does_not_run_here() -> None:
    with pytest.raises(TargetError, match="got -runtime=standalone, expected -runtime=host"):
        compile_model(DIGITS, target=M4).run(samples()["x"][0])
    foreign = "cortex-a72" if Target_is_x86() else "x86-64"
    with pytest.raises(TargetError, match=f"got code for {foreign}, .*cross compiler such as"):
        compile_model(DIGITS, target=f"c -mcpu={foreign} -runtime=host").run(samples()["x"][0])


def Target_is_x86() -> bool:
    from aboard.target import Target

    return Target(HOST).cpu.arch == "x86-64"


def test_real_numbers_for_a_quantised_input_are_quantised() -> None:
    module = compile_model(DIGITS, target=HOST)
    (record,) = module.manifest.inputs
    x = samples()["x"][0]
    np.testing.assert_array_equal(module.run(real_values.real(x, record)), module.run(x))
    np.testing.assert_array_equal(module.run(real_values.real(x, record).astype(np.float64)), module.run(x))


def test_wrong_inputs_are_named() -> None:
    module = compile_model(DIGITS, target=HOST)
    name = module.manifest.inputs[0].name
    good = samples()["x"][0]
    with pytest.raises(InputError, match=r"has a wrong shape, got \(3,\), expected \(1, 8, 8, 1\)"):
        module.run(np.zeros(3, np.int8))
    with pytest.raises(InputError, match=r"has a wrong type, got complex64, expected int8\. Convert it with"):
        module.run(good.astype(np.complex64))
    with pytest.raises(InputError, match="has a wrong type, got int64, expected int8"):
        module.run(np.full(good.shape, 300, np.int64))
    with pytest.raises(
        InputError, match=f"digits: input nothing is not one of the model's. Choose one of: {re.escape(name)}"
    ):
        module.run({"nothing": good})
    with pytest.raises(InputError, match="is missing, got none, expected"):
        module.run({})
    np.testing.assert_array_equal(module.run({name: good}), module.run(good.astype(np.int64)))


def test_the_ir_is_shown_after_every_pass() -> None:
    seen: list[tuple[str, str | None]] = []
    texts: list[str] = []

    def watch(graph: Graph, done: str, following: str | None) -> None:
        seen.append((done, following))
        texts.append(dump(graph))

    module = compile_model(DIGITS, target=M4, on_step=watch)
    names = pipeline_of(module.target).names
    assert seen == list(zip(["import", *names], [*names, None], strict=True))
    assert all("conv2d" in text for text in texts)


def test_the_passes_are_those_given() -> None:
    module = compile_model(DIGITS, target=M4, passes="fold-constants, remove-dead-code")
    assert module.graph is not None
    assert dump(module.graph) == dump(load(DIGITS))
    with pytest.raises(
        PassError, match=r"passes: unknown pass fold\. Choose one of: depthwise-form, divide-wide-nodes, "
    ):
        compile_model(DIGITS, target=M4, passes="fold")


def test_a_bad_name_is_refused() -> None:
    with pytest.raises(ModelError, match="name of the model, got '2x', expected a C identifier"):
        compile_model(DIGITS, target=M4, name="2x")
