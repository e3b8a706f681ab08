"""The page of a report: what it says is what was compiled and measured."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from aboard.base import resources
from aboard.compiler.pipeline import Module, compile_model
from aboard.errors import ProjectError
from aboard.project.elf import ImageSizes, Section
from aboard.reports import layers, page, partition_svg, variants
from aboard.reports.anchors import Comparison, System
from aboard.reports.flash import FlashBreakdown, FunctionSize
from aboard.reports.page import Report
from aboard.reports.summary import BoardVerdict, Measured
from support import fake_device, html_tables
from support.foreign import model_with
from support.html_tables import table

DIGITS = resources.models() / "digits.tflite"
M4 = "c -mcpu=cortex-m4 -opt=size"


def report(target: str = M4, model: str = "digits", **more: Any) -> Report:
    module = compile_model(resources.models() / f"{model}.tflite", target=target)
    given: dict[str, Any] = {
        "module": module,
        "trade": module.trade(),
        "comparison": None,
        "measured": None,
        "flash": None,
        "tools": [("aboard", "9.8.7")],
        "command": "aboard report digits",
    }
    return Report(**{**given, **more})


def count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def fact(text: str, name: str) -> str:
    found = re.search(rf'<dt>{name}</dt><dd class="value">([^<]*)</dd><dd class="about">([^<]*)</dd>', text)
    assert found is not None
    return f"{found[1]}: {found[2]}"


MEASURED = Measured("instructions", (1000, 2000, 3000, 400, 500, 60), 6900, 321, "arm/mps2_an386 (qemu)")
SIZES = ImageSizes(9000, 900, 6000, 4096, {"digits": 6000})
FLASH = FlashBreakdown(
    sizes=SIZES,
    sections=(Section(".model.digits", 6000, True, False), Section(".bss", 900, False, True)),
    constants={0: 400, 4: 3000},
    kernels=(FunctionSize("k0_conv2d", 1500),),
    code=(FunctionSize("run", 700),),
    library=(FunctionSize("__aeabi_idiv", 300),),
    other=100,
)
OTHERS = Comparison(
    model="digits",
    core="m4",
    source="some.json",
    systems=(System("TFLM", 13_800, 18_000, 3_136, 642), System("X", 6900, None, None, None)),
    layers_of="TFLM",
    layers=(4000, 1000, 6000, 100, 500, 60),
)


def test_a_prediction_says_that_it_is_one() -> None:
    told = report()
    text, manifest = page.html(told), told.module.manifest
    predicted = sum(node.estimated_instructions or 0 for node in manifest.nodes)
    about = fact(text, "Instructions")
    assert about.startswith(f"{predicted:,}: predicted for Cortex-M4, not measured; error ")
    assert about.endswith("models that were left out of the fit")
    bound = f"proven bound {manifest.ram_lower_bound_bytes:,}"
    assert fact(text, "RAM") == f"{manifest.ram_bytes:,} bytes: tensors, scratch, inputs and outputs; {bound}"
    assert fact(text, "Flash of the model") == "not built: --build or --profile weighs it"
    assert fact(text, "Stack") == "not measured: --profile measures it"
    assert fact(text, "Constants") == f"{manifest.weights_bytes:,} bytes: in the region of the code"
    assert fact(text, "MACs") == f"{manifest.macs_run:,}: as compiled, {manifest.macs:,} in the model"
    assert "Nothing was measured: instructions are predicted" in text
    assert "Beside other systems" not in text
    assert "No image was built: only the constants are known" in text


VERDICT = BoardVerdict(
    "st/some",
    True,
    (),
    [("Time", "about 5 ms", "estimated"), ("RAM", "1 of 2 bytes", "planned"), ("Flash", "3 of 4 bytes", "predicted")],
)


def head(text: str) -> tuple[str, list[str]]:
    """Returns the verdict, and the lines below it."""
    first = text.partition('<section aria-labelledby="summary">')[0]
    found = re.search(r'<h2 id="verdict" class="([^"]*)">([^<]*)</h2>\n<p>([^<]*)</p>', first)
    assert found is not None
    return ": ".join(found.groups()), re.findall(r'<dt>([^<]*)</dt><dd class="value">([^<]*)<', first)


def test_the_page_begins_with_the_verdict() -> None:
    told, lines = head(page.html(report(verdict=VERDICT, measured=MEASURED, comparison=OTHERS, flash=FLASH)))
    assert told == "verdict fits: Fits st/some: With the board&#39;s default project."
    assert [name for name, _ in lines] == ["Time", "RAM", "Flash", "Beside TFLM"]
    assert [value for _, value in lines] == ["about 5 ms", "1 of 2 bytes", "3 of 4 bytes", "50 % of its instructions"]
    lacking = dataclasses.replace(VERDICT, fits=False, problems=("RAM: 9 bytes are missing", "flash: 8"))
    told, lines = head(page.html(report(verdict=lacking)))
    assert told == "verdict lacks: Does not fit st/some: RAM: 9 bytes are missing; flash: 8"
    assert lines[-1] == ("Beside TFLM", "not known")
    told, lines = head(page.html(report()))
    assert told.startswith("verdict open: No board to fit: The target names no board.")
    assert lines == [("Beside TFLM", "not known")]


def test_cycles_are_not_compared_with_instructions() -> None:
    measured = dataclasses.replace(MEASURED, unit="cycles", stack=None)
    _, lines = head(page.html(report(verdict=VERDICT, measured=measured, comparison=OTHERS)))
    assert lines[-1][1].endswith("% of its RAM of tensors")
    nothing = dataclasses.replace(OTHERS, systems=(System("TFLM", None, None, None, None),))
    assert head(page.html(report(comparison=nothing)))[1] == [("Beside TFLM", "not comparable")]


def test_every_cell_of_a_wide_table_has_the_head_of_its_column() -> None:
    text = page.html(report(measured=MEASURED, comparison=OTHERS, flash=FLASH))
    cards = re.findall(r'<table class="cards (\w+)">(.*?)</table>', text, re.DOTALL)
    assert {kind for kind, _ in cards} == {"small", "middle", "wide"}
    for _, inner in cards:
        names = re.findall(r"<th\b[^>]*>(.*?)</th>", inner.partition("</thead>")[0])
        cells = re.findall(r'<t[dh]\b[^>]* data-label="([^"]*)"|<t[dh]\b[^>]*>', inner.partition("<tbody>")[2])
        assert cells == names * (len(cells) // len(names))
    assert all(
        len(rows[0]) <= 3
        for rows in html_tables.tables(re.sub(r'<table class="cards.*?</table>', "", text, flags=re.DOTALL))
    )


def test_layers_as_predicted() -> None:
    told = report()
    rows, known = table(page.html(told), "#"), layers.of(told.module)
    assert [row["#"] for row in rows] == [str(layer.index) for layer in known]
    for row, layer in zip(rows, known, strict=True):
        assert row["layer"].startswith(f"{layer.record.op} ")
        assert row["MACs"] == f"{layer.record.macs:,}"
        assert (row["predicted"], row["bound"]) == (count(layer.instructions), count(layer.bound))
        ratio = layers.ratio(layer.instructions, layer.bound)
        assert row["ratio"] == ("-" if ratio is None else f"{ratio:.2f}")
        assert (row["constants"], row["scratch"]) == (
            count(layer.record.weights_bytes),
            count(layer.record.scratch_bytes),
        )
        assert row["stripes"] == str(layer.stripes)
        assert row["kernel, weights"] == " ".join(filter(None, [layer.record.implementation, layer.weights_form]))
    assert "instructions" not in rows[0]


def test_layers_as_measured_beside_another_system() -> None:
    told = report(measured=MEASURED, comparison=OTHERS)
    text = page.html(told)
    rows, known = table(text, "#"), layers.of(told.module)
    assert [row["instructions"] for row in rows] == ["1,000", "2,000", "3,000", "400", "500", "60"]
    assert rows[0]["ratio"] == f"{1000 / (known[0].bound or 0):.2f}"
    assert rows[0]["for each MAC"] == f"{1000 / known[0].record.macs:.2f}"
    expected = OTHERS.of_sources([layer.record.sources for layer in known])
    assert [row["TFLM"] for row in rows] == [count(each) for each in expected]
    assert fact(text, "Instructions") == "6,900: measured on arm/mps2_an386 (qemu)"
    assert fact(text, "Stack") == "321 bytes: at most, in a run"
    assert "Layers were measured on arm/mps2_an386 (qemu)" in text


def test_other_systems() -> None:
    told = report(measured=MEASURED, comparison=OTHERS, flash=FLASH)
    (rows,) = (each for each in html_tables.tables(page.html(told)) if each[0][0] == "system")
    assert rows[0] == ["system", "instructions", "ratio", "RAM", "ratio", "flash", "ratio", "stack", "ratio"]
    ram = told.module.manifest.ram_bytes
    assert rows[1] == ["aboard", "6,900", "-", f"{ram:,}", "-", "9,000", "-", "321", "-"]
    assert rows[2] == ["TFLM", "13,800", "0.50", "3,136", f"{ram / 3136:.2f}", "18,000", "0.50", "642", "0.50"]
    assert rows[3] == ["X", "6,900", "1.00", "-", "-", "-", "-", "-", "-"]


def test_predictions_stand_beside_others_as_such() -> None:
    (rows,) = (each for each in html_tables.tables(page.html(report(comparison=OTHERS))) if each[0][0] == "system")
    assert rows[1][0] == "aboard, predicted"
    assert rows[1][5:] == ["-", "-", "-", "-"]


def test_cycles_do_not_stand_beside_instructions() -> None:
    measured = dataclasses.replace(MEASURED, unit="cycles", stack=None)
    text = page.html(report(measured=measured, comparison=OTHERS))
    assert fact(text, "Cycles") == "6,900: measured on arm/mps2_an386 (qemu)"
    assert fact(text, "Stack").startswith("not known")
    assert [row["TFLM"] for row in table(text, "#")] == ["-"] * 6
    (rows,) = (each for each in html_tables.tables(text) if each[0][0] == "system")
    assert rows[1][1] == "-"


def test_flash_by_part_and_section() -> None:
    text = page.html(report(flash=FLASH))
    assert fact(text, "Flash of the model") == "6,000 bytes: 9,000 with the rest of the image"
    (parts,) = (rows for rows in html_tables.tables(text) if rows[0] == ["part", "bytes"])
    assert parts[1:] == [
        ["constants", "3,400"],
        ["kernels", "1,500"],
        ["model code", "700"],
        ["compiler's library", "300"],
        ["other of the model", "100"],
        ["rest of the image", "3,000"],
        ["the model", "6,000"],
        ["the image", "9,000"],
    ]
    (names,) = (rows for rows in html_tables.tables(text) if rows[0] == ["part", "what", "bytes"])
    assert names[1:] == [
        ["kernels", "k0_conv2d", "1,500"],
        ["model code", "run", "700"],
        ["compiler's library", "__aeabi_idiv", "300"],
        ["constants", "layer 0", "400"],
        ["constants", "layer 4", "3,000"],
    ]
    assert table(text, "section") == [
        {"section": ".model.digits", "bytes": "6,000", "in flash": "yes", "in RAM": "no"},
        {"section": ".bss", "bytes": "900", "in flash": "no", "in RAM": "yes"},
    ]


def test_an_image_that_does_not_set_the_model_apart() -> None:
    flash = dataclasses.replace(FLASH, constants={}, kernels=(), code=(), library=(), other=None)
    (parts,) = (rows for rows in html_tables.tables(page.html(report(flash=flash))) if rows[0] == ["part", "bytes"])
    assert [row[0] for row in parts[1:]] == ["model", "rest of the image", "the model", "the image"]


def test_pieces_and_stripes_have_tables() -> None:
    told = report()
    text, manifest = page.html(told), told.module.manifest
    pieces = table(text, "offset")
    assert len(pieces) == sum(bool(buffer.bytes) for buffer in manifest.buffers)
    assert {(row["offset"], row["bytes"], row["steps"]) for row in pieces} == {
        (f"{b.offset:,}", f"{b.bytes:,}", f"{b.first} to {b.last}") for b in manifest.buffers if b.bytes
    }
    stripes = table(text, "step")
    cascaded = [(i, node) for i, node in enumerate(manifest.nodes) if node.cascade is not None]
    assert [row["step"] for row in stripes] == [str(i) for i, _ in cascaded]
    assert [row["layer"].split()[0] for row in stripes] == [node.op for _, node in cascaded]


def test_the_trade() -> None:
    told = report()
    text = page.html(told)
    assert f"Taken: {told.trade.rule}." in text
    rows = table(text, "RAM")
    assert [row["RAM"] for row in rows] == [f"{each.ram_bytes:,}" for each in told.trade.weighed]
    assert [row["taken"] for row in rows] == ["yes" if each.taken else "no" for each in told.trade.weighed]


def test_other_variants() -> None:
    told = report("c -mcpu=cortex-m4")
    text, others = page.html(told), variants.of(told.module)
    assert others
    assert f"Taken: {variants.rule(told.module.target)}. These layers could be faster" in text
    rows = table(text, "layer")
    assert [(row["layer"], row["taken"], row["instead"]) for row in rows] == [
        (str(each.layer), each.taken, each.name) for each in others
    ]
    assert [(row["cycles, predicted"], row["flash, predicted"]) for row in rows] == [
        (f"{each.time:+,}", f"{each.flash_bytes:+,}") for each in others
    ]
    assert "No layer could be faster and larger" in page.html(report("c -mcpu=cortex-m0", "digits_f32"))


def test_each_arena_has_its_picture() -> None:
    told = report("c -mcpu=cortex-m7 -arena=dtcm:1K,sram -opt=speed")
    text = page.html(told)
    for arena in told.module.manifest.arenas:
        assert f"<h3>Arena in {arena.region}</h3>" in text
        assert f">{arena.bytes:,}</text>" in text
        assert f"Memory over time in {arena.region}</title>" in text


def test_layers_of_devices_are_not_predicted() -> None:
    with fake_device.fake_device():
        text = page.html(report("c -mcpu=cortex-m4 + fake"))
    rows = [row for row in table(text, "#") if row["kernel, weights"].startswith("fake")]
    assert rows
    assert all((row["predicted"], row["bound"], row["for each MAC"]) == ("-", "-", "-") for row in rows)
    assert re.search(r"predicted for Cortex-M4, not measured, without \d+ layers on devices", text)


def test_it_says_how_it_was_made() -> None:
    told = report(command="aboard report 'a <b>.tflite'")
    text, manifest = page.html(told), told.module.manifest
    assert f"<code>{manifest.target}</code>" in text
    assert manifest.model_hash in text
    assert "aboard 9.8.7" in text
    assert "<pre>aboard report &#39;a &lt;b&gt;.tflite&#39;</pre>" in text


@pytest.mark.parametrize("more", [{}, {"measured": MEASURED, "comparison": OTHERS, "flash": FLASH}])
def test_it_asks_for_nothing_else(more: dict[str, Any]) -> None:
    text = page.html(report(**more))
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", text)
    assert "<script" not in text
    assert "url(" not in text
    assert "http" not in re.sub(r"http-equiv", "", text)
    identities = re.findall(r' id="([^"]+)"', text)
    assert len(identities) == len(set(identities))
    for named in re.findall(r'aria-labelledby="([^"]+)"', text):
        assert set(named.split()) <= set(identities)


class Markup(HTMLParser):
    """What a page has: its elements, the names of their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


HOSTILE = (
    '"><script>alert(1)</script>',
    "<img src=x onerror=y>",
    "' onload='z",
    "</style></svg>{{ 7 * 7 }}",
    "\x1b[2J",
)


def test_names_of_a_model_are_text_and_no_markup(tmp_path: Path) -> None:
    model = tmp_path / "<b onclick=x>.tflite"
    model.write_bytes(model_with(HOSTILE))
    module = compile_model(model, target=M4, name="m")
    text = page.html(report(module=module, trade=module.trade()))
    plain = Markup(page.html(report()))
    found = Markup(text)
    assert found.elements <= plain.elements
    assert found.attributes <= plain.attributes
    assert "<img src=x onerror=y>" in found.words
    assert "{{ 7 * 7 }}" in found.words
    assert "\x1b" not in text
    svg = Markup(partition_svg.picture(module.partition))
    assert svg.elements <= {"svg", "title", "rect", "line", "g", "text"}
    assert not {name for name in svg.attributes if name.startswith("on")}


def test_two_reports_of_a_model_are_the_same() -> None:
    assert page.html(report()) == page.html(report())


def test_a_bundle_has_no_report(tmp_path: Any) -> None:
    told = report()
    module = Module.load(told.module.save(tmp_path / "digits"))
    with pytest.raises(ProjectError, match="digits: has no schedule, got a bundle that was read"):
        page.html(dataclasses.replace(told, module=module))
