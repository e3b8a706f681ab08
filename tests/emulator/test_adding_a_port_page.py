"""The manual of ports: its driver is compiled into an image, and its model makes the image answer."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np

from aboard import boards
from aboard.api import create
from aboard.base import resources
from aboard.emulation import uarts
from support.bundles import BYTES, tiny_bundle

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "adding_a_port.md").read_text(encoding="utf-8")
BOARDS = (DOCS / "how-to" / "adding_a_board.md").read_text(encoding="utf-8")


def block(language: str, text: str = PAGE) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def test_the_driver_and_its_model(tmp_path, monkeypatch):
    shutil.copytree(resources.firmware(), tmp_path / "firmware")
    place, driver = re.fullmatch(r"/\* (\S+) \*/\n(.*)", block("c"), re.DOTALL).groups()
    (tmp_path / place).write_text(driver, encoding="utf-8")
    monkeypatch.setattr(resources, "firmware", lambda: tmp_path / "firmware")

    names = dict(vars(uarts))
    exec(compile(block("python"), "adding_a_port.md", "exec"), names)
    monkeypatch.setitem(uarts.MODELS, "acme_serial", names["AcmeSerial"])

    for name, text in re.findall(r"```toml\n# boards/(\S+)\n(.*?)```", BOARDS, re.DOTALL):
        path = tmp_path / "boards" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace('"pl011"', '"acme_serial"'), encoding="utf-8")
    monkeypatch.setenv(boards.SEARCH_PATH, str(tmp_path / "boards"))

    project = create(tiny_bundle(tmp_path / "bundle", "cortex-m4"), "acme/fast_kit", path=tmp_path / "project")
    assert (project.path / place).read_text(encoding="utf-8") == driver
    project.build()
    with project.session("unicorn") as device:
        x = np.arange(BYTES, dtype=np.int8).reshape(1, BYTES)
        x[0, 0] = 0
        np.testing.assert_array_equal(device.run(x), ~x)
        assert device.hello.tick_hz == 48_000_000


def test_every_file_and_folder_that_the_page_names_exists():
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:firmware|host|tests|project_templates)/[\w/.]+?)/?`", PAGE)
    assert len(named) >= 8
    missing = [name for name in named if not (root / name).exists()]
    assert missing == []
