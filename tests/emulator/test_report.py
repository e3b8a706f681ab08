"""`aboard report` of images that run, and its pages in a browser: nothing asked for, missing, or over each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aboard import cli
from aboard.cli.schema import RESULTS
from support import chromium, fake_device
from support.chromium import Browser
from support.examples import either
from support.html_tables import table
from support.models import available, path

#: Windows of a desk, a tablet and two phones, and who likes it dark.
WINDOWS = [(1280, False), (1200, False), (1000, True), (768, False), (390, False), (390, True), (320, False)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.open_browser() as opened:
        yield opened


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)

    def run(model: str, *words: str) -> tuple[dict[str, Any], Path]:
        file = tmp_path / "report.html"
        capsys.readouterr()
        assert cli.invoke(["report", str(path(model)), *words, "-o", str(file), "--json"]) == 0, capsys.readouterr().err
        result = json.loads(capsys.readouterr().out)
        jsonschema.validate(result, RESULTS["report"].model_json_schema(), cls=jsonschema.Draft202012Validator)
        return result, file

    return run


def check(browser: Browser, file: Path) -> None:
    found = {
        f"{width} {'dark' if dark else 'light'}": browser.see(file, width, dark=dark).all for width, dark in WINDOWS
    }
    assert not any(found.values()), found


@pytest.mark.parametrize("model", available(either(["digits", "kws", "vww", "ic", "hello_world"], ["digits", "kws"])))
def test_what_was_measured(model: str, report: Callable[..., Any], browser: Browser) -> None:
    result, file = report(model, "--board", "arm/mps2_an386", "--profile")
    assert (result["measured"], result["unit"], result["runner"]) == (True, "instructions", "qemu")
    rows = table(file.read_text(encoding="utf-8"), "#")
    counts = [int(row["instructions"].replace(",", "")) for row in rows]
    # Hooks come with the layers, and each of these begins somewhere within a tick of 40 instructions.
    assert abs(sum(counts) - result["total"]) < 0.02 * result["total"] + 40 * len(counts)
    assert result["flash_bytes"] > 1000
    assert result["stack_bytes"] > 50
    assert result["known_as"] == (None if model == "digits" else model)
    assert bool(result["compared_with"]) == (model != "digits")
    text = file.read_text(encoding="utf-8")
    assert '<h2 id="verdict" class="verdict fits">Fits arm/mps2_an386</h2>' in text
    assert text.index("<dt>Time</dt>") < text.index("<dt>RAM</dt>") < text.index("<dt>Flash</dt>")
    assert text.index("<dt>Flash</dt>") < text.index("<dt>Beside TFLM") < text.index("The model alone")
    check(browser, file)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("digits", ["--target", "c -mcpu=cortex-m0"]),
        ("digits", ["--target", "c -mcpu=cortex-m7 -arena=dtcm:1K,sram -opt=speed"]),
        ("digits", ["--board", "arm/mps3_an547", "--build"]),
        ("digits", ["--board", "riscv/qemu_virt32", "--profile"]),
        ("digits", ["--board", "host/native", "--profile"]),
        ("digits_f32", ["--board", "arm/mps2_an385", "--profile"]),
        ("digits_f32", ["--target", "c -mcpu=cortex-m4"]),
    ],
)
def test_pages_of_other_targets(model: str, words: list[str], report: Callable[..., Any], browser: Browser) -> None:
    result, file = report(model, *words)
    assert result["measured"] == ("--profile" in words)
    assert (result["flash_bytes"] is None) == ("--target" in words)
    check(browser, file)


def test_a_page_of_a_device(report: Callable[..., Any], browser: Browser) -> None:
    with fake_device.fake_device():
        _, file = report("digits", "--target", "c -mcpu=cortex-m4 + fake")
    assert any(row["kernel, weights"].startswith("fake") for row in table(file.read_text(encoding="utf-8"), "#"))
    check(browser, file)


_POLICY = "<meta http-equiv="
_ONE = '<text x="400" y="100">one over</text>'
_OTHER = '<text x="404" y="102">the other</text>'


def script(code: str) -> tuple[str, str]:
    return "<main>", f"<main><script>{code}</script>"


def image(address: str) -> tuple[str, str]:
    return "<main>", f'<main><img alt="" src="{address}">'


#: What the browser says where the first of some texts of a page is replaced by another.
BROKEN = {
    "Error: broken": script("throw new Error('broken')"),
    "oh": script("console.error('oh')"),
    "hm": script("console.log('hm')"),
    "asks for file:": image("missing.png"),
    "asks for http://127.0.0.1:9/": image("http://127.0.0.1:9/x.png"),
    '"one over" and "the other" overlap': ("</svg>", f"{_ONE}{_OTHER}</svg>"),
    "is cut off": ('<text x="', '<text x="9'),
    "an empty text": ("</svg>", '<text x="1" y="20"> </text></svg>'),
    "a missing figure: nan": ("</td>", "</td><td>nan</td>"),
    "an empty td": ("</td>", "</td><td></td>"),
    "an empty figcaption": ("<figcaption>", "<figcaption></figcaption><figcaption>"),
    "a figure without a picture": ('<svg class="picture wide"', '<svg class="picture narrow"'),
    "has no description": ("<desc ", "<title "),
    "a picture has no title": ("<title id=", "<text id="),
    'height="NaN': ('height="', 'height="NaN'),
    "pixels of a table are hidden": ("</td>", f"{'wide' * 1000}</td>"),
    "pixels wider than its window": ("<main>", '<main><div style="width: 3000px">wide</div>'),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("whole") / "digits.html"
    assert cli.invoke(["report", "digits", "--target", "c -mcpu=cortex-m4", "-o", str(file)]) == 0
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("said", BROKEN)
def test_a_broken_page_is_found(said: str, whole: str, tmp_path: Path, browser: Browser) -> None:
    before, _, after = whole.partition(_POLICY)
    allowed = before + after.partition(">\n")[2]
    (tmp_path / "whole.html").write_text(allowed, encoding="utf-8")
    assert browser.see(tmp_path / "whole.html", 1200).all == []
    # The title of the page comes before its body.
    head, body, rest = allowed.partition("<body>")
    broken = head + body + rest.replace(*BROKEN[said], 1)
    assert broken != allowed
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    found = browser.see(tmp_path / "broken.html", 1200).all
    assert any(said in fault for fault in found), found


def test_the_page_lets_nothing_in(whole: str, tmp_path: Path, browser: Browser) -> None:
    further = '<main><script>document.title = "other"</script><img alt="" src="http://127.0.0.1:9/x.png">'
    (tmp_path / "page.html").write_text(whole.replace("<main>", further), encoding="utf-8")
    errors = browser.see(tmp_path / "page.html", 1200).errors
    assert sum("Content Security Policy" in error for error in errors) >= 2
    assert browser.evaluate("document.title") != "other"


def test_a_browser_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOARD_CHROMIUM", "no-such-browser")
    with pytest.raises(
        RuntimeError, match=r"no-such-browser: not found, expected a browser\. apt-get install chromium"
    ):
        chromium.find()
