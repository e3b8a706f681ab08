"""The manual of cores from outside: its package is put where Python finds it, and its kernel computes on its core."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import aboard as aboard_package
from aboard import boards, cli
from aboard.base import extensions
from aboard.errors import PluginError, TargetError
from aboard.kernels import of
from aboard.target import Target
from support import added_packages, markdown, warm_start
from support.tflite_builder import ModelBuilder

PAGE = "docs/how-to/adding_a_core.md"
TEXT = (markdown.CHECKOUT / PAGE).read_text(encoding="utf-8")
FILES = {
    match[1]: text for _, text in markdown.blocks(PAGE) if (match := re.match(r"(?:#|/\*) (\S+\.\w+)(?: \*/)?\n", text))
}

Desk = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A folder with the files of the page; the environment has its package as good as installed."""
    folder = tmp_path_factory.mktemp("page")
    table = re.findall(r'entry-points\."([\w.]+)"\]\n(.*)\n', FILES["pyproject.toml"])
    entries = "".join(f"[{group}]\n{entry.replace(chr(34), '')}\n" for group, entry in table)
    added_packages.write(folder, "acme-ax4", entries, FILES)
    build = ModelBuilder()
    for name in "xyz":
        build.tensor(name, (1, 9, 7, 5), np.int8, scale=0.1, zero_point=3)
    (folder / "larger.tflite").write_bytes(build.op("MAXIMUM", ["x", "y"], ["z"]).build(["x", "y"], ["z"]))
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return folder, {**os.environ, "PYTHONPATH": path, boards.SEARCH_PATH: str(folder / "boards")}


def aboard(desk: Desk, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    folder, environment = desk
    line = [*warm_start.program(), *words]
    return subprocess.run(
        line, cwd=folder, env={**environment, **variables}, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def here(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder, with its package in this process."""
    monkeypatch.chdir(desk[0])
    with added_packages.on_path(desk[0]):
        yield desk[0]


def words_of(text: str) -> set[tuple[str, ...]]:
    """Returns the words of each line of a table, whose columns are as wide as the terminal lets them; without rules."""
    return {tuple(line.split()) for line in text.splitlines() if not line.startswith("-")}


def test_the_commands_of_the_page(here: Path, desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    (shell,) = [text for language, text in markdown.blocks(PAGE) if language == "sh"]
    *lines, verify = [shlex.split(line)[1:] for line in markdown.commands(shell)]
    printed = []
    for words in lines:
        assert cli.invoke(words) == 0
        printed.append(capsys.readouterr().out)
    shown, on_its_core, elsewhere = printed
    assert re.search(r"^kernels +acme_max4, arm_dsp, portable$", shown, re.MULTILINE)
    (table,) = [text for language, text in markdown.blocks(PAGE) if language == "text"]
    assert words_of(table) <= words_of(on_its_core)
    assert re.search(r"acme_max4_s8 +needs one of acme_max4", elsewhere)
    assert re.search(r"-> +portable +the only one that can", elsewhere)
    done = aboard(desk, *verify)
    assert done.returncode == 0, done.stderr
    assert "result     0 differing bytes, largest difference 0" in done.stdout


def test_the_bundle_has_the_header_on_its_core_alone(here: Path) -> None:
    for core, expected in (("acme-m4", True), ("cortex-m4", False)):
        module = aboard_package.compile(here / "larger.tflite", target=f"c -mcpu={core}")
        assert ("src/kernels/acme_max4/maximum.h" in module.files) == expected
        assert ("acme_maximum_s8" in module.files["src/larger.c"]) == expected
        assert "src/kernels/portable/binary.h" in module.files


def test_a_kernel_that_fails_is_blamed_on_its_package(desk: Desk) -> None:
    kernels = desk[0] / "acme_kernels/__init__.py"
    kernels.write_text(FILES["acme_kernels/__init__.py"].replace("call = super()", "1 // 0\n        call = super()"))
    try:
        with (
            added_packages.on_path(desk[0]),
            pytest.raises(
                PluginError, match=r"acme-ax4 1\.0: the package failed, got ZeroDivisionError: .* \(entry point "
            ),
        ):
            aboard_package.compile(desk[0] / "larger.tflite", target="c -mcpu=acme-m4")
    finally:
        kernels.write_text(FILES["acme_kernels/__init__.py"])


# That the page's project builds shows the same: the header refuses to be compiled without the flag.
@pytest.mark.skipif(not os.environ.get("ABOARD_FULL"), reason="builds a project that fails")
def test_without_the_flags_the_header_is_refused(desk: Desk) -> None:
    assert "#error" in FILES["acme_kernels/headers/acme_max4/maximum.h"]
    (desk[0] / "acme_core.py").write_text(FILES["acme_core.py"].replace("-DACME_MAX4=1", "-DACME_OTHER=1"))
    try:
        failed = aboard(desk, "deploy", "larger.tflite", "--board", "acme/kit", "-o", "failed")
    finally:
        (desk[0] / "acme_core.py").write_text(FILES["acme_core.py"])
    assert failed.returncode != 0
    assert "acme_max4/maximum.h is for -mcpu=acme-m4" in failed.stderr


def test_a_disabled_package_is_left_out(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disabled,) = re.findall(r"`ABOARD_DISABLED_PLUGINS=(\S+)`", TEXT)
    monkeypatch.setenv(extensions.DISABLED, f"{disabled},{os.environ.get(extensions.DISABLED, '')}")
    with pytest.raises(TargetError, match=r"core acme-m4: unknown\. Use -mcpu=generic"):
        Target("c -mcpu=acme-m4")
    assert "acme_max4_s8" not in {kernel.name for kernel in of("maximum")}
