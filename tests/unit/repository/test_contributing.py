"""CONTRIBUTING, issue templates, hooks and the release workflow name things that exist, and hold no placeholders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import markdown

ROOT = markdown.CHECKOUT
sys.path.insert(0, str(ROOT / "scripts"))

import release_notes  # noqa: E402  found through the line above

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ANSWERS = dict(re.findall(r"^\*\*(.+?\?)\*\*(.*?)(?=^\*\*|^## |\Z)", CONTRIBUTING, re.MULTILINE | re.DOTALL))
_PATH = re.compile(r"`((?:host|firmware|boards|project_templates|tests|docs)/[\w./]+\w)`")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "pyproject.toml")),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / ".github").rglob("*.yml"),
    *(ROOT / "project_templates").rglob("*.j2"),
    *(ROOT / "host").rglob("*.py"),
]


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(set(_PATH.findall(CONTRIBUTING))))
def test_files_that_the_page_names_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", CONTRIBUTING))))
def test_links_of_the_page_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert not anchor or anchor in {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def test_three_questions_have_answers_of_at_most_two_files() -> None:
    assert [question.split()[0] for question in ANSWERS] == ["Where", "Why", "Where"]
    for answer in ANSWERS.values():
        files = re.findall(r"^\d\. `([\w/.]+)`", answer, re.MULTILINE)
        assert len(files) == len(set(_PATH.findall(answer))) == 2
        assert all((ROOT / file).is_file() for file in files)


def test_the_files_of_the_answers_hold_what_the_answers_name() -> None:
    for answer in ANSWERS.values():
        files = _PATH.findall(answer)
        text = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
        names = [name for name in re.findall(r"`([^`]+)`", answer) if "/" not in name and " " not in name]
        assert names
        assert [name for name in names if name not in text] == []


def test_commands_of_the_page_are_targets_of_make() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"make ([\w-]+)", CONTRIBUTING))
    assert {"test", "lint", "docs", "setup-dev"} <= named <= targets


def test_hooks_run_what_lint_runs() -> None:
    (repo,) = read(".pre-commit-config.yaml")["repos"]
    assert repo["repo"] == "local"
    programs = [hook["entry"].split()[0] for hook in repo["hooks"]]
    assert programs == [f".venv/bin/{name}" for name in ("ruff", "ruff", "mypy", "clang-format")]
    assert {hook["language"] for hook in repo["hooks"]} == {"system"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"$(BIN)/{Path(name).name}" in makefile for name in programs)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("wrong_result", {"verify", "model", "target", "version", "toolchain", "values"}),
        ("bug", {"command", "expected", "target", "version", "tools"}),
        ("feature", {"goal", "proposal", "alternatives"}),
    ],
)
def test_issue_templates_ask_for_what_is_needed(name: str, asked: set[str]) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["id"] for field in fields} == asked
    assert all(field["attributes"]["label"] for field in fields)


def test_a_wrong_result_needs_target_version_and_toolchain() -> None:
    fields = {field.get("id"): field for field in read(".github/ISSUE_TEMPLATE/wrong_result.yml")["body"]}
    required = {name for name, field in fields.items() if field.get("validations", {}).get("required")}
    assert required == {"target", "version", "toolchain"}
    assert "`aboard doctor`" in fields["toolchain"]["attributes"]["description"]


def test_the_citation_names_no_person() -> None:
    citation = read("CITATION.cff")
    assert citation["authors"] == [{"name": "The aboard developers"}]
    assert (citation["cff-version"], citation["license"]) == ("1.2.0", "Apache-2.0")


def steps(job: str) -> list[str]:
    return [step["run"] for step in read(".github/workflows/release.yml")["jobs"][job]["steps"] if "run" in step]


def test_a_release_is_checked_before_it_is_attached() -> None:
    workflow = read(".github/workflows/release.yml")
    # YAML 1.1 reads the key `on` as true.
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["publish"]["needs"] == "build"
    build = "\n".join(steps("build"))
    order = ("release_notes.py", "-m build", "twine check --strict", "-m aboard.demo", "make docs")
    assert [build.index(word) for word in order] == sorted(build.index(word) for word in order)
    assert "upload" not in build + "\n".join(steps("publish"))


PROJECT = '[project]\nname = "aboard"\nversion = "0.2.0"\n'
CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-11-30\n\n- One.\n\n### Fixed\n\n- Two.\n\n## 0.1.0\n\n- Old.\n"
)


def test_notes_of_a_release_are_its_section() -> None:
    assert release_notes.notes("v0.2.0", PROJECT, CHANGELOG) == "- One.\n\n### Fixed\n\n- Two.\n"


@pytest.mark.parametrize(
    ("tag", "project", "message"),
    [
        (
            "0.2.0",
            PROJECT,
            "0.2.0: is not the tag of a version, expected v and three numbers, such as v0.2.0. Tag again",
        ),
        ("v0.3.0", PROJECT, "pyproject.toml: version is 0.2.0, expected 0.3.0. Set the version, and tag that commit"),
        ("v0.2.0", "", "pyproject.toml: version is none, expected 0.2.0. Set the version, and tag that commit"),
        (
            "v0.2.1",
            PROJECT.replace("0.2.0", "0.2.1"),
            "CHANGELOG.md: has no section ## 0.2.1 with text. Add it, and tag",
        ),
    ],
)
def test_tags_that_disagree_are_refused(tag: str, project: str, message: str) -> None:
    with pytest.raises(release_notes.ReleaseError, match=re.escape(message)):
        release_notes.notes(tag, project, CHANGELOG)


def test_the_script_reads_the_project() -> None:
    script = ROOT / "scripts" / "release_notes.py"
    done = subprocess.run([sys.executable, script, "v99.0.0"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"error: pyproject\.toml: version is \S+, expected 99\.0\.0\. Set .*\n", done.stderr)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_installed_from_an_index_that_does_not_have_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.search(r"pip install (?:--\S+ )*['\"]?aboard\b(?!\[\w+\] @)", text) is None
    assert re.search(r"\bexample\.(?:com|org)\b|github\.com/(?:OWNER|your)", text) is None
