"""The JSON that each command prints with `--json`; docs/reference/json.md is made from it.

Every key is always present; a key that does not apply is null. Values carry no units: sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from aboard.cli.schema_bench import BenchResult
from aboard.cli.schema_boards import (
    BoardAddResult,
    BoardInfo,
    BoardsResult,
    DetectResult,
    HardwareResult,
    HardwareShowResult,
)
from aboard.cli.schema_check import EvaluateResult, VerifyResult
from aboard.cli.schema_ci import CiResult
from aboard.cli.schema_compare import CompareResult
from aboard.cli.schema_compile import CompileResult
from aboard.cli.schema_doctor import DoctorResult
from aboard.cli.schema_farm import FarmStatusResult, FarmVerifyResult
from aboard.cli.schema_flash import DebugResult, DevicesResult, FlashResult
from aboard.cli.schema_ops import OpsResult
from aboard.cli.schema_passes import PassesResult
from aboard.cli.schema_project import BuildReport, CreateResult, DeployResult, NewResult, RunResult
from aboard.cli.schema_quantize import QuantizeResult
from aboard.cli.schema_report import ReportResult
from aboard.cli.schema_targets import NewTargetResult, PartitionResult, TargetResult, TargetsResult, WhyResult
from aboard.cli.schema_tune import TuneResult

#: What `COMMAND --json` prints.
RESULTS: Mapping[str, type[BaseModel]] = {
    "new": NewResult,
    "compile": CompileResult,
    "create": CreateResult,
    "build": BuildReport,
    "flash": FlashResult,
    "run": RunResult,
    "deploy": DeployResult,
    "verify": VerifyResult,
    "evaluate": EvaluateResult,
    "quantize": QuantizeResult,
    "compare": CompareResult,
    "bench": BenchResult,
    "ci init": CiResult,
    "debug": DebugResult,
    "farm status": FarmStatusResult,
    "farm verify": FarmVerifyResult,
    "devices": DevicesResult,
    "boards": BoardsResult,
    "boards add": BoardAddResult,
    "boards show": BoardInfo,
    "hardware": HardwareResult,
    "hardware show": HardwareShowResult,
    "hardware detect": DetectResult,
    "targets": TargetsResult,
    "targets show": TargetResult,
    "targets why": WhyResult,
    "tune": TuneResult,
    "report": ReportResult,
    "partition": PartitionResult,
    "passes": PassesResult,
    "ops": OpsResult,
    "new-target": NewTargetResult,
    "doctor": DoctorResult,
}
