"""Cores of packages: a core is a known core with more; a wrong one is left out with the reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from aboard import cli
from aboard.base import extensions
from aboard.boards import core_packages, cpu
from aboard.errors import TargetError
from aboard.kernels.select import measured
from aboard.target import Target
from support import added_packages, installed_plugins

CORE = """
from aboard.boards import AddedCore

CORE = AddedCore(interface=1, name="acme-m4", like="cortex-m4"{more})
"""
MORE = """, keys=frozenset({"acme_max4"}), features=frozenset({"max4"}),
    flags={"gcc": ("-DACME=1", "-mcpu=cortex-m4"), "zig": ("-DACME=2",)}"""
ENTRY = "[aboard.cores]\nacme-m4 = acme:CORE\n"


def write(folder: Path, text: str, name: str = "acme", entry: str = ENTRY) -> None:
    added_packages.write(folder, name, entry, {f"{name}.py": text})


def problem(folder: Path, name: str = "acme-m4") -> str:
    with added_packages.on_path(folder):
        (found,) = [each for each in core_packages.from_packages() if each.name == name and each.problem]
        return f"{found.source}: {found.problem}"


def test_a_core_is_a_known_one_with_more(tmp_path: Path) -> None:
    write(tmp_path, CORE.format(more=MORE))
    with added_packages.on_path(tmp_path):
        core, known = cpu.find("acme-m4"), cpu.find("cortex-m4")
        assert "acme-m4" in cpu.names()
        assert (core.arch, core.fpu, core.base, core.known_base) == (known.arch, known.fpu, "acme-m4", "cortex-m4")
        assert core.features == known.features | {"max4"}
        assert core.flags("gcc") == (*known.flags("gcc"), "-DACME=1", "-mcpu=cortex-m4")
        assert core.flags("zig") == (*known.flags("zig"), "-DACME=2")
        target = Target("c -mcpu=acme-m4")
        assert target.keys == {"acme_max4", "arm_dsp", "portable"}
        assert Target(str(target)) == target
        assert measured.nearest(target, is_float=False)[0] == "cortex-m4"
    with pytest.raises(TargetError, match="core acme-m4: unknown"):
        cpu.find("acme-m4")


def test_modifiers_are_those_of_the_known_core(tmp_path: Path) -> None:
    write(tmp_path, CORE.format(more="").replace("cortex-m4", "cortex-m33+nodsp"))
    with added_packages.on_path(tmp_path):
        assert cpu.find("acme-m4").flags("gcc")[0] == "-mcpu=cortex-m33+nodsp"
        soft = Target("c -mcpu=acme-m4 -mfpu=none").cpu
        assert (soft.name, soft.float_abi, soft.flags("gcc")[0]) == (
            "acme-m4+nofp",
            "soft",
            "-mcpu=cortex-m33+nodsp+nofp",
        )
        assert soft.features == cpu.find("cortex-m33+nodsp+nofp").features
        with pytest.raises(TargetError, match=r"unknown modifier of acme-m4, got \+nodsp, expected one of: nofp\."):
            cpu.find("acme-m4+nodsp")


def test_a_core_that_adds_nothing_is_compiled_as_the_known_one(tmp_path: Path) -> None:
    known = [*cpu.names(), "cortex-m7+nofp.dp", "cortex-m55+nomve", "cortex-m33+nodsp+nofp"]
    lines = [f'C{i} = AddedCore(interface=1, name="acme-{i}", like="{like}")' for i, like in enumerate(known)]
    entries = "\n".join(f"acme-{i} = acme:C{i}" for i in range(len(known)))
    write(tmp_path, "\n".join(["from aboard.boards import AddedCore", *lines]), entry=f"[aboard.cores]\n{entries}\n")
    with added_packages.on_path(tmp_path):
        for i, like in enumerate(known):
            core, other = cpu.find(f"acme-{i}"), cpu.find(like)
            for tool in ("gcc", "clang", "zig") if other.is_host_class else ("gcc", "zig"):
                assert core.flags(tool) == other.flags(tool), like
            assert (core.cross_compiler, core.runs_here) == (other.cross_compiler, other.runs_here)
            options = "-runtime=host " if other.has_host_compiler else ""
            assert Target(f"c {options}-mcpu={core.name}").keys == Target(f"c {options}-mcpu={like}").keys


def test_a_core_may_be_any_with_a_c_compiler(tmp_path: Path) -> None:
    write(tmp_path, CORE.format(more="").replace("cortex-m4", "generic"))
    with added_packages.on_path(tmp_path):
        core = cpu.find("acme-m4")
        assert (core.is_generic, core.cross_compiler, core.flags("gcc")) == (True, "cc", ())


WRONG = [
    (
        "import nowhere_at_all",
        r"acme 1\.0: acme:CORE cannot be imported, got ModuleNotFoundError: No module named 'nowhere_at_all'\. Repair",
    ),
    (
        "CORE = 3",
        r"acme:CORE is of the wrong type, got 3, expected aboard\.boards\.core_packages\.AddedCore\. Name one",
    ),
    (
        CORE.format(more="").replace("interface=1", "interface=2"),
        r"another version of the interface, got 2, expected 1",
    ),
    (
        CORE.format(more="").replace('"acme-m4"', '"other"'),
        r"acme:CORE has another name, got other, expected acme-m4\.",
    ),
    (
        CORE.format(more="").replace("cortex-m4", "cortex-m99"),
        r"core acme-m4: like: unknown core, got cortex-m99\. Did",
    ),
    (CORE.format(more="").replace("cortex-m4", "cortex-m4+nodsp"), r"unknown modifier of cortex-m4, got \+nodsp"),
    (
        CORE.format(more=', keys={"Acme!"}'),
        r"core acme-m4: keys: not a set of words, got Acme!, expected some as in acme_max4\. Change them",
    ),
    (
        CORE.format(more=', features="dsp"'),
        r"core acme-m4: features: not a set of words, got 'dsp', expected some as in",
    ),
    (
        CORE.format(more=', flags={"icc": ()}'),
        r"core acme-m4: flags: unknown compiler, got icc, expected one of: gcc, clang, zig\. Rename it",
    ),
    (
        CORE.format(more=', flags={"gcc": "-DACME"}'),
        r"core acme-m4: flags: gcc: not a tuple of flags, got '-DACME'\. Write them as in",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_core_is_left_out_with_the_reason(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(problem(tmp_path))


def test_a_name_that_is_taken_names_both(tmp_path: Path) -> None:
    write(tmp_path, CORE.format(more=""))
    write(tmp_path, CORE.format(more=""), "other", ENTRY.replace("acme:", "other:"))
    assert problem(tmp_path) == (
        "other 1.0: core acme-m4 of other 1.0: is taken by acme 1.0, expected a name of its own. Rename one of them"
    )
    with added_packages.on_path(tmp_path):
        assert cpu.find("acme-m4").like == "cortex-m4"


def test_the_name_of_a_core_of_aboard_is_taken(tmp_path: Path) -> None:
    write(tmp_path, CORE.format(more="").replace("acme-m4", "cortex-m7"), entry=ENTRY.replace("acme-m4", "cortex-m7"))
    assert "core cortex-m7 of acme 1.0: is taken by aboard, expected" in problem(tmp_path, "cortex-m7")
    write(tmp_path, CORE.format(more="").replace("acme-m4", "M_4"), "more", "[aboard.cores]\nM_4 = more:CORE\n")
    assert "core M_4: not a name of a core, expected lower case words" in problem(tmp_path, "M_4")


def test_commands_and_errors_name_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "import nowhere_at_all")
    with added_packages.on_path(tmp_path):
        with pytest.raises(
            TargetError, match=r"core acme-m4: unknown\. .* acme 1\.0 could not be loaded and may bring"
        ):
            cpu.find("acme-m4")
        assert cli.invoke(["targets", "--json"]) == 0
        (found,) = [p for p in json.loads(capsys.readouterr().out)["plugins"] if p["group"] == "aboard.cores"]
        assert (found["name"], found["source"], found["kinds"]) == ("acme-m4", "acme 1.0", [])
        assert "cannot be imported" in found["problem"]
        assert cli.invoke(["targets"]) == 0
        assert "acme-m4 (acme 1.0)" in capsys.readouterr().out.split("Plug-ins that could not be loaded")[1]
        cli.invoke(["doctor", "--json"])
        tools = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)["tools"]}
        assert (tools["acme-m4"]["purpose"], tools["acme-m4"]["found"]) == ("cores of acme 1.0", False)


def test_tests_leave_out_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, CORE.format(more=""))
    with added_packages.on_path(tmp_path):
        names = set(installed_plugins.disabled()[extensions.DISABLED].split(","))
        assert names == {"acme-m4", *filter(None, os.environ[extensions.DISABLED].split(","))}
        monkeypatch.setenv(extensions.DISABLED, ",".join(names))
        assert core_packages.from_packages() == ()
