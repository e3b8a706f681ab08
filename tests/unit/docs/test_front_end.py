"""The pages about the front end: the code of the guide runs as it stands, and the table of memory is true."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from aboard.frontend import AudioFrontEnd, GainControl, NoiseReduction, sources
from support import markdown

GUIDE, REFERENCE = "docs/how-to/front_end.md", "docs/reference/front_end.md"


def test_the_code_of_the_guide_prints_what_the_guide_says(tmp_path: Path) -> None:
    blocks = markdown.blocks(GUIDE)
    program = "\n".join(text for language, text in blocks if language == "python")
    (tmp_path / "guide.py").write_text(program, encoding="utf-8")
    printed = markdown.run(f"{sys.executable} guide.py", tmp_path)
    for line in markdown.commands("\n".join(text for language, text in blocks if language == "sh")):
        if line.startswith("grep"):
            printed += markdown.run(line, tmp_path)
        else:
            markdown.run(line, tmp_path)
    wanted = [text for language, text in blocks if language == "text"]
    assert len(wanted) == 4
    assert [text for text in wanted if text not in printed] == []
    (code,) = (text for language, text in blocks if language == "c")
    (tmp_path / "hear.c").write_text(code, encoding="utf-8")
    strict = "-std=c99 -Wall -Wextra -Wconversion -Werror"
    markdown.run(f"gcc {strict} -Ibuild/front_end/include -c hear.c", tmp_path)


def test_the_table_of_memory_is_true() -> None:
    page = (markdown.CHECKOUT / REFERENCE).read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE)
    front_ends = [
        AudioFrontEnd(),
        AudioFrontEnd(noise_reduction=NoiseReduction(), gain_control=GainControl()),
        AudioFrontEnd(coefficients=10),
    ]
    sizes = (sources.state_bytes, sources.scratch_bytes, sources.tables_bytes)
    assert rows == [tuple(f"{size(each):,}" for size in sizes) for each in front_ends]


def test_the_reference_names_every_public_function_of_the_headers() -> None:
    page = (markdown.CHECKOUT / REFERENCE).read_text(encoding="utf-8")
    assert re.findall(r"`(\w+\.h)`?: ", page)
    headers = sorted((markdown.CHECKOUT / "firmware" / "frontend").glob("*.h"))
    functions = {
        name
        for path in headers
        for name in re.findall(r"^ABOARD_INLINE \w+ (aboard_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    inner = {"aboard_picture_position", "aboard_picture_rows"}
    assert {name for name in functions - inner if f"`{name}`" not in page} == set()
