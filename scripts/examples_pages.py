"""Runs the applications of docs/examples, and writes what they print into their pages and the table of all of them.

usage: python scripts/examples_pages.py [--table]

With --table nothing is run: the table is made of the pages. tests/emulator/test_examples_pages.py runs the same
commands, and compares.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs" / "examples"
#: The examples in the order of the table, with what each reads.
NAMES = {
    "keyword_spotting": ("Keyword spotting", "microphone", "speech of espeak-ng"),
    "wake_word": ("Wake word", "microphone", "speech of espeak-ng"),
    "anomaly_detection": ("A machine's sound", "microphone", "simulated sound"),
    "gesture_recognition": ("Gestures", "accelerometer", "simulated motion"),
    "person_detection": ("Persons", "camera", "drawn pictures"),
}
TABLE_PAGE = ROOT / "docs" / "how-to" / "front_end.md"
_BLOCK = re.compile(r"(?<=^```)(\w+)\n(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?<=<!-- examples -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)


def printed(name: str) -> str:
    """Returns what the commands of an example's page print: those of its first shell block."""
    script = next(text for language, text in blocks(name) if language == "sh")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e"], input=script, cwd=EXAMPLES / name, env={**os.environ, "PATH": path}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout


def blocks(name: str) -> list[tuple[str, str]]:
    """Returns language and text of the blocks of an example's page."""
    return _BLOCK.findall((EXAMPLES / name / "README.md").read_text(encoding="utf-8"))


def rewritten(page: str, output: str) -> str:
    """Returns a page whose first two text blocks, results and sizes, are those of an output."""
    results = re.findall(r"^\d+ of \d+ \w+ recognised.*\Z", output, re.MULTILINE | re.DOTALL)[0]
    sizes = re.findall(r"^ +text\t.*\n.*\n", output, re.MULTILINE)[0]
    fresh = iter([results, sizes])
    return _BLOCK.sub(lambda match: f"text\n{next(fresh, match[2])}" if match[1] == "text" else match[0], page)


def table() -> str:
    """Returns the table of the examples, of the figures in their pages."""
    lines = [
        "| example | sensor | test data | recognised | instructions: front end, model | flash | RAM, and stack |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (title, sensor, data) in NAMES.items():
        results, sizes = [text for language, text in blocks(name) if language == "text"][:2]
        right, count = re.findall(r"^(\d+) of (\d+)", results)[0]
        figures = re.findall(r": ([\d,]+)$", results, re.MULTILINE)
        text, filled, zeroed = (int(each) for each in re.findall(r"^ +(\d+)\t +(\d+)\t +(\d+)", sizes, re.MULTILINE)[0])
        lines.append(
            f"| [{title}](../examples/{name}/README.md) | {sensor} | {data} | {right} of {count} | "
            f"{figures[0]}, {figures[1]} | {text + filled:,} | {filled + zeroed:,} + {figures[2]} |"
        )
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """Returns a page with the table in its place."""
    return _TABLE.sub(lambda _: table(), page)


def main() -> None:
    """Writes the pages."""
    for name in NAMES if "--table" not in sys.argv[1:] else ():
        page = EXAMPLES / name / "README.md"
        page.write_text(rewritten(page.read_text(encoding="utf-8"), printed(name)), encoding="utf-8")
        print(page.relative_to(ROOT))
    TABLE_PAGE.write_text(with_table(TABLE_PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
