"""Kernels of packages: used for their keys alone; a package that cannot be used is left out with the reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aboard import cli
from aboard.emit.bundle import kernel_headers
from aboard.errors import PluginError
from aboard.kernels import of, registry
from aboard.kernels.select import measured
from aboard.kernels.select.specific import generality
from support import added_packages

CORES = "[aboard.cores]\nacme-m4 = acme:CORE\n"
KERNELS = "[aboard.kernels]\nacme = acme:KERNELS\n"
PACKAGE = """
from pathlib import Path

from aboard.boards import AddedCore
from aboard.kernels import KernelPackage
from aboard.kernels.portable.arithmetic import AddS8

class AddAcme(AddS8):
    name = "acme_s8"
    keys = frozenset({"acme_max4"})

class Abstract(AddAcme):
    name = "abstract"

    def __init__(self):
        raise TypeError("nobody makes one")

HERE = Path(__file__).parent
CORE = AddedCore(interface=1, name="acme-m4", like="cortex-m4", keys=frozenset({"acme_max4"}))
KERNELS = KernelPackage(1, (AddAcme,), headers=HERE / "acme_headers", keys=frozenset(["acme_max4"]))
"""
OWN = 'keys=frozenset(["acme_max4"]))'
HEADER = '#include "../portable/arithmetic.h"\n#include "more.h"\n'
FILES = {"acme_headers/acme_max4/add.h": HEADER, "acme_headers/acme_max4/more.h": "/* more */\n"}
ROW = {"core": "acme-m4", "op": "add", "implementation": "acme_s8", "layers": 3, "element": 1.25, "cycles_element": 1.5}


def write(folder: Path, text: str = PACKAGE, **files: str) -> None:
    added_packages.write(folder, "acme", CORES + KERNELS, {"acme.py": text, **FILES, **files})


def problem(folder: Path, name: str = "acme") -> str:
    with added_packages.on_path(folder):
        (found,) = [each for each in registry.from_packages() if each.name == name and each.problem]
        return f"{found.source}: {found.problem}"


def test_kernels_join_those_of_aboard(tmp_path: Path) -> None:
    before = [kernel.name for kernel in of("add")]
    write(tmp_path)
    with added_packages.on_path(tmp_path):
        assert sorted([*before, "acme_s8"]) == [kernel.name for kernel in of("add")]
        (kernel,) = [kernel for kernel in of("add") if kernel.name == "acme_s8"]
        others = [generality(other) for other in of("add") if other is not kernel]
        assert generality(kernel) < min(others)
    assert [kernel.name for kernel in of("add")] == before


def test_headers_come_with_what_they_include(tmp_path: Path) -> None:
    write(tmp_path)
    with added_packages.on_path(tmp_path):
        headers = kernel_headers(["acme_max4/add.h"])
        assert headers["src/kernels/acme_max4/add.h"] == HEADER
        assert headers["src/kernels/acme_max4/more.h"] == "/* more */\n"
        assert headers.items() >= kernel_headers(["portable/arithmetic.h"]).items()


def test_a_header_that_is_not_there_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "acme_headers/acme_max4/more.h").unlink()
    with added_packages.on_path(tmp_path), pytest.raises(PluginError, match=r"header acme_max4/more\.h: no such file"):
        kernel_headers(["acme_max4/add.h"])


def test_measurements_of_a_package_count(tmp_path: Path) -> None:
    text = PACKAGE.replace(OWN, f'measurements=HERE / "costs.json", {OWN}')
    write(tmp_path, text, **{"costs.json": json.dumps([ROW])})
    with added_packages.on_path(tmp_path):
        assert registry.measurements()[-1].core == "acme-m4"
        cores = [row.core for row in measured.kernels()]
        (row, *_) = measured.by_likeness(registry.measurements(), sorted(set(cores)), "add", "acme_s8")
        assert row.instructions == {"element": 1.25}
    wrong = {**ROW, "implementation": "portable_s8"}
    (tmp_path / "costs.json").write_text(json.dumps([wrong]))
    measured.kernels_of.cache_clear()
    assert "costs.json: add portable_s8: is not a kernel of the package. Remove the row" in problem(tmp_path)
    (tmp_path / "costs.json").write_text(json.dumps([{**ROW, "core": "generic"}]))
    measured.kernels_of.cache_clear()
    assert "costs.json: add acme_s8: generic is like no measured core, expected one of: cortex-m0" in problem(tmp_path)
    measured.kernels_of.cache_clear()


WRONG = [
    ("import nowhere_at_all", r"acme 1\.0: acme:KERNELS cannot be imported, got ModuleNotFoundError"),
    (PACKAGE.replace("KernelPackage(1,", "KernelPackage(2,"), r"another version of the interface, got 2, expected 1"),
    (
        PACKAGE.replace('frozenset({"acme_max4"})\n\n', 'frozenset({"acme_max5"})\n\n'),
        r"kernel acme_s8 of add: unknown key, got acme_max5\. Add it to the package's keys\. Did you mean acme_max4",
    ),
    (PACKAGE.replace(OWN, 'keys={"arm_dsp"})'), r"key arm_dsp: is one of aboard, expected a name of its own"),
    (
        PACKAGE.replace(OWN, 'keys={"acme_max4": 110})'),
        r"keys: of the wrong type, got the priorities {'acme_max4': 110}, expected a set of names: costs decide",
    ),
    (PACKAGE.replace(OWN, 'keys="acme")'), r"keys: of the wrong type, got 'acme', expected a set of names\. Write a"),
    (
        PACKAGE.replace('"acme_s8"', '"portable_s8"'),
        r"kernel portable_s8 of add of acme 1\.0: is taken by aboard, expected a name of its own\. Rename one of them",
    ),
    (PACKAGE.replace("(AddAcme,)", "(AddAcme, AddAcme)"), r"kernel acme_s8 of add of acme 1\.0: is taken by acme 1\.0"),
    (PACKAGE.replace("(AddAcme,)", "(AddAcme, Abstract)"), r"got TypeError: nobody makes one\. Repair or remove it"),
    (
        PACKAGE.replace('name = "acme_s8"', 'name, op = "acme_s8", "ad"'),
        r"kernel acme_s8 of ad: unknown op, got ad\. Did you mean pad, add",
    ),
    (
        PACKAGE.replace('"acme_headers"', '"elsewhere"'),
        r"headers: not a folder, got \S+elsewhere, expected that of the C",
    ),
    (
        PACKAGE.replace("(AddAcme,)", "(int,)"),
        r"implementations: of the wrong type, got <class 'int'>, expected a class",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_package_is_left_out_with_the_reason(text: str, message: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(problem(tmp_path))


def test_clashes_of_two_packages_name_both(tmp_path: Path) -> None:
    write(tmp_path)
    other = PACKAGE.replace("acme_headers", "other_headers")
    more = {"other_headers/other/add.h": "", "other.py": other}
    added_packages.write(tmp_path, "other", KERNELS.replace("acme", "other"), more)
    taken = "other 1.0: kernel acme_s8 of add of other 1.0: is taken by acme 1.0, expected a name of its own"
    assert taken in problem(tmp_path, "other")
    (tmp_path / "other.py").write_text(
        other.replace('"acme_s8"', '"other_s8"').replace("other_headers", "acme_headers")
    )
    taken = "header acme_max4/add.h of other 1.0: is taken by acme 1.0, expected a path of its own. Rename its folder"
    assert taken in problem(tmp_path, "other")


def test_a_header_of_aboard_is_taken(tmp_path: Path) -> None:
    write(tmp_path, **{"acme_headers/portable/clamp.h": ""})
    assert "header portable/clamp.h of acme 1.0: is taken by aboard" in problem(tmp_path)


def test_commands_name_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, PACKAGE.replace(OWN, 'keys={"acme_max4": 110})'))
    with added_packages.on_path(tmp_path):
        assert cli.invoke(["targets"]) == 0
        assert "keys: of the wrong type, got the priorities" in " ".join(capsys.readouterr().out.split())
        cli.invoke(["doctor", "--json"])
        tools = {tool["name"]: tool for tool in json.loads(capsys.readouterr().out)["tools"]}
        assert (tools["acme"]["purpose"], tools["acme"]["kind"]) == ("kernels of acme 1.0", "package")
