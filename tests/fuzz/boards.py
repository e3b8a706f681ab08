"""Random graphs on emulated Cortex-M3, M4 and M55, against tflite-micro; each image carries several.

A fourth of them are single layers of large images, windows or many channels, whose distances exceed the offsets of
instructions. Models of one image differ in `-opt` and `-input`, so that their kernels and schedules lie side by side.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

import numpy as np  # noqa: E402  found through the line above

import aboard  # noqa: E402  likewise
from aboard.compiler.pipeline import Module  # noqa: E402  likewise
from aboard.errors import AboardError, ModelError, TargetError  # noqa: E402  likewise
from aboard.importers import load  # noqa: E402  likewise
from fuzz import differential, minimise, random_graph  # noqa: E402  likewise
from fuzz.campaign import Campaign, Options, options, read_case  # noqa: E402  likewise
from fuzz.differential import Failure  # noqa: E402  likewise
from support import single_layers  # noqa: E402  likewise

BOARDS = ("arm/mps2_an385", "arm/mps2_an386", "arm/mps3_an547")
LIMITS = random_graph.Limits(elements=6000, macs=150_000, operators=8)
#: The part of large layers.
_LARGE = 1 / 4
#: Graphs of an image: building it takes longer than running them.
_AT_ONCE = 12
_MINIMISE_SECONDS = 120.0


@dataclass(frozen=True)
class Graph:
    """A graph for a board.

    Attributes:
        model: A TFLite file.
        board: One of `BOARDS`.
        words: Options of the target.
        seed: Of the inputs.
    """

    model: bytes
    board: str
    words: str
    seed: int

    def compiled(self, name: str) -> Module | None:
        """Returns the module, or None where the model or the options are refused."""
        try:
            return aboard.compile(self.model, target=f"{self.board} {self.words}", name=name)
        except (ModelError, TargetError):
            return None


def draw(rng: np.random.Generator, board: str) -> Graph:
    """Draws a graph with options for a board."""
    large = rng.random() < _LARGE
    layer = single_layers.large(int(rng.integers(1 << 30))) if large else None
    model = single_layers.model([layer]) if layer else random_graph.draw(rng, limits=LIMITS)
    modes = ["consumed", "kept"] + ["rows"] * (minimise.read(model).subgraphs[0].inputs.size == 1)
    words = f"-opt={rng.choice(['size', 'balanced', 'speed'])} -input={rng.choice(modes)}"
    return Graph(model, board, words, int(rng.integers(1 << 30)))


def run(graphs: Sequence[Graph]) -> list[str | None]:
    """Returns for each graph of one image what is wrong with its results; None where they are right.

    Raises:
        AboardError: The image cannot be made or run.
    """
    found: list[str | None] = []
    modules = [graph.compiled(f"m{number}") for number, graph in enumerate(graphs)]
    with tempfile.TemporaryDirectory(prefix="aboard-fuzz-") as folder:
        kept = [module for module in modules if module is not None]
        if not kept:
            return ["refused"] * len(graphs)
        project = aboard.create(kept, board=graphs[0].board, path=Path(folder) / "project")
        project.build()
        with project.session() as device:
            for graph, module in zip(graphs, modules, strict=True):
                found.append("refused" if module is None else _wrong(graph, module, device))
    return found


def _wrong(graph: Graph, module: Module, device: Any) -> str | None:
    imported = load(graph.model, name=module.name)
    feeds = [differential.inputs(imported, graph.seed + number) for number in range(2)]
    try:
        given = [[feed[tensor.name] for tensor in imported.inputs] for feed in feeds]
        expected = differential.reference(graph.model, imported, given)
    except RuntimeError as error:
        return f"refused by tflite-micro: {error}"
    names = [record.name for record in module.manifest.outputs]
    for feed, wanted in zip(feeds, expected, strict=True):
        got = device.run(feed, model=module.name)
        results = [np.asarray(got[name]) for name in names] if isinstance(got, dict) else [np.asarray(got)]
        try:
            differential.check(imported, feed, results, wanted, "the board differs from tflite-micro")
        except Failure as failure:
            return str(failure)
    return None


def keep(campaign: Campaign, graph: Graph, what: str) -> None:
    """Counts a failure and writes its case, with as few operators as fail."""

    def fails(model: bytes) -> bool:
        tried = Graph(model, graph.board, graph.words, graph.seed)
        try:
            (wrong,) = run([tried])
        except AboardError as error:
            wrong = str(error)
        return wrong is not None and wrong.split(":")[0] == what.split(":")[0]

    model = minimise.smallest(graph.model, fails, _MINIMISE_SECONDS)
    if campaign.fail(f"{what.split(':')[0]} {graph.board} {minimise.kinds(model)}", f"{graph.board}: {what}"):
        content = {name: value for name, value in asdict(graph).items() if name != "model"}
        campaign.keep(what, content, {".tflite": model})


def _image(campaign: Campaign, graphs: Sequence[Graph]) -> None:
    """Runs an image and counts; where it cannot be made, each graph is tried alone."""
    try:
        found = run(graphs)
    except AboardError as error:
        if len(graphs) == 1:
            keep(campaign, graphs[0], f"no image: {error}")
            return
        for graph in graphs:
            _image(campaign, [graph])
        return
    for graph, wrong in zip(graphs, found, strict=True):
        if wrong is None:
            campaign.counts["compared"] += 1
            campaign.counts[graph.board.rpartition("/")[2]] += 1
        elif wrong.startswith("refused"):
            campaign.counts["refused"] += 1
        else:
            keep(campaign, graph, wrong)


def replay(path: Path) -> int:
    """Repeats a case; 0 where it does not fail any more."""
    content = read_case(path, "boards")
    fields = {name: content[name] for name in ("board", "words", "seed")}
    try:
        (wrong,) = run([Graph(path.with_suffix(".tflite").read_bytes(), **fields)])
    except AboardError as error:
        wrong = str(error)
    print(f"{path.name}: {wrong or 'as tflite-micro'}")
    return int(wrong is not None and not wrong.startswith("refused"))


def main(given: Options) -> int:
    if given.replay is not None:
        return replay(given.replay)
    campaign = Campaign("boards", given)
    waiting: dict[str, list[Graph]] = {board: [] for board in BOARDS}
    for number in campaign.numbers():
        board = BOARDS[number % len(BOARDS)]
        waiting[board].append(draw(np.random.default_rng([given.seed, number]), board))
        if len(waiting[board]) == _AT_ONCE:
            _image(campaign, waiting[board])
            waiting[board] = []
    for graphs in waiting.values():
        if graphs:
            _image(campaign, graphs)
    return campaign.finish()


if __name__ == "__main__":
    sys.exit(main(options(__doc__.splitlines()[0])))
