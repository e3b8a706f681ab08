"""The compiler knows no device by name: what one device needs is in its package, behind entry points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from aboard.base import resources

HOST = resources.firmware().parent / "host" / "aboard"
#: Names of Arm's NPU and its compiler, also within identifiers; `gethostname` is none.
NAMES = re.compile(r"(?<!g)ethos|vela|u55", re.IGNORECASE)
#: Files below host/aboard that may have the names: the words, and the reason.
ALLOWED: Mapping[str, tuple[frozenset[str], str]] = {
    "importers/tflite_compiled.py": (
        frozenset({"ethos", "vela"}),
        "A file that Vela has compiled is refused; the message names the compiler whose input is needed",
    ),
    "importers/tflite_operators.py": (
        frozenset({"ethos", "vela"}),
        "The list of operators says why it lacks one that TensorFlow Lite Micro registers",
    ),
    "schedule/cascade.py": (frozenset({"ethos", "vela"}), "The source of the terms cascade, stripe, rolling buffer"),
}


def named(text: str) -> set[str]:
    """Returns the names in a text, in lower case."""
    return {found.lower() for found in NAMES.findall(text)}


def test_nothing_in_the_compiler_names_the_npu() -> None:
    found = {}
    for path in sorted(HOST.rglob("*")):
        place = path.relative_to(HOST)
        if path.is_dir() or "__pycache__" in place.parts or path.suffix in (".tflite", ".npz"):
            continue
        names = named(str(place)) | named(path.read_text(encoding="utf-8"))
        if names:
            found[place.as_posix()] = names
    allowed = {place: set(names) for place, (names, _) in ALLOWED.items()}
    assert found == allowed, "a name that is not allowed, or one that ALLOWED lists and that is gone"


def test_the_exceptions_in_code_are_texts_alone() -> None:
    for place in ALLOWED:
        for line in (HOST / place).read_text(encoding="utf-8").splitlines():
            if named(line):
                code = re.sub(r'"[^"]*"', "", line)
                is_prose = line.lstrip().startswith("#") or not re.search(r"[=(]", line)
                assert is_prose or not named(code), f"{place}: {line}"


def test_identifiers_and_texts_are_searched() -> None:
    assert named("import aboard_ethos_u  # Vela, for the U55") == {"ethos", "vela", "u55"}
    assert named("socket.gethostname() of my-npu, an accelerator") == set()


def test_the_package_of_the_npu_has_the_names() -> None:
    package = Path(HOST).parent / "aboard_ethos_u"
    assert named((package / "__init__.py").read_text(encoding="utf-8")) == {"ethos", "vela", "u55"}
