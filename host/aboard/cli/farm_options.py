"""The options of the commands that use a farm."""

from __future__ import annotations

import click

address_option = click.option(
    "--farm",
    metavar="ADDRESS",
    required=True,
    help="Address of the farm's scheduler, such as tcp://127.0.0.1:8786; tls://... with Dask's settings for TLS.",
)
where_option = click.option(
    "--where",
    metavar="CONDITIONS",
    help='Boards of the farm, such as "core=cortex-m4 and ram>=128K". Names: board, core, soc, feature, ram, flash.',
)
patience_option = click.option(
    "--patience",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    default=60.0,
    show_default=True,
    help="How long the farm may have no worker for a job, or no scheduler, before the job fails.",
)
