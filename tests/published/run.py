"""Tries the models of public repositories, and records what becomes of each.

python tests/published/run.py FOLDER ...            git checkouts, or folders of checkouts
python tests/published/run.py --record FOLDER ...   also writes docs/published.json and its page
python tests/published/run.py --record --add F ...  likewise, and keeps what is recorded of other repositories
python tests/published/run.py --page                only writes the page again from what is recorded
"""

from __future__ import annotations

import argparse
import datetime
import json
import multiprocessing
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "host")]

from published import page  # noqa: E402  found through the line above
from published.examine import STEPS, TOLERANCE, Verdict, judge  # noqa: E402  likewise
from published.sources import Published, models, sample  # noqa: E402  likewise

#: Models of a repository: publishers and kinds count, not copies.
MOST = 25


def checkouts(folders: Sequence[Path]) -> Iterator[Path]:
    """Yields git directories and work trees: the folders, or those at most two levels below them."""
    for folder in folders:
        below = [path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern)) if path.name != ".git"]
        yield from ([folder] if _is_git(folder) else [path for path in below if _is_git(path)])


def _is_git(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())


def collect(folders: Sequence[Path], most: int) -> list[Published]:
    """Returns the models to be tried: the repositories in turn, the smallest models of each first."""
    found: list[Published] = []
    for folder in checkouts(folders):
        try:
            found += models(folder)
        except subprocess.CalledProcessError as error:
            print(f"{folder}: no readable checkout: {error.stderr.decode(errors='replace').strip()}", file=sys.stderr)
    turns: Counter[str] = Counter()
    ordered = []
    for each in sorted(sample(found, most), key=lambda each: len(each.data)):
        ordered.append((turns[each.repository], each))
        turns[each.repository] += 1
    return [each for _, each in sorted(ordered, key=lambda pair: pair[0])]


def examined(chosen: Sequence[Published], jobs: int, seconds: float) -> Iterator[tuple[Published, Verdict]]:
    """Yields each model with its verdict; models beyond the time are left out."""
    end = time.monotonic() + seconds
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        waiting = [(each, pool.submit(judge, each)) for each in chosen]
        for each, future in waiting:
            if time.monotonic() > end:
                for _, left in waiting:
                    left.cancel()
                return
            yield each, future.result()


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 1 where a result differs or a model that tflite-micro runs is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--most", type=int, default=MOST, help="models of a repository")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no model is begun")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args(argv)
    if given.page:
        page.write(json.loads(page.RECORD.read_text(encoding="utf-8")))
        return 0
    rows = []
    chosen = collect(given.folders, given.most)
    print(f"{len(chosen)} models of {len({each.repository for each in chosen})} repositories", flush=True)
    for each, verdict in examined(chosen, given.jobs, given.seconds):
        source = {"repository": each.repository, "commit": each.commit, "path": each.path, "sha256": each.sha256}
        rows.append(source | vars(verdict))
        print(f"{verdict.outcome:8} {verdict.reference:12} {each.repository}: {each.path} {verdict.why}", flush=True)
    counts = Counter((row["outcome"], row["reference"]) for row in rows)
    for (outcome, reference), count in sorted(counts.items()):
        print(f"{count:5} {outcome} {reference}")
    if given.record:
        tried = {row["repository"] for row in rows}
        earlier = json.loads(page.RECORD.read_text(encoding="utf-8"))["models"] if given.add else []
        rows += [row for row in earlier if row["repository"] not in tried]
        rows.sort(key=lambda row: (row["repository"], row["path"]))
        date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        record = {"date": date, "steps": STEPS, "most": given.most, "tolerance": TOLERANCE, "models": rows}
        page.RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        page.write(record)
    bad = (("differs", "tflite-micro"), ("refused", "tflite-micro"), ("failed", ""))
    return int(any(counts[each] for each in bad))


if __name__ == "__main__":
    sys.exit(main())
