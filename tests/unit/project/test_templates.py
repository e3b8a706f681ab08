"""Templates: what their files say, and which options are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.base import resources
from aboard.errors import ProjectError
from aboard.project import templates
from aboard.project.templates import Option


def test_templates_are_the_folders_with_a_description():
    assert templates.names() == [
        "arduino", "baremetal", "cmake-lib", "cmsis-pack", "esp-idf", "makefile", "native", "platformio", "zephyr",
    ]  # fmt: skip
    for name in templates.names():
        template = templates.load(name)
        assert template.name == name
        assert template.description
        assert template.needs
        assert all(option.help for option in template.options.values())


def test_options_have_the_defaults_that_the_manual_states():
    values = templates.load("baremetal").parse_options({})
    assert values == {
        "profile": True,
        "trace": False,
        "run_op": False,
        "input_copy": True,
        "application": False,
        "stack_bytes": 4096,
        "frame_bytes": 512,
        "receive_bytes": 1024,
        "baud": 0,
        "power_pin": False,
        "power_pin_layers": False,
        "protocol": "rpc",
        "mlperf_model": "auto",
    }
    kinds = [type(value) for value in values.values()]
    assert [kinds.count(kind) for kind in (bool, int, str)] == [7, 4, 2]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"trace": "on"}, True),
        ({"trace": True}, True),
        ({"trace": "OFF"}, False),
        ({"trace": "no"}, False),
    ],
)
def test_switches(given, expected):
    assert templates.load("baremetal").parse_options(given)["trace"] is expected


@pytest.mark.parametrize(("text", "expected"), [("2048", 2048), ("0x800", 2048), (2048, 2048)])
def test_numbers(text, expected):
    assert templates.load("baremetal").parse_options({"stack_bytes": text})["stack_bytes"] == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tap": "on"}, "template baremetal: unknown option tap. Did you mean trace"),
        ({"trace": "maybe"}, "option trace has a wrong value, got maybe, expected on or off"),
        ({"trace": 1}, "option trace has a wrong value, got 1, expected on or off"),
        ({"stack_bytes": "many"}, "option stack_bytes .* got many, expected a whole number from 512 to 1048576"),
        ({"stack_bytes": 100}, "option stack_bytes .* got 100, expected a whole number from 512"),
        ({"stack_bytes": True}, "option stack_bytes .* got True, expected a whole number"),
        ({"receive_bytes": 1000}, "option receive_bytes .* got 1000, expected a power of two from 32 to 65536"),
        ({"frame_bytes": 70000}, "option frame_bytes .* got 70000, expected a whole number from 128 to 65535"),
    ],
)
def test_wrong_options_are_named(given, message):
    with pytest.raises(ProjectError, match=message):
        templates.load("baremetal").parse_options(given)


def test_choices():
    option = Option(type="choice", default="a", help="which", values=("a", "b"))
    assert option.parse("b") == "b"
    assert option.parse("c") is None
    assert option.allowed == "a or b"


def test_unknown_template_is_refused_with_the_nearest():
    with pytest.raises(ProjectError, match=r"template baremetl: unknown\. Did you mean baremetal"):
        templates.load("baremetl")


def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "template.toml").write_text(text)
    monkeypatch.setattr(resources, "project_templates", lambda: tmp_path)


def test_a_template_is_one_folder(tmp_path, monkeypatch):
    _folder(
        tmp_path,
        monkeypatch,
        'name = "mine"\ndescription = "d"\nruns_on = "host"\nneeds = ["n"]\nprints = "p"\nimage = "i"\nfirmware = []\n'
        '[options.speed]\ntype = "int"\ndefault = 3\nhelp = "h"\n',
    )
    (tmp_path / "mine" / "sub").mkdir()
    (tmp_path / "mine" / "sub" / "a.txt.j2").write_text(
        "speed {{ options.speed }}\n{% if options.speed > 2 %}\nfast\n{% endif %}\n"
    )
    template = templates.load("mine")
    assert template.render({"options": template.parse_options({"speed": "4"})}) == {"sub/a.txt": "speed 4\nfast\n"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 3\n", r"template\.toml: name: Input should be a valid string"),
        ("name = \n", r"template\.toml: cannot be read"),
        ('name = "mine"\noptions_from = ["nothing.toml"]\n', r"template\.toml: cannot be read, got .*nothing\.toml"),
    ],
)
def test_a_broken_template_is_named(tmp_path, monkeypatch, text, message):
    _folder(tmp_path, monkeypatch, text)
    with pytest.raises(ProjectError, match=message):
        templates.load("mine")
