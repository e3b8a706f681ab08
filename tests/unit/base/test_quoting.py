"""Foreign text in generated files stays text, whatever it is: it is compiled, parsed and rendered here."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard import compile as compile_model
from aboard.base import printable, quoting
from aboard.importers import load
from support.foreign import NAMES, TEXTS, model_with

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror")


def built(source: str, folder: Path, *include: Path) -> bytes:
    """Compiles a C program with all warnings as errors, and returns what it prints."""
    (folder / "main.c").write_text(source, encoding="ascii")
    command = ["gcc", *WARNINGS, *(f"-I{path}" for path in include), str(folder / "main.c"), "-o", str(folder / "main")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([folder / "main"], capture_output=True, check=True).stdout


@given(st.lists(TEXTS, min_size=60, max_size=60))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_c_strings_and_comments_hold_any_text(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    lines = ["#include <stdio.h>", "int main(void) {"]
    for text in texts:
        lines += [f"    // {quoting.c_comment(text)}", f"    /* {quoting.c_comment(text)} */"]
        # A digit behind the literal would be read into an escape that has no end.
        literal = f'{quoting.c_string(text)} "7"'
        lines += [
            "    {",
            f"        static const char t[] = {literal};",
            "        fwrite(t, sizeof t, 1, stdout);",
            "    }",
        ]
    printed = built("\n".join([*lines, "    return 0;", "}", ""]), tmp_path_factory.mktemp("c"))
    assert printed == b"".join(text.encode("utf-8", "surrogatepass") + b"7\0" for text in texts)


def test_what_c_literals_look_like() -> None:
    assert quoting.c_string('a"b\\c') == r'"a\"b\\c"'
    assert quoting.c_string("é1\n??=?") == r'"\303\2511\012?\?=?"'
    assert quoting.c_comment("*/ /* \\ é\n */*/ ??/") == r"* / / * \134 \303\251\012 * / * / ?\077/"


@given(st.lists(NAMES, min_size=12, max_size=12))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_names_of_tensors_are_read_back_from_the_compiled_program(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("names")
    module = compile_model(model_with(names), target="c -runtime=host", name="m")
    for path, text in module.files.items():
        assert not re.search(r"[^\n\t\x20-\x7e]", text), path
    bundle = module.save(folder / "bundle")
    records = [("INPUT", i, r) for i, r in enumerate(module.manifest.inputs)]
    records += [("OUTPUT", i, r) for i, r in enumerate(module.manifest.outputs)]
    lines = [f"    fwrite(M_{kind}_{i}_NAME, sizeof M_{kind}_{i}_NAME, 1, stdout);" for kind, i, _ in records]
    sources = "".join(f'#include "{bundle / path}"\n' for path in module.manifest.sources)
    text = "\n".join(["#include <stdio.h>", sources, "int main(void) {", *lines, "    return 0;", "}", ""])
    printed = built(text, folder, bundle / "include", bundle / "src")
    assert printed == b"".join(record.name.encode() + b"\0" for _, _, record in records)
    assert all(printable.is_one_line(record.name) for _, _, record in records)


def test_names_with_control_characters_stay_different_and_visible() -> None:
    graph = load(model_with(["a\nb", "a\\nb", "a\u202eb", "\x1b[2J", "plain é"]), name="m")
    assert [tensor.name for tensor in graph.tensors()] == ["a\\nb", "a\\nb_2", "a\\u202eb", "\\x1b[2J", "plain é"]


@given(TEXTS)
@settings(deadline=None)
def test_yaml_and_shells_read_the_same_text_back(text: str) -> None:
    plain = text.encode("utf-8", "ignore").decode()
    assert yaml.safe_load(f"key: {quoting.yaml_string(plain)}\n") == {"key": plain}
    assert shlex.split(quoting.shell(text)) == [printable.one_line(text)]


def test_a_workflow_takes_no_expression_from_a_name() -> None:
    quoted = quoting.workflow_string('a${{ secrets.X }}"')
    assert yaml.safe_load(quoted) == "a${{ '${{' }} secrets.X }}\""


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "[x](javascript:y)", "`a` *b* _c_ | d", "a\nb"])
def test_markdown_has_no_markup_of_a_name(text: str) -> None:
    unescaped: list[Any] = re.findall(r"(?<!\\)[`*_\[\]<>&|\n]", quoting.markdown(text))
    assert unescaped == []


@given(TEXTS)
def test_shown_text_has_nothing_hidden_and_stays_as_it_is_when_shown_again(text: str) -> None:
    for shown, kept in ((printable.one_line(text), ""), (printable.lines(text), "\n\t")):
        assert not re.search(
            r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e]", "".join(c for c in shown if c not in kept)
        )
    assert printable.one_line(printable.one_line(text)) == printable.one_line(text)
    assert printable.lines(printable.lines(text)) == printable.lines(text)


@given(TEXTS)
@settings(deadline=None)
def test_what_tcl_would_execute_is_escaped(text: str) -> None:
    word = quoting.tcl_word(text)
    assert re.fullmatch(r"(?:[A-Za-z0-9_.:/-]|\\[^A-Za-z0-9])*", word, re.ASCII)
    assert re.sub(r"\\(.)", r"\1", word) == printable.one_line(text)
