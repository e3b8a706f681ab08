"""Bundles and projects that others made: no field of their records leads out of their folder or into a build file."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aboard import compile as compile_model
from aboard.api import Project, create
from aboard.base import manifest, manifest_checks, manifest_records
from aboard.compiler.pipeline import Module
from aboard.errors import AboardError, ProjectError
from aboard.ir import DType
from support import models

BOARD = "arm/mps2_an386"
_STATE = {"name": "s", "c_name": "state_0", "dtype": "int8", "shape": [4], "arena": 1, "offset": 0, "bytes": 4}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = compile_model(models.read(models.SHIPPED), target=BOARD, name="digits")
    return module.save(tmp_path_factory.mktemp("made") / "bundle")


@pytest.fixture(scope="module")
def project(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(bundle, BOARD, path=tmp_path_factory.mktemp("made") / "project").path


def edited(original: Path, folder: Path, record: str, **changes: object) -> Path:
    """Returns a copy with other values in its record; keys with dots lead into it."""
    shutil.copytree(original, folder)
    content = json.loads((folder / record).read_text())
    for key, value in changes.items():
        *way, last = key.split("__")
        place = content
        for part in way:
            place = place[int(part) if part.isdigit() else part]
        place[int(last) if last.isdigit() else last] = value
    (folder / record).write_text(json.dumps(content))
    return folder


def test_an_untouched_bundle_is_taken(bundle: Path, tmp_path: Path) -> None:
    made = create(bundle, BOARD, path=tmp_path / "project")
    assert [model.name for model in made.models] == ["digits"]
    assert Module.load(bundle).manifest == manifest.read(bundle)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "/tmp/escaped"}, r"name: String should match"),
        ({"name": "../../escaped"}, r"name: String should match"),
        ({"name": "x; int y"}, r"name: String should match"),
        ({"name": "digits\n"}, r"name: String should match"),
        (
            {"model_file": "../model.tflite"},
            r"model_file: name of a file, got \.\./model\.tflite, expected one without",
        ),
        ({"model_file": "a\x1b[2J"}, r"model_file: hidden characters, got a\\x1b\[2J, expected text on one line"),
        ({"model_hash": 'zz"; evil'}, r"model_hash: String should match"),
        ({"target": "c\nendif()"}, r"target: hidden characters"),
        ({"core": "m4 && rm"}, r"core: String should match"),
        ({"macs": -1}, r"macs: Input should be greater than or equal to 0"),
        ({"ram_bytes": -1}, r"ram_bytes: Input should be greater than or equal to 0"),
        ({"ram_bytes": 16}, r"ram_lower_bound_bytes: got \d+, expected at most 16"),
        ({"ram_lower_bound_bytes": 1 << 40}, r"ram_lower_bound_bytes: got \d+, expected at most"),
        ({"headers": ["/etc/hostname"]}, r"headers\.0: path, got /etc/hostname, expected one below the folder"),
        ({"headers": ["../secret.txt"]}, r"headers\.0: path, got \.\./secret\.txt, expected one below the folder"),
        ({"headers": ["a//b.h"]}, r"headers\.0: path"),
        ({"headers": ["./b.h"]}, r"headers\.0: path"),
        ({"headers": ["a\\b.h"]}, r"headers\.0: path"),
        ({"headers": ["C:b.h"]}, r"headers\.0: path"),
        ({"headers": ["a;b.h"]}, r"headers\.0: path"),
        ({"headers": ["a.h", "a.h"]}, r"headers: got a\.h twice, expected each once"),
        ({"sources": ["$ENV{HOME}/a.c"]}, r"sources\.0: path"),
        ({"include_folders": ["../../usr"]}, r"include_folders\.0: path"),
        ({"source_flags": [{"sources": ["no.c"], "gcc": [], "clang": []}]}, r"source_flags\.0\.sources: got no\.c"),
        ({"source_flags": [{"sources": [], "gcc": ["-B/tmp"], "clang": []}]}, r"source_flags\.0\.gcc\.0: flag"),
        ({"cflags": [";execute_process(COMMAND touch x)"]}, r"cflags\.0: flag of the compiler, got ;execute_process"),
        ({"cflags": ["-fplugin=x"]}, r"cflags\.0: flag of the compiler, got -fplugin=x, expected one of the kinds"),
        ({"cflags": ["-O2 -x"]}, r"cflags\.0: flag"),
        ({"cflags": ["-DX=$(id)"]}, r"cflags\.0: flag"),
        ({"cflags": ["-Wl,-T,x"]}, r"cflags\.0: flag"),
        ({"cflags": ["@file"]}, r"cflags\.0: flag"),
        ({"template": "../../mine"}, r"template: String should match"),
        ({"weights_region": "RAM > x"}, r"weights_region: String should match"),
        (
            {"arenas": [{"region": "a b", "bytes": 1, "lower_bound_bytes": 1}]},
            r"arenas\.0\.region: String should match",
        ),
        ({"arenas": [{"region": "a", "bytes": 1, "lower_bound_bytes": 1}]}, r"ram_bytes: got \d+, expected 1, the sum"),
        ({"inputs": []}, r"inputs: Tuple should have at least 1 item"),
        ({"inputs__0__dtype": "object"}, r"inputs\.0\.dtype: Input should be 'int8'"),
        ({"inputs__0__c_name": "a b"}, r"inputs\.0\.c_name: String should match"),
        ({"inputs__0__shape": [-1, 8]}, r"inputs\.0\.shape\.0: Input should be greater than or equal to 1"),
        ({"inputs__0__bytes": 1}, r"inputs\.0\.bytes: got 1, expected 64 for its shape and type"),
        ({"inputs__0__offset": 1 << 40}, r"inputs\.0: ends at byte \d+, expected at most \d+, the size of its arena"),
        ({"inputs__0__arena": 3}, r"inputs\.0\.arena: got 3, expected below 1"),
        ({"inputs__0__scale": -0.5}, r"inputs\.0\.scale: Input should be greater than 0"),
        ({"inputs__0__scale": float("nan")}, r"inputs\.0\.scale: Input should be a finite number"),
        ({"outputs__0__name": "\x1b]0;title\x07"}, r"outputs\.0\.name: hidden characters, got \\x1b\]0;title\\x07"),
        (
            {"nodes__0__outputs__0__offset": 1 << 40},
            r"nodes\.0\.outputs\.0: ends at byte \d+, expected at most \d+, the",
        ),
        (
            {"nodes__0__outputs__0__reference_channels": 4},
            r"nodes\.0\.outputs\.0: channel_map and reference_channels, got one of them",
        ),
        ({"state": {"bytes": 4, "memory": 1}}, r"state: got a block for 0 states"),
        ({"states": [{**_STATE, "arena": 0}]}, r"state: got none for 1 states"),
        ({"state": {"bytes": 4, "memory": 7}, "states": [_STATE]}, r"states\.0\.arena: got 1, expected below 1"),
        (
            {"state": {"bytes": 4, "memory": 1}, "states": [{**_STATE, "arena": 0}]},
            r"states\.0: got memory 0, byte 0, expected the state block",
        ),
        ({"state": {"bytes": 3, "memory": 1}, "states": [_STATE]}, r"states\.0: ends at byte 4, expected at most 3"),
        ({"state": {"bytes": 4, "memory": 1}, "states": [_STATE, _STATE]}, r"states: got state_0 twice"),
        ({"state": {"bytes": 4, "memory": 1, "region": "a b"}}, r"state\.region: String should match"),
        ({"notes": ["\x1b[2J"]}, r"notes\.0: hidden characters"),
        ({"buffers__0__last": 99}, r"buffers\.0: lives from 0 to 99, expected nodes below"),
        ({"buffers__0__bytes": 1 << 40}, r"buffers\.0: ends at byte"),
        ({"surprise": 1}, r"surprise: Extra inputs are not permitted"),
    ],
)
def test_a_field_that_is_wrong_is_named(bundle: Path, tmp_path: Path, changes: dict[str, object], message: str) -> None:
    folder = edited(bundle, tmp_path / "edited", "manifest.json", **changes)
    with pytest.raises(ProjectError, match=rf"^{folder}/manifest\.json: {message}"):
        create(folder, BOARD, path=tmp_path / "project")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edited"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": ["../../digits"]}, r"models\.0: String should match"),
        ({"models": []}, r"models: Tuple should have at least 1 item"),
        ({"image": "/bin/sh"}, r"image: path, got /bin/sh, expected one below the folder"),
        ({"image": "build/$x.elf"}, r"image: path"),
        ({"template": "../x"}, r"template: String should match"),
        ({"build_id": '0";'}, r"build_id: String should match"),
        ({"options": {"zephyr": "v3\n"}}, r"options\.zephyr"),
        ({"board__name": "x\n# y"}, r"board\.name: hidden characters, got x\\n# y, expected text on one line"),
        ({"board__zephyr": "x;y"}, r"board\.zephyr: String should match"),
        ({"board__emulator__qemu__machine": "\x1b"}, r"board\.emulator\.qemu\.machine: hidden characters"),
    ],
)
def test_a_field_of_a_projects_record_that_is_wrong_is_named(
    project: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    folder = edited(project, tmp_path / "edited", "project.json", **changes)
    with pytest.raises(ProjectError, match=rf"^{folder}/project\.json: {message}"):
        Project.open(folder)


HOSTILE: list[Any] = [
    *("", ".", "..", "/", "/etc/passwd", "../../x", "a/../../b", "C:\\x", "x\0y", "x\ny", "\x1b[2J", "$ENV{HOME}"),
    *(
        "${CMAKE_SOURCE_DIR}/../x",
        "x;y",
        '"',
        "`id`",
        "*/",
        "A" * 300,
        "é",
        "\u202e",
        "name",
        "digits",
        "baremetal",
        "zephyr",
    ),
    *(-1, 0, 1, 2**31, 2**63, 10**30, 0.5, 1e308, None, True, [], {}, [[]], ["../x"], [0] * 7, [-1], {"x": "y"}),
    *([{"sources": ["x"], "gcc": ["-x"], "clang": []}], [{"region": "a", "bytes": 0, "lower_bound_bytes": 0}]),
]


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the way to every value in a JSON document; of long lists the first two entries."""
    yield way
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*way, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value[:2]):
            yield from places(inner, (*way, number))


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_hostile_values_anywhere_are_errors_and_leave_nothing_behind(
    bundle: Path, project: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    original, record = data.draw(st.sampled_from([(bundle, "manifest.json"), (project, "project.json")]))
    content = json.loads((original / record).read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from([way for way in places(content) if way]))
        holder = content
        for part in way:
            holder = holder[part]
        holder[last] = copy.deepcopy(data.draw(st.sampled_from(HOSTILE)))
    tmp_path = tmp_path_factory.mktemp("hostile")
    folder = tmp_path / "edited"
    shutil.copytree(original, folder)
    (folder / record).write_text(json.dumps(content))
    with contextlib.suppress(AboardError):
        made = create(folder, BOARD, path=tmp_path / "project") if original == bundle else Project.open(folder)
        assert made.image.is_relative_to(made.path)
        for model in made.models:
            assert (made.path / "models" / model.name / "manifest.json").is_file()
    assert {path.name for path in tmp_path.iterdir()} <= {"edited", "project"}
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("place", ["include/digits.h", "extra", "src"])
def test_a_link_out_of_a_bundle_is_not_followed(bundle: Path, tmp_path: Path, place: str) -> None:
    folder, secret = tmp_path / "bundle", tmp_path / "secret"
    shutil.copytree(bundle, folder)
    shutil.copytree(bundle / "src", secret)
    (secret / "text").write_text("secret")
    link = folder / place
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(secret if place == "src" else secret / "text")
    with pytest.raises(
        ProjectError, match=rf"^{link}: is a symbolic link to a folder or out of the bundle, got .*secret"
    ):
        create(folder, BOARD, path=tmp_path / "project")
    if place != "extra":
        with pytest.raises(ProjectError, match=r"not a file of the bundle"):
            Module.load(folder)
    assert not (tmp_path / "project").exists()


def test_a_link_within_a_bundle_becomes_a_file(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(bundle, folder)
    header = folder / "include" / "digits.h"
    header.rename(folder / "include" / "other.h")
    header.symlink_to("other.h")
    made = create(folder, BOARD, path=tmp_path / "project")
    copied = made.path / "models" / "digits" / "include" / "digits.h"
    assert not copied.is_symlink()
    assert copied.read_text() == (bundle / "include" / "digits.h").read_text()


def test_a_link_to_its_own_folder_is_refused_at_once(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(bundle, folder)
    (folder / "again").symlink_to(".")
    with pytest.raises(ProjectError, match=r"again: is a symbolic link to a folder"):
        create(folder, BOARD, path=tmp_path / "project")


def test_what_is_no_file_is_not_waited_for(bundle: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(bundle, folder)
    os.mkfifo(folder / "pipe")
    with pytest.raises(ProjectError, match=r"pipe: not a file, expected files and folders in a bundle"):
        create(folder, BOARD, path=tmp_path / "project")
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(ProjectError, match=r"manifest\.json: not a file of the bundle"):
        manifest.read(folder)


def test_a_record_that_is_no_file_of_the_project_is_not_read(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path / "project")
    record = tmp_path / "project" / "project.json"
    record.rename(tmp_path / "elsewhere.json")
    record.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ProjectError, match=r"project\.json: not a file of the project"):
        Project.open(tmp_path / "project")


def test_the_manifest_knows_every_element_type() -> None:
    known = {dtype.value: dtype.bytes for dtype in DType}
    assert known == manifest_checks.BYTES
    assert set(get_args(manifest_records.TensorRecord.model_fields["dtype"].annotation)) == set(known)
