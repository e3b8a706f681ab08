"""Operands of assembly that several instructions write and read have registers of their own.

A compiler may give an operand that is written (`"+r"`, `"=r"`) and one that is only read one register if both begin
with the same value, such as a count of rows and one of pixels, unless the first is an early clobber (`"+&r"`, `"=&r"`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aboard.base import resources

KERNELS = resources.firmware() / "kernels"

_STATEMENT = re.compile(r"__asm__\s*(?:volatile\s*)?\(")
_WRITTEN = re.compile(r'"[+=][^&"\d\\][^"]*"\s*\(')


def statements(source: str) -> Iterator[tuple[int, int]]:
    """Yields where each assembly statement begins and ends."""
    for found in _STATEMENT.finditer(source):
        depth, at, quoted = 1, found.end(), False
        while depth:
            character = source[at]
            quoted = quoted is not (character == '"')
            depth += 0 if quoted else {"(": 1, ")": -1}.get(character, 0)
            at += 1
        yield found.start(), at


def shared(source: str) -> list[str]:
    """Returns the lines with operands that may share a register with others of several instructions."""
    single = [(start, end) for start, end in statements(source) if "\\n" not in source[start:end]]
    at = [each.start() for each in _WRITTEN.finditer(source) if not any(s <= each.start() < e for s, e in single)]
    return [source[source.rfind("\n", 0, i) + 1 : source.find("\n", i)].strip() for i in at]


def test_no_kernel_shares_a_register_by_chance() -> None:
    headers = sorted(KERNELS.rglob("*.h"))
    assert len(headers) > 100
    found = {str(path.relative_to(KERNELS)): shared(path.read_text(encoding="utf-8")) for path in headers}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_an_operand_that_may_share_a_register_is_found() -> None:
    loop = '__asm__ volatile("1:\\n\\tsubs %0, #1\\n\\tbne 1b" : "+r"(left) : "r"(count));'
    assert shared(f"void f(void) {{\n    {loop}\n}}\n") == [loop]
    assert shared('#define LEFT , [left] "+l"(left)\n') == ['#define LEFT , [left] "+l"(left)']
    assert shared(loop.replace("+r", "=r") + "\n") == [loop.replace("+r", "=r")]
    assert shared(loop.replace("+r", "+&r")) == []
    assert shared('__asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w));') == []
