"""`aboard farm`: a farm of boards, on the scheduler of Dask."""

from __future__ import annotations

import time
from datetime import timedelta

import click

from aboard.base.table import table
from aboard.base.wrapping import paragraph
from aboard.cli import farm_verify, farm_worker
from aboard.cli.console import Console
from aboard.cli.farm_options import address_option
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_farm import FarmStatusResult, FarmWorkerInfo
from aboard.farm import engine, offers
from aboard.farm.offers import Offer

_FEW = 3


@click.group(
    "farm",
    epilog=example(
        "dask scheduler --host 127.0.0.1 --port 8786 --no-dashboard",
        "aboard farm worker tcp://127.0.0.1:8786 --emulators 2",
        "aboard farm status --farm tcp://127.0.0.1:8786",
        "aboard farm verify digits --boards arm/mps2_an385,arm/mps2_an386 --farm tcp://127.0.0.1:8786",
    ),
)
def command() -> None:
    """Share boards and emulators of several machines, and verify many models on many boards."""


@command.command("status", epilog=example("aboard farm status --farm tcp://127.0.0.1:8786 --json"))
@address_option
@output_options
@pass_console
def _status(console: Console, farm: str) -> None:
    """List the boards of a farm, their state, and who runs a job on them."""
    with engine.connected(farm) as client:
        found = offers.offers(client)
    now = time.time()
    result = FarmStatusResult(address=farm, workers=[_described(offer, now) for offer in found])
    console.emit(result, lambda: _report(result))


def _described(offer: Offer, now: float) -> FarmWorkerInfo:
    stated = {
        "name": offer.name,
        "kind": offer.kind,
        "boards": list(offer.boards),
        "device": offer.device,
        "state": offer.state,
        "holder": offer.holder or None,
        "seconds": round(max(0.0, now - offer.since), 1) if offer.holder else None,
        "jobs": offer.jobs,
        "done": offer.done,
        "failures": offer.failures,
        "seen_seconds": round(max(0.0, now - offer.seen), 1),
        "version": offer.version,
        "log": list(offer.log),
    }
    return FarmWorkerInfo.model_validate(stated)


def _report(result: FarmStatusResult) -> str:
    if not result.workers:
        return paragraph("The farm has no worker. Start one where boards are: `aboard farm worker ADDRESS`.")
    rows = [(w.name, w.kind, _boards(w.boards), w.device, w.state, _held(w), w.jobs, w.done) for w in result.workers]
    text = table(("worker", "kind", "boards", "device", "state", "holder", "jobs", "done"), rows)
    bad = [w for w in result.workers if w.state in ("gone", "quarantined")]
    return "\n\n".join([text, *(f"{w.name} ({w.state}):\n" + "\n".join(f"  {line}" for line in w.log) for w in bad)])


def _boards(keys: list[str]) -> str | None:
    more = f" and {len(keys) - _FEW} more" if len(keys) > _FEW else ""
    return ", ".join(keys[:_FEW]) + more if keys else None


def _held(worker: FarmWorkerInfo) -> str | None:
    if worker.holder is None:
        return None
    return f"{worker.holder} for {timedelta(seconds=round(worker.seconds or 0))}"


command.add_command(farm_worker.command)
command.add_command(farm_verify.command)
