"""The C of models with state: two instances in one image, every place of the state block, and samples in sequence."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.compiler.pipeline import Module
from aboard.errors import CapacityError
from aboard.reports import compiled
from support import markdown, models, oracle, streams
from support.examples import either, part
from support.sanitized import SANITIZERS, WARNINGS, compile_strictly
from support.streams import QUANT, Stream

HOST = "c -runtime=host"
M4 = "c -mcpu=cortex-m4"
PLACES = ("", "-state=arena", "-state=retained", "-arena=fast:128,slow", "-arena=fast:128,slow -state=arena")
RAMP = np.array([[1, 2, 3, 4]], np.int8)

# Two instances take turns; a third begins anew in the memory of the first.
_TWO = """
#include <stdio.h>
#include "aboard/config.h"
#include "net.h"

static uint8_t arenas[2][8192] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static uint8_t states[2][8192] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);

static const aboard_memory_t *memory_of(int instance) {
    static aboard_memory_t memory[3];
    const uint8_t arena_count = net_model.arena_count ? net_model.arena_count : 1;
    for (int i = 0; i < arena_count; ++i) {
        const uint32_t bytes = net_model.arena_count ? net_model.arenas[i].bytes : net_model.arena_bytes;
        memory[i] = (aboard_memory_t){arenas[instance] + i * 4096, bytes};
    }
    memory[arena_count] = (aboard_memory_t){states[instance], net_model.state_bytes};
    return memory;
}

static int step(int instance) {
    const aboard_memory_t *memory = memory_of(instance);
    const aboard_tensor_t *x = &net_model.inputs[0], *y = &net_model.outputs[0];
    if (fread(memory[x->arena].data + x->offset, 1, x->bytes, stdin) != x->bytes) { return 1; }
    const aboard_status_t status =
        net_model.run_in ? net_model.run_in(memory, NULL) : net_model.run(memory->data, memory->bytes, NULL);
    fwrite(memory[y->arena].data + y->offset, 1, y->bytes, stdout);
    return status;
}

int main(void) {
    if (net_model.reset(memory_of(0)) || net_model.reset(memory_of(1))) { return 2; }
    for (int i = 0; i < @STEPS@; ++i) {
        if (step(0) || step(1)) { return 3; }
    }
    if (net_model.reset(memory_of(0))) { return 4; }
    return step(0) || step(1);
}
"""


def built(module: Module, text: str, folder: Path, given: bytes = b"") -> bytes:
    """Returns what a program around a model prints; it runs under sanitizers."""
    bundle = module.save(folder / "bundle")
    (folder / "main.c").write_text(text)
    sources = [str(bundle / path) for path in module.manifest.sources]
    command = ["gcc", *WARNINGS, *SANITIZERS, f"-I{bundle / 'include'}", str(folder / "main.c"), *sources]
    subprocess.run([*command, "-o", str(folder / "program")], check=True)
    done = subprocess.run([str(folder / "program")], input=given, capture_output=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr.decode())
    return done.stdout


@pytest.mark.parametrize("place", PLACES)
def test_two_instances_in_one_image(place: str, tmp_path: Path) -> None:
    model, shape = streams.window(), (1, 2, 1, 6)
    module = aboard.compile(model, target=f"{M4} {place}", name="net", hooks=True)
    one, other = streams.draws([shape], 4, seed=1), streams.draws([shape], 5, seed=2)
    order = [*itertools.chain(*zip(one[:3], other, strict=False)), one[3], other[3]]
    got = built(module, _TWO.replace("@STEPS@", "3"), tmp_path, b"".join(x.tobytes() for (x,) in order))
    results = np.frombuffer(got, np.int8).reshape(8, *shape)
    first, second = (oracle.tflm_steps(model, steps) for steps in (one, other))
    fresh = oracle.tflm_steps(model, one[3:])
    wanted = [y for pair in zip(first[:3], second, strict=False) for (y,) in pair] + [fresh[0][0], second[3][0]]
    np.testing.assert_array_equal(results, np.stack(wanted))


def test_the_api_of_each_place() -> None:
    model = streams.accumulator(RAMP)

    def header(place: str) -> str:
        return " ".join(aboard.compile(model, target=f"{M4} {place}", name="net").files["include/net.h"].split())

    apart = header("")
    assert "#define NET_STATE_BYTES 4 #define NET_STATE_COUNT 1" in apart
    assert "net_run(void *arena, size_t arena_bytes, void *state, size_t state_bytes);" in apart
    assert "net_reset(void *state, size_t state_bytes);" in apart
    assert '#define NET_STATE_0_NAME "sum"' in apart
    assert "int8_t *net_state_0(void *state)" in apart
    assert "Memory of the caller in retained, aligned" in header("-state=retained")
    inside = header("-state=arena")
    assert "net_run(void *arena, size_t arena_bytes);" in inside
    assert "net_reset(void *arena, size_t arena_bytes);" in inside
    assert "int8_t *net_state_0(void *arena)" in inside
    assert "#define NET_STATE_OFFSET 16 #define NET_STATE_COUNT 1" in inside


def test_the_manifest_says_where_the_state_is() -> None:
    model = streams.window()
    apart, inside = (aboard.compile(model, target=f"{M4} {place}").manifest for place in ("", "-state=arena"))
    assert [(state.name, state.c_name, state.shape) for state in apart.states] == [
        ("stream0", "state_0", (1, 4, 1, 6)),
        ("stream1", "state_1", (1, 4, 1, 6)),
    ]
    assert apart.state is not None
    assert (apart.state.memory, apart.state.offset, apart.state.region) == (1, 0, None)
    assert apart.memory_bytes == (apart.ram_bytes, apart.state.bytes)
    assert inside.state is not None
    assert inside.state.memory == 0
    assert inside.state.offset == -(-apart.ram_bytes // 16) * 16
    assert inside.ram_bytes == inside.state.offset + inside.state.bytes
    assert inside.memory_bytes == (inside.ram_bytes,)
    for record in (apart, inside):
        assert record.state is not None
        for state in record.states:
            assert state.arena == record.state.memory
            assert record.state.offset <= state.offset
    named = aboard.compile(model, target=f"{M4} -state=retained").manifest
    assert named.state is not None
    assert named.state.region == "retained"


def test_state_that_fits_no_arena_is_refused() -> None:
    with pytest.raises(
        CapacityError, match=r"model: state does not fit behind the tensors, got \d+ bytes left, expected"
    ):
        aboard.compile(streams.window(), target=f"{M4} -arena=fast:260 -state=arena", name="model")


def test_state_counts_for_the_limit_of_ram() -> None:
    model = streams.window()
    plain = aboard.compile(model, target=M4).manifest
    needed = sum(plain.memory_bytes)
    assert sum(aboard.compile(model, target=f"{M4} -ram-max={needed}").manifest.memory_bytes) <= needed
    with pytest.raises(CapacityError, match="needs more RAM than -ram-max allows"):
        aboard.compile(model, target=f"{M4} -ram-max={plain.state.bytes if plain.state else 0}")


@pytest.mark.parametrize("initial", [None, RAMP], ids=["filled", "array"])
def test_reset_writes_initial_values(initial: np.ndarray | None) -> None:
    model = streams.accumulator(initial)
    module = aboard.compile(model, target=HOST, name="net")
    assert ("net_state_0_initial" in module.files["src/net_weights.h"]) == (initial is not None)
    assert module.manifest.weights_bytes == (4 if initial is not None else 0)
    steps = streams.draws([(1, 4)], 3)
    expected = [y for (y,) in oracle.tflm_steps(model, steps)]
    for _ in range(2):
        got = [module.run(x) for (x,) in steps]
        np.testing.assert_array_equal(np.stack(got), np.stack(expected))
        module.reset_state()


@pytest.mark.parametrize("place", ["-state=arena", "-arena=fast:64,slow"])
def test_runs_in_this_process_keep_state_wherever_it_is(place: str) -> None:
    model = streams.window()
    module = aboard.compile(model, target=f"{HOST} {place}")
    steps = streams.draws([(1, 2, 1, 6)], 4)
    got = np.stack([module.run(x) for (x,) in steps])
    np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(model, steps)]))


def test_a_fresh_module_needs_no_reset() -> None:
    module = aboard.compile(streams.accumulator(), target=HOST)
    module.reset_state()
    first = module.run(RAMP)
    assert np.asarray(module.run(RAMP)).tolist() != np.asarray(first).tolist()


@pytest.mark.parametrize(
    ("compiler", "place"), part(itertools.product(["gcc", "clang"], ["", "-state=arena", "-opt=size"]))
)
def test_it_compiles_without_warnings(place: str, compiler: str, tmp_path: Path) -> None:
    compile_strictly(aboard.compile(streams.window(), target=f"{M4} {place}", name="net"), tmp_path, [compiler])


@pytest.mark.parametrize("name", models.available(["wake_jarvis", "wake_vad"]))
def test_real_models(name: str) -> None:
    data = models.read(name)
    for target in (HOST, f"{HOST} -opt=size"):
        module = aboard.compile(data, target=target)
        steps = streams.draws([module.manifest.inputs[0].shape], 20)
        got = np.stack([module.run(x) for (x,) in steps])
        np.testing.assert_array_equal(got, np.stack([y for (y,) in oracle.tflm_steps(data, steps)]))


def test_a_state_of_its_own_zero_point(tmp_path: Path) -> None:
    build = Stream().quantised("x", "y").tensor("v", (1, 4), np.int8, variable=True, **QUANT)
    model = build.op("ADD", ["x", "v"], ["y"], {}).build(["x"], ["y"])
    module = aboard.compile(model, target=M4, name="net", hooks=True)
    steps = streams.draws([(1, 4)], 4)
    order = [x for pair in zip(steps, steps, strict=True) for x in pair]
    got = built(module, _TWO.replace("@STEPS@", "3"), tmp_path, b"".join(x.tobytes() for (x,) in order))
    wanted = [y for (y,) in oracle.tflm_steps(model, steps) for _ in range(2)]
    np.testing.assert_array_equal(np.frombuffer(got, np.int8).reshape(8, 1, 4), np.stack(wanted))


def test_the_loop_of_the_manual_computes_what_the_model_does(tmp_path: Path) -> None:
    page = (markdown.CHECKOUT / "docs" / "reference" / "model_api.md").read_text(encoding="utf-8")
    loop = next(block for block in re.findall(r"```c\n(.*?)```", page, re.DOTALL) if "wake_reset" in block)
    model, steps = streams.accumulator(RAMP), streams.draws([(1, 4)], 5)
    values = ", ".join(str(value) for (x,) in steps for value in x.ravel().tolist())
    text = (
        '#include <stdio.h>\n#include <string.h>\n#include "aboard/config.h"\n#include "wake.h"\n'
        f"static const int8_t features[] = {{{values}}};\nstatic size_t given;\n"
        "static bool next_features(int8_t *to) {\n    if (given == sizeof features) { return false; }\n"
        "    memcpy(to, features + given, WAKE_INPUT_0_BYTES);\n    given += WAKE_INPUT_0_BYTES;\n    return true;\n}\n"
        "static void decide(const int8_t *output) { fwrite(output, 1, WAKE_OUTPUT_0_BYTES, stdout); }\n"
        f"{loop}int main(void) {{ return listen(); }}\n"
    )
    got = built(aboard.compile(model, target=M4, name="wake"), text, tmp_path)
    expected = np.stack([y for (y,) in oracle.tflm_steps(model, steps)])
    np.testing.assert_array_equal(np.frombuffer(got, np.int8).reshape(expected.shape), expected)


@pytest.mark.parametrize("place", PLACES)
def test_the_report_shows_state_and_notes(place: str) -> None:
    manifest = aboard.compile(streams.window(), target=f"{M4} {place}").manifest
    assert manifest.state is not None
    record = manifest.model_copy(update={"notes": ("something is assumed",)})
    text = compiled.summary(record)
    assert text.endswith("\n\nNote: something is assumed")
    assert re.search(r"^ *0 +\d+ +stream0 +int8 +1x4x1x6$", text, re.MULTILINE) or "-state=arena" in place
    where = "at the end of the arena" if "=arena" in place else "in retained" if place else "in memory of its own"
    if place.startswith("-arena") and "-state" not in place:
        where = "in memory of its own"
    assert f"{manifest.state.bytes} bytes {where}" in " ".join(text.split())


#: Where the state is, and flags of a test that compares outputs or operators.
TRACED = ("-DABOARD_HOOKS=1", "-DABOARD_TRACE=1")
SAMPLED = [("", ()), ("-state=arena", TRACED), *either([("-state=arena", ()), ("", TRACED)], [])]


@pytest.mark.parametrize(("place", "flags"), SAMPLED)
def test_the_test_of_a_bundle_runs_samples_in_sequence(place: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    module = aboard.compile(streams.window(), target=f"{M4} {place}", name="net", hooks=True)
    bundle = module.save(tmp_path / "bundle")
    (main,) = [path for path in module.manifest.tests if path.endswith(".c")]
    sources = [str(bundle / path) for path in (*module.manifest.sources, main)]
    command = ["gcc", *WARNINGS, *SANITIZERS, *flags, f"-I{bundle / 'include'}", *sources]
    subprocess.run([*command, "-o", str(tmp_path / "test")], check=True)
    done = subprocess.run([str(tmp_path / "test")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "net: ok\n")
    source = (bundle / "src" / "net.c").read_text()
    (bundle / "src" / "net.c").write_text(
        re.sub(r"    mem(cpy|move)\(.*", "", source.replace("memset", "(void)memset"))
    )
    subprocess.run([*command, "-Wno-unused", "-o", str(tmp_path / "test")], check=True)
    done = subprocess.run([str(tmp_path / "test")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "net: sample 1: output 0 differs\n")
