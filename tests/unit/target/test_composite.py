"""Composite targets: their forms, their errors, aliases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from aboard import boards
from aboard.errors import TargetError
from aboard.target import Attribute, Kind, Target, alias, kind, plugins, register
from aboard.target.lookup import aliases

HOST = "c -mcpu=cortex-m4"
SPEC = {"kind": "composite", "host": HOST, "devices": ["fake -model=v2", "cmsis-nn"]}
TEXT = (
    "composite -device='fake -lanes=4 -model=v2' -device=cmsis-nn -host='c -arithmetic=tflite "
    "-input=consumed -input-layout=file -io=file -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -opt=balanced "
    "-runtime=standalone' -partition=order"
)
FAKE = Kind(
    "fake",
    "An accelerator of these tests",
    "accelerator",
    (
        Attribute("model", "Version", default="v1", allowed=("v1", "v2"), identity=True),
        Attribute("lanes", "Lanes", type=int, default=4),
        Attribute("path", "A folder"),
    ),
    subgraph_only=True,
)


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    with plugins.restored():
        register(FAKE)
        yield


def same(a: object, b: object) -> bool:
    first, second = Target(a), Target(b)  # type: ignore[arg-type]
    return first == second and hash(first) == hash(second) and str(first) == str(second)


def test_all_forms_are_one_target() -> None:
    assert str(Target(SPEC)) == TEXT
    for other in (TEXT, f"{HOST} + fake -model=v2 + cmsis-nn", {**SPEC, "host": Target(HOST)}, Target(SPEC)):
        assert same(other, SPEC)
    assert Target.from_json(Target(SPEC).to_json()) == Target(SPEC)
    assert json.loads(Target(SPEC).to_json())["devices"] == ["fake -lanes=4 -model=v2", "cmsis-nn"]


CHIP = """
name = "Chip"
source = "Data sheet"
cores = [{ name = "big", mcpu = "cortex-m7" }, { name = "little", mcpu = "cortex-m0" }]
memory = [
    { name = "flash", kind = "flash", address = 0, size_bytes = 4096, load = true },
    { name = "ram", kind = "ram", address = 0x2000_0000, size_bytes = 4096, data = true },
]

[[accelerators]]
kind = "fake"
attributes = { model = "v2", lanes = 16, unheard-of = 1 }
cores = ["big"]

[[accelerators]]
kind = "fake"
attributes = { model = "v2" }
configurable = ["model"]
cores = ["little"]
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A board whose SoC file states accelerators."""
    board = 'name = "Board"\nsoc = "acme/chip"\nsource = "Schematic"\n'
    for name, text in (("acme/board", board), ("soc/acme/chip", CHIP)):
        path = tmp_path / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path))


@pytest.mark.usefixtures("acme")
def test_the_board_of_the_host_states_attributes_of_a_device() -> None:
    for target in ("acme/board + fake", "acme/board:big + fake -model=v2"):
        assert str(Target(target).devices[0]) == "fake -lanes=16 -model=v2"
        assert same(str(Target(target)), target)
    assert str(Target("acme/board + fake -lanes=8").devices[0]) == "fake -lanes=8 -model=v2"
    assert str(Target({**SPEC, "host": "acme/board", "devices": ["fake"]}).devices[0]) == "fake -lanes=16 -model=v2"
    assert str(Target("acme/board:little + fake -model=v1").devices[0]) == "fake -lanes=4 -model=v1"
    assert Target("acme/board:big").devices == ()


@pytest.mark.usefixtures("acme")
def test_a_device_that_the_board_does_not_have_is_refused() -> None:
    message = (
        r"-model is not that of acme/board:big, got v1, expected v2: its fake does not run code for another\. "
        "Leave -model out"
    )
    with pytest.raises(TargetError, match=message):
        Target("acme/board + fake -model=v1")
    with pytest.raises(TargetError, match=message):
        Target({**SPEC, "host": "acme/board", "devices": [Target("fake -model=v1", as_device=True)]})


def test_parts_may_be_dicts_and_values_may_have_blanks_and_quotes() -> None:
    odd = {"kind": "fake", "path": "/a b/it's + c"}
    target = Target({"kind": "composite", "host": {"kind": "c", "mcpu": "cortex-m4"}, "devices": [odd]})
    assert target.devices[0].get("path") == "/a b/it's + c"
    assert same(str(target), target)
    assert Target.from_json(target.to_json()) == target


def test_the_host_answers_for_the_whole() -> None:
    target = Target({**SPEC, "host": "c -mcpu=cortex-m55 -opt=size -input=kept"})
    assert (target.cpu.name, target.opt, target.input_mode, target.runtime) == (
        "cortex-m55",
        "size",
        "kept",
        "standalone",
    )
    assert target.keys == {"portable", "arm_dsp", "arm_mve"}
    assert target.hardware is None
    assert Target({**SPEC, "host": "arm/mps2_an386"}).hardware == "arm/mps2_an386"
    assert (target.get("partition"), target.get("opt"), target.get("nothing")) == ("order", "size", None)
    assert [device.get("model") for device in target.devices] == ["v2", None]
    plain = Target(HOST)
    assert plain.host is plain
    assert plain.devices == ()


def test_order_of_devices_and_way_of_partition_matter() -> None:
    assert Target({**SPEC, "devices": ["cmsis-nn", "fake -model=v2"]}) != Target(SPEC)
    assert Target({**SPEC, "partition": "cost"}) != Target(SPEC)
    assert Target({**SPEC, "partition": "order"}) == Target(SPEC)


def test_the_key_has_what_measurements_depend_on() -> None:
    key = Target(SPEC).key
    assert key == "composite -device='fake -model=v2' -device=cmsis-nn -host='c -mcpu=cortex-m4'"
    assert Target(key).key == key
    assert Target({**SPEC, "host": f"{HOST} -opt=size"}).key == key
    assert Target({**SPEC, "devices": ["fake -model=v1", "cmsis-nn"]}).key != key


def test_targets_have_an_order() -> None:
    ordered = sorted([Target(SPEC), Target("c -mcpu=cortex-m7"), Target(HOST)])
    assert [str(target).split()[0] for target in ordered] == ["c", "c", "composite"]
    assert ordered[0] == Target(HOST)


def test_overridden_changes_the_host() -> None:
    changed = Target(SPEC).overridden({"opt": "size"})
    assert same(changed, {**SPEC, "host": f"{HOST} -opt=size"})
    assert Target(HOST).overridden({"opt": "size"}) == Target(f"{HOST} -opt=size")


REFUSED = [
    ({"kind": "cmsis-nn"}, r"kind cmsis-nn can only be a device of a composite target, got it alone"),
    ({**SPEC, "host": "fake"}, r"the host is not a CPU, got kind fake, expected one of: c\. Name it among the devices"),
    ({"kind": "composite", "devices": ["fake"]}, r"the host is missing, expected -host=\. Add the CPU that calls"),
    ({**SPEC, "devices": []}, r"no device is given, expected one or more\. Add one, or use the host alone"),
    ({**SPEC, "devices": "fake"}, r"devices are of the wrong type, got 'fake', expected a list of targets"),
    ({**SPEC, "devices": [4]}, r"a device is of the wrong type, got 4, expected a target"),
    ({**SPEC, "devices": ["fake", "fake -model=v1"]}, r"two devices are the same, got fake -lanes=4 -model=v1 twice\."),
    ({**SPEC, "devices": [SPEC]}, r"a device is composite itself, expected a target without devices\. Name its host"),
    ({**SPEC, "devices": ["fke"]}, r"a device: target 'fke': unknown kind or hardware fke\. Did you mean fake"),
    ({**SPEC, "devices": ["fake -lanes=few"]}, r"a device: .*-lanes has the wrong type, got 'few', expected int"),
    ({**SPEC, "partition": "random"}, r"-partition has a value that is not allowed, got random, .* order, cost"),
    ({**SPEC, "opt": "size"}, r"unknown attribute of kind composite, got -opt\."),
    (f"{HOST} +", r"nothing stands beside a \+, expected a target\. Write it as in `c -mcpu=cortex-m4 \+ cmsis-nn`"),
]


@pytest.mark.parametrize(("spec", "text"), REFUSED, ids=[str(number) for number in range(len(REFUSED))])
def test_what_is_wrong_is_refused(spec: object, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        Target(spec)  # type: ignore[arg-type]


def test_the_composite_that_is_proposed_works() -> None:
    with pytest.raises(TargetError) as caught:
        Target("fake -model=v2")
    assert str(caught.value) == (
        "target 'fake -model=v2': kind fake can only be a device of a composite target, got it alone. Write "
        '{"kind": "composite", "host": "c -mcpu=cortex-m4", "devices": ["fake -model=v2"]} with your core, '
        "or `c -mcpu=cortex-m4 + fake -model=v2`"
    )
    proposed = str(caught.value).split("Write ")[1].split(" with your core")[0]
    assert Target(json.loads(proposed)).devices == (Target("fake -model=v2", as_device=True),)


def test_aliases_of_the_package() -> None:
    assert same("cortex-m4-cmsis-nn", "c -mcpu=cortex-m4 + cmsis-nn")
    assert same("cortex-m4-cmsis-nn -opt=size", "c -mcpu=cortex-m4 -opt=size + cmsis-nn")
    assert "cortex-m55-cmsis-nn" in aliases()


def test_an_alias_stands_for_any_target_and_takes_attributes() -> None:
    alias("mine", "arm/mps2_an386 -opt=size")
    alias("ours", "mine -input=kept")
    alias("both", {"kind": "composite", "host": "ours", "devices": ["fake"]})
    assert same("ours -opt=speed", "arm/mps2_an386 -opt=speed -input=kept")
    assert same("both -partition=cost -opt=speed", "composite -host='ours -opt=speed' -device=fake -partition=cost")


def test_aliases_that_clash_or_go_in_circles() -> None:
    alias("round", "about -opt=size")
    alias("about", "round")
    with pytest.raises(TargetError, match=r"alias is cyclic, got round -> about -> round, expected a kind or a board"):
        Target("round")
    alias("round", "about -opt=size")
    with pytest.raises(TargetError, match=r"alias round: is taken by the alias of about -opt=size, expected a name"):
        alias("round", HOST)
    with pytest.raises(TargetError, match=r"alias c: is taken by a kind, expected a name of its own\. Rename one"):
        alias("c", HOST)
    with pytest.raises(TargetError, match=r"alias arm/mps2_an386: is taken by a board"):
        alias("arm/mps2_an386", HOST)
    with pytest.raises(TargetError, match=r"alias 'two words': not a name, expected one word without a leading -"):
        alias("two words", HOST)


def test_the_kind_describes_itself() -> None:
    assert list(kind("composite").schema) == ["device", "host", "partition", "ram-cycles"]
    assert all(attribute.help for attribute in kind("composite").schema.values())
