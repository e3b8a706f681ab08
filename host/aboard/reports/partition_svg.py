"""The picture of a partition: the graph from top to bottom, coloured by device, with a frame around each region."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from aboard.base.manifest import label
from aboard.ir import Node
from aboard.outputs import SEAL
from aboard.partition.partitioner import NodePlacement, Partition

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 210, 40, 30, 26, 24
_HOST_COLOUR = "#e4e4e4"
_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fc9272")
_FONT = 'font-family="sans-serif" font-size="12"'

_GridCell = tuple[int, int]


def picture(decided: Partition) -> str:
    """Returns the picture as SVG text."""
    places = _places(decided)
    colours = {decided.host: _HOST_COLOUR}
    colours |= {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(decided.labels)}
    columns = 1 + max((x for x, _ in places.values()), default=0)
    rows = 1 + max((y for _, y in places.values()), default=0)
    width = 2 * _MARGIN + columns * (_WIDTH + _GAP_X)
    height = 2 * _MARGIN + rows * (_HEIGHT + _GAP_Y) + 24 * len(colours)
    size = f'width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {_FONT}>',
        f"<title>{escape(str(decided.target))}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *_edges(decided, places),
        *(_box(placement, places[placement.node], colours[placement.device]) for placement in decided.placements),
        *_legend(colours, height - 24 * len(colours)),
        f"<!-- {SEAL} -->",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _places(decided: Partition) -> dict[Node, _GridCell]:
    """Returns column and row of each node: each node is below all nodes whose results it reads."""
    producers = {t: p.node for p in decided.placements for t in p.node.outputs}
    depth: dict[Node, int] = {}
    taken: dict[int, int] = {}
    places: dict[Node, _GridCell] = {}
    for placement in decided.placements:
        node = placement.node
        above = [depth[producers[t]] for t in node.operands if t in producers]
        depth[node] = 1 + max(above, default=-1)
        column = taken.get(depth[node], 0)
        taken[depth[node]] = column + 1
        places[node] = (column, depth[node])
    return places


def _corner(place: _GridCell) -> tuple[int, int]:
    return _MARGIN + place[0] * (_WIDTH + _GAP_X), _MARGIN + place[1] * (_HEIGHT + _GAP_Y)


def _edges(decided: Partition, places: Mapping[Node, _GridCell]) -> list[str]:
    producers = {t: p.node for p in decided.placements for t in p.node.outputs}
    lines = []
    for placement in decided.placements:
        x2, y2 = _corner(places[placement.node])
        for tensor in placement.node.operands:
            if tensor in producers:
                x1, y1 = _corner(places[producers[tensor]])
                lines.append(
                    f'<line x1="{x1 + _WIDTH // 2}" y1="{y1 + _HEIGHT}" x2="{x2 + _WIDTH // 2}" y2="{y2}" '
                    f'stroke="#555"/>'
                )
    return lines


def _box(placement: NodePlacement, place: _GridCell, colour: str) -> str:
    x, y = _corner(place)
    said = "; ".join(f"{refusal.device}: {refusal.reason}" for refusal in placement.refused)
    region = "" if placement.claim is None else f" (region {placement.claim})"
    frame = "#888" if placement.claim is None else "black"
    return (
        f"<g><title>{escape(said or placement.pattern or 'host')}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="{colour}" stroke="{frame}"/>'
        f'<text x="{x + 8}" y="{y + 16}" font-weight="bold">{escape(placement.node.op + region)}</text>'
        f'<text x="{x + 8}" y="{y + 32}">{escape(label(placement.node.name, 30))}</text></g>'
    )


def _legend(colours: Mapping[str, str], top: int) -> list[str]:
    lines = []
    for number, (name, colour) in enumerate(colours.items()):
        y = top + 24 * number
        lines.append(
            f'<rect x="{_MARGIN}" y="{y}" width="16" height="16" fill="{colour}" stroke="#888"/>'
            f'<text x="{_MARGIN + 24}" y="{y + 13}">{escape(name)}</text>'
        )
    return lines
