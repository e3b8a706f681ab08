from __future__ import annotations

import pytest

from aboard.base.manifest import Manifest
from aboard.errors import ProjectError
from aboard.project import capacity, mlperf, templates
from support.bundles import BYTES, tiny_manifest

MLPERF = {"protocol": "mlperf", "mlperf_model": "auto"}


def of(name: str, *, taken: str = "int8", given: str = "int8") -> Manifest:
    model = tiny_manifest("cortex-m4", name)
    inputs = tuple(tensor.model_copy(update={"dtype": taken}) for tensor in model.inputs)
    outputs = tuple(tensor.model_copy(update={"dtype": given}) for tensor in model.outputs)
    return model.model_copy(update={"inputs": inputs, "outputs": outputs})


@pytest.mark.parametrize(
    ("name", "benchmark", "db_bytes", "quantized_bytes"),
    [
        ("kws", "kws01", BYTES, 0),
        ("kws_small", "kws01", BYTES, 0),
        ("sww", "sww01", BYTES, 0),
        ("vww", "vww01", BYTES, 0),
        ("ic", "ic01", BYTES, 0),
        ("ad", "ad01", 4 * BYTES, BYTES),
        ("digits", "digits", BYTES, 0),
    ],
)
def test_the_name_of_a_model_tells_its_benchmark(
    name: str, benchmark: str, db_bytes: int, quantized_bytes: int
) -> None:
    service = mlperf.plan([of(name)], MLPERF)
    assert (service.benchmark.name, service.db_bytes, service.quantized_bytes) == (benchmark, db_bytes, quantized_bytes)


def test_the_option_goes_before_the_name() -> None:
    service = mlperf.plan([of("kws")], {**MLPERF, "mlperf_model": "ad01"})
    assert (service.benchmark.name, service.benchmark.results) == ("ad01", "error")


def test_what_the_option_allows_is_what_there_is() -> None:
    option = templates.load("baremetal").options["mlperf_model"]
    assert set(option.values) == {"auto", *(known.name for known in mlperf.BENCHMARKS)}


def test_a_float_model_is_given_its_input_as_it_is() -> None:
    assert mlperf.plan([of("digits_f32", taken="float32", given="float32")], MLPERF).benchmark.input == "raw"


def test_buffers_count_as_memory_of_the_project() -> None:
    options = {**MLPERF, "receive_bytes": 1024, "frame_bytes": 512, "stack_bytes": 4096}
    assert capacity.plan([of("ad")], options).buffers == 4 * BYTES + BYTES + 1024


def test_one_model_is_served() -> None:
    wanted = (
        r"option protocol: mlperf serves one model with one input and one output, got a, b \(1 inputs and 1 outputs; "
        r"1 inputs and 1 outputs\), expected one. Make a project for each model, or use -O protocol=rpc"
    )
    with pytest.raises(ProjectError, match=wanted):
        mlperf.plan([of("a"), of("b")], MLPERF)


def test_an_input_in_rows_is_refused() -> None:
    wanted = (
        "option protocol: mlperf loads inputs whole, got vww compiled with -input=rows, expected another -input. "
        "Compile it with -input=consumed, or use -O protocol=rpc"
    )
    with pytest.raises(ProjectError, match=f"^{wanted}$"):
        mlperf.plan([of("vww").model_copy(update={"input_mode": "rows"})], MLPERF)


def test_types_that_cannot_be_told_are_refused() -> None:
    wanted = "ic: ic01 is not told in its types, got float32 and float32, expected int8. Use a quantized model"
    with pytest.raises(ProjectError, match=wanted):
        mlperf.plan([of("ic", taken="float32", given="float32")], MLPERF)
    with pytest.raises(ProjectError, match="got int8 and int32, expected an output of int8, uint8, float32"):
        mlperf.plan([of("kws", given="int32")], MLPERF)


def test_an_error_needs_an_output_like_the_input() -> None:
    model = of("ad")
    short = model.outputs[0].model_copy(update={"shape": (1, 3), "bytes": 3})
    with pytest.raises(ProjectError, match="ad01 compares output and input, got int8 1x3 and int8 1x64, expected the"):
        mlperf.plan([model.model_copy(update={"outputs": (short,)})], MLPERF)


def test_options_of_the_rpc_are_off_and_refused_when_asked_for() -> None:
    values = {**MLPERF, "profile": True, "trace": False, "run_op": True, "input_copy": True, "stack_bytes": 4096}
    assert mlperf.adjust({"stack_bytes": "4096"}, values) == {
        **values,
        "profile": False,
        "run_op": False,
        "input_copy": False,
    }
    assert mlperf.adjust({}, {**values, "protocol": "rpc"}) == {**values, "protocol": "rpc"}
    with pytest.raises(ProjectError, match=r"option protocol: mlperf has no run_op, got run_op=on, expected the RPC"):
        mlperf.adjust({"run_op": "on"}, values)
