"""Targets: one canonical form for strings, dicts and boards, and a message for everything that is wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aboard import boards
from aboard.boards import cpu
from aboard.errors import TargetError
from aboard.target import Target

M4 = (
    "c -arithmetic=tflite -input=consumed -input-layout=file -io=file -mcpu=cortex-m4 -mfloat-abi=hard "
    "-mfpu=fpv4-sp-d16 -opt=balanced -runtime=standalone"
)

CORES = [name for name in cpu.names() if not cpu.find(name).is_host_class]


@st.composite
def specs(draw: st.DrawFn) -> dict[str, str]:
    """Dicts of attributes that go together."""
    spec = {"kind": "c"}
    if draw(st.booleans()):
        spec["hardware"] = draw(st.sampled_from(boards.names()))
    # A machine of host class implies -runtime=host, which these cores contradict.
    machine = boards.load(spec["hardware"]).is_host if "hardware" in spec else False
    if "hardware" not in spec or (not machine and draw(st.booleans())):
        base = cpu.find(draw(st.sampled_from(CORES)))
        modifiers = draw(st.lists(st.sampled_from(base.optional), unique=True)) if base.optional else []
        spec["mcpu"] = "+".join((base.name, *modifiers))
        spec["runtime"] = "standalone"
    optional = {"opt": ["size", "balanced", "speed"], "input": ["consumed", "kept"]}
    for name, values in optional.items():
        if draw(st.booleans()):
            spec[name] = draw(st.sampled_from(values))
    return spec


def outcome(text: str) -> Target | TargetError:
    """Returns the target, or why there is none."""
    try:
        return Target(text)
    except TargetError as error:
        return error


@given(specs(), st.randoms())
@settings(max_examples=50, deadline=None)
def test_all_forms_are_one_target(spec: dict[str, str], random: object) -> None:
    target = Target(spec)
    words = [f"-{name}={value}" for name, value in spec.items() if name != "kind"]
    random.shuffle(words)  # type: ignore[attr-defined]
    for other in (str(target), " ".join(("c", *words)), {"kind": "c", **target.attrs}, target):
        assert Target(other) == target
        assert hash(Target(other)) == hash(target)
        assert str(Target(other)) == str(target)
    assert Target.from_json(target.to_json()) == target
    assert Target(target.to_json()) == target
    assert Target(target.key).key == target.key
    assert all(target.get(name) == value for name, value in target.attrs.items())


@given(st.text(max_size=40))
@settings(max_examples=50, deadline=None)
def test_any_text_is_a_target_or_a_target_error(text: str) -> None:
    made = outcome(text)
    if isinstance(made, Target):
        assert Target(str(made)) == made
    else:
        assert str(made).startswith("target")


def test_canonical_string() -> None:
    assert str(Target("c -mcpu=cortex-m4 -runtime=standalone")) == M4
    assert str(Target({"kind": "c", "mcpu": "cortex-m4"})) == M4
    assert repr(Target(M4)) == f"Target({M4!r})"


def test_attributes_are_typed_properties() -> None:
    target = Target("c -mcpu=cortex-m55 -opt=speed -input=kept")
    assert (target.kind.name, target.opt, target.runtime, target.input_mode) == ("c", "speed", "standalone", "kept")
    assert target.cpu is cpu.find("cortex-m55")
    assert target.hardware is None
    assert target.get("nothing") is None
    with pytest.raises(TypeError):
        target.attrs["opt"] = "size"  # type: ignore[index]


@pytest.mark.parametrize(
    ("core", "keys"),
    [
        ("cortex-m0", {"portable", "arm_thumb1"}),
        ("cortex-m23", {"portable", "arm_thumb1"}),
        ("cortex-m3", {"portable", "arm_mla"}),
        ("cortex-m4", {"portable", "arm_dsp"}),
        ("cortex-m33+nodsp", {"portable", "arm_mla"}),
        ("cortex-m55", {"portable", "arm_dsp", "arm_mve"}),
        ("rv32imc", {"portable", "riscv"}),
        ("cortex-a72", {"portable", "host"}),
    ],
)
def test_keys_follow_the_core(core: str, keys: set[str]) -> None:
    assert Target(f"c -mcpu={core}").keys == keys


def test_host_runtime_takes_the_core_of_this_machine() -> None:
    target = Target("c -runtime=host")
    assert target.cpu == cpu.host()
    assert target.cpu.runs_here
    assert Target(f"c -mcpu={cpu.host().name}") == target
    assert Target("c -mcpu=native") == target


def test_a_core_that_is_not_the_boards_own_brings_its_runtime() -> None:
    target = Target("rasp4b -mcpu=cortex-m0")
    assert (target.runtime, Target("rasp4b").runtime) == ("standalone", "host")
    assert Target(target.key).key == target.key


def test_json_states_kind_and_attributes() -> None:
    value = json.loads(Target(M4).to_json())
    assert value == {
        "kind": "c",
        "arithmetic": "tflite",
        "input": "consumed",
        "input-layout": "file",
        "io": "file",
        "mcpu": "cortex-m4",
        "mfloat-abi": "hard",
        "mfpu": "fpv4-sp-d16",
        "opt": "balanced",
        "runtime": "standalone",
    }


def test_leaving_the_fpu_out_has_one_form() -> None:
    target = Target("c -mcpu=cortex-m4 -mfpu=none")
    assert target == Target("c -mcpu=cortex-m4+nofp")
    assert (target.get("mcpu"), target.get("mfloat-abi")) == ("cortex-m4+nofp", "soft")
    assert target != Target("c -mcpu=cortex-m4")


def test_a_target_is_no_string() -> None:
    assert Target(M4) != M4


REFUSED = [
    ("c -mcpu=cortx-m7", r"target 'c -mcpu=cortx-m7': -mcpu: core cortx-m7: unknown.*Did you mean cortex-m7"),
    ("c -mcup=cortex-m4", r"unknown attribute of kind c, got -mcup\. Did you mean mcpu"),
    ("c -mcpu=cortex-m4 -opt=fastest", r"-opt has a value that is not allowed, got fastest, .* balanced"),
    (
        "c -mcpu=cortex-m4 -runtime=hsot",
        r"-runtime has a value that is not allowed, got hsot, expected one of: standalone, host\. Write",
    ),
    ("c", r"target 'c': the core is missing, expected -mcpu=<core> or a board\. Add -mcpu=, one of: cortex-a53"),
    ("", r"target: empty, expected a kind or a board"),
    ("-opt=size", r"neither kind nor hardware, expected one of them\. Start with `c`, or a board"),
    ("c mcpu=cortex-m4", r"not an attribute, got 'mcpu=cortex-m4', expected -name=value\. Write it as in `-opt=size`"),
    ("c -mcpu", r"not an attribute, got '-mcpu', expected -name=value"),
    ("c -mcpu=cortex-m3 -mcpu=cortex-m4", r"-mcpu is given twice, got 'cortex-m4' and 'cortex-m3'\. Remove one"),
    ('c -mcpu="cortex-m3', r"No closing quotation\. Close the quotation mark"),
    ("c -mcpu=cortex-m4 -runtime=host", r"-runtime=host needs a core of host class, got cortex-m4, .* x86-64\. Use"),
    ("c -mcpu=cortex-m4 -mfloat-abi=soft", r"-mfloat-abi contradicts the FPU, got soft, expected hard for cortex-m4"),
    (
        "c -mcpu=cortex-m4 -mfpu=auto",
        r"-mfpu does not belong to the core, got auto, expected fpv4-sp-d16 for cortex-m4",
    ),
    ("c -mcpu=cortex-m4+nodsp", r"unknown modifier of cortex-m4, got \+nodsp, expected one of: nofp"),
    ({"kind": "c", "mcpu": 4}, r"-mcpu has the wrong type, got 4, expected str"),
    ({"mcpu": "cortex-m4"}, r"neither kind nor hardware"),
    (4, r"target: of the wrong type, got int, expected a string or a dict"),
]


@pytest.mark.parametrize(("spec", "text"), REFUSED, ids=[str(spec) for spec, _ in REFUSED])
def test_what_is_wrong_is_refused(spec: object, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        Target(spec)  # type: ignore[arg-type]


def test_json_that_is_none() -> None:
    with pytest.raises(TargetError, match=r"target: not JSON \(Expecting.*\), got 'c -mcpu', expected an object"):
        Target.from_json("c -mcpu")
    with pytest.raises(TargetError, match=r"of the wrong type, got list, expected a string or a dict"):
        Target.from_json("[]")
    with pytest.raises(TargetError, match=r"target: not JSON \(Expecting.*\), got '\{kind: c\}', expected an object"):
        Target("{kind: c}")
