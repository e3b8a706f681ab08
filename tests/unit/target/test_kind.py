"""Kinds: typed attributes, and the registry."""

from __future__ import annotations

import pytest

from aboard.errors import TargetError
from aboard.target import Attribute, Kind, Value, kind, kinds, plugins, register

NUMBER = Attribute("lanes", "Lanes of the unit", type=int, default=4, allowed=(2, 4, 8))
SWITCH = Attribute("dma", "Whether it copies by itself", type=bool, default=False)
NEEDED = Attribute("name", "Name of the part")
DEMO = Kind("demo", "For this test", "accelerator", (NUMBER, SWITCH, NEEDED))


@pytest.mark.parametrize(("text", "value"), [("8", 8), ("0x2", 2), (4, 4)])
def test_numbers(text: object, value: int) -> None:
    assert NUMBER.parse(text, "target") == value


@pytest.mark.parametrize(("text", "value"), [("on", True), ("False", False), (True, True), ("0", False)])
def test_switches(text: object, value: bool) -> None:
    assert SWITCH.parse(text, "target") is value


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        (
            NUMBER,
            "many",
            r"target: -lanes has the wrong type, got 'many', expected int\. Change the value; .*: Lanes of the unit",
        ),
        (NUMBER, True, r"-lanes has the wrong type, got True, expected int"),
        (NUMBER, 2.5, r"-lanes has the wrong type, got 2\.5, expected int"),
        (NUMBER, "3", r"-lanes has a value that is not allowed, got 3, expected one of: 2, 4, 8\."),
        (SWITCH, "perhaps", r"-dma has the wrong type, got 'perhaps', expected bool"),
        (NEEDED, "", r"-name has the wrong type, got '', expected str"),
        (NEEDED, 3, r"-name has the wrong type, got 3, expected str"),
    ],
)
def test_wrong_values_are_refused(attribute: Attribute, value: object, text: str) -> None:
    with pytest.raises(TargetError, match=text):
        attribute.parse(value, "target")


def test_resolve_fills_in_defaults_and_sorts() -> None:
    resolved = DEMO.resolve({"name": "x"}, "target")
    assert list(resolved.items()) == [("dma", False), ("lanes", 4), ("name", "x")]


def test_a_kind_checks_attributes_together() -> None:
    def both(attrs: dict[str, Value], where: str) -> dict[str, Value]:
        if attrs.get("dma") and attrs.get("lanes", 4) == 2:
            raise TargetError(f"{where}: two lanes cannot copy")
        return attrs

    checked = Kind("demo", "For this test", "accelerator", (NUMBER, SWITCH), complete=both)  # type: ignore[arg-type]
    assert checked.resolve({"dma": "on"}, "t") == {"dma": True, "lanes": 4}
    with pytest.raises(TargetError, match="t: two lanes cannot copy"):
        checked.resolve({"dma": "on", "lanes": "2"}, "t")


def test_unknown_attribute_names_the_nearest() -> None:
    with pytest.raises(
        TargetError,
        match=r"target: unknown attribute of kind demo, got -lane\. Did you mean lanes.*`aboard targets show demo`",
    ):
        DEMO.resolve({"lane": "2"}, "target")


def test_the_registry_has_each_name_once() -> None:
    assert kinds() == ["c", "cmsis-nn", "composite"]
    assert kind("c").device_type == "cpu"
    with pytest.raises(TargetError, match="kind c: is registered twice, expected a name of its own"):
        register(kind("c"))


def kind_of(*attributes: Attribute, name: str = "demo", device_type: str = "accelerator") -> Kind:
    return Kind(name, "For this test", device_type, attributes)


WRONG_KINDS = [
    (kind_of(name="My NPU"), r"kind 'My NPU': not a name of a kind, expected lower case words as in my-npu\. Rename"),
    (kind_of(name="4lanes"), r"kind '4lanes': not a name of a kind"),
    (
        kind_of(device_type="npu"),
        r"kind demo: unknown device type, got 'npu', expected one of: cpu, accelerator, library, composite\. Choose",
    ),
    (
        kind_of(Attribute("Lanes", "x")),
        r"kind demo: not a name of an attribute, got 'Lanes', expected words as in ram-max",
    ),
    (kind_of(NUMBER, NUMBER), r"kind demo: -lanes is there twice, expected a name of its own\. Rename one of them"),
    (kind_of(Attribute("claim-ops", "x")), r"kind demo: -claim-ops is an attribute of every kind, got another of that"),
    (
        kind_of(Attribute("rate", "x", type=float)),  # type: ignore[arg-type]
        r"kind demo: -rate: unknown type, got <class 'float'>, expected one of: str, int, bool\. Choose one",
    ),
    (
        kind_of(Attribute("lanes", "x", type=int, default="4")),
        r"kind demo: -lanes: the default is of the wrong type, got '4', expected int\. Change the value, or the type",
    ),
    (
        kind_of(Attribute("lanes", "x", type=int, default=True)),
        r"kind demo: -lanes: the default is of the wrong type, got True, expected int",
    ),
    (
        kind_of(Attribute("dma", "x", type=bool, default=0)),
        r"-dma: the default is of the wrong type, got 0, expected bool",
    ),
    (
        kind_of(Attribute("part", "x", default="")),
        r"-part: the default is of the wrong type, got '', expected str that is not empty\. Change the value",
    ),
    (
        kind_of(Attribute("lanes", "x", type=int, allowed=(2, "4"))),
        r"kind demo: -lanes: the allowed value is of the wrong type, got '4', expected int",
    ),
    (
        kind_of(Attribute("part", "x", allowed=())),
        r"kind demo: -part: allows no value, got \(\), expected some, or None",
    ),
    (
        kind_of(Attribute("lanes", "x", type=int, default=3, allowed=(2, 4))),
        r"kind demo: -lanes: the default is not allowed, got 3, expected one of: 2, 4\. Change the default, or",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG_KINDS)
def test_a_wrong_kind_is_refused_when_it_is_registered(wrong: Kind, message: str) -> None:
    with plugins.restored():
        with pytest.raises(TargetError, match=message):
            register(wrong)
        assert "demo" not in kinds()


def test_a_right_kind_is_registered() -> None:
    with plugins.restored():
        assert register(kind_of(NUMBER, SWITCH, NEEDED)) is kind("demo")


def test_unknown_kind() -> None:
    with pytest.raises(TargetError, match=r"unknown kind or hardware d\. Choose one of: c, cmsis-nn, composite\."):
        kind("d")


def test_every_attribute_of_c_has_help_and_a_way_to_its_value() -> None:
    schema = kind("c").schema
    own = [attribute.name for attribute in kind("c").attributes]
    names = [
        "arena",
        "arithmetic",
        "flash-max",
        "hardware",
        "input",
        "input-layout",
        "io",
        "mcpu",
        "mfloat-abi",
        "mfpu",
        "opt",
        "ram-max",
        "runtime",
        "state",
        "weights",
    ]
    assert sorted(own) == names
    assert set(schema) - set(own) == {"claim-nodes", "claim-ops"}
    assert all(attribute.help for attribute in schema.values())
    implied = {name for name, attribute in schema.items() if attribute.default is None and attribute.implied}
    assert implied == {"mcpu", "mfloat-abi", "mfpu", "runtime"}
    assert (schema["opt"].default, schema["input"].default) == ("balanced", "consumed")
