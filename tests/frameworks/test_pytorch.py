"""Modules and exported programs, with PyTorch: from training to outputs on an emulated board."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import aboard
from aboard import frameworks
from aboard.errors import ModelError
from support.commands import deployed

HOST = "c -runtime=host"
X = torch.linspace(-1, 1, 64).reshape(1, 1, 8, 8)


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(1)
    made = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
    )
    return made.eval()


@pytest.fixture
def program(network: nn.Module, tmp_path: Path) -> Path:
    torch.export.save(torch.export.export(network, (X,)), tmp_path / "net.pt2")
    return tmp_path / "net.pt2"


def expected(network: nn.Module) -> np.ndarray:
    with torch.no_grad():
        return network(X).numpy()


def test_a_file_on_a_board(
    network: nn.Module, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (y,) = deployed(program, X.numpy(), tmp_path)
    np.testing.assert_allclose(y, expected(network), atol=1e-5)


@pytest.mark.parametrize("given", [X, X.numpy(), (X,), {"input": X}], ids=["tensor", "array", "tuple", "names"])
def test_modules_are_compiled_as_they_evaluate(
    given: object, network: nn.Module, capfd: pytest.CaptureFixture[str]
) -> None:
    network.train()
    module = aboard.compile(network, target=HOST, example_inputs=given)
    assert (module.name, network.training, network[1].training) == ("sequential", True, True)
    assert capfd.readouterr() == ("", "")
    np.testing.assert_allclose(module.run(X.numpy()), expected(network.eval()), atol=1e-5)


def test_programs_need_no_inputs(network: nn.Module) -> None:
    module = aboard.compile(torch.export.export(network, (X,)), target=HOST)
    np.testing.assert_allclose(module.run(X.numpy()), expected(network), atol=1e-5)


def test_a_free_batch_is_1(network: nn.Module, tmp_path: Path) -> None:
    batch = {0: torch.export.Dim("batch")}
    torch.export.save(
        torch.export.export(network, (X.repeat(2, 1, 1, 1),), dynamic_shapes=(batch,)), tmp_path / "a.pt2"
    )
    module = aboard.compile(tmp_path / "a.pt2", target=HOST)
    np.testing.assert_allclose(module.run(X.numpy()), expected(network), atol=1e-5)


def test_files_hold_no_paths_of_this_machine(program: Path) -> None:
    assert str(Path(__file__).parent).encode() not in frameworks.read_bytes(program)
    assert b"site-packages" not in frameworks.read_bytes(program)


class Harmful:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.path),)


def test_pickles_in_a_file_are_not_loaded(program: Path, tmp_path: Path) -> None:
    data = io.BytesIO()
    torch.save(Harmful(tmp_path / "harm"), data)
    with zipfile.ZipFile(program) as file, zipfile.ZipFile(tmp_path / "bad.pt2", "w") as bad:
        for name in file.namelist():
            bad.writestr(name, data.getvalue() if name.endswith("model.pt") else file.read(name))
    with pytest.raises(ModelError, match="it holds a pickle that runs code, which is not loaded"):
        frameworks.read_bytes(tmp_path / "bad.pt2")
    assert not (tmp_path / "harm").exists()


def test_other_files_of_pytorch_are_named(network: nn.Module, tmp_path: Path) -> None:
    torch.save(network.state_dict(), tmp_path / "weights.pt")
    torch.save(network, tmp_path / "module.pth")
    torch.save(network.state_dict(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    torch.jit.trace(network, X).save(tmp_path / "script.pt")
    for name in ("weights.pt", "module.pth", "old.pt"):
        with pytest.raises(ModelError, match="a pickle of PyTorch: weights without their network"):
            frameworks.read_bytes(tmp_path / name)
    with pytest.raises(ModelError, match="a TorchScript file"):
        frameworks.read_bytes(tmp_path / "script.pt")


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x


class Eigenvalues(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.eigvals(x).real


def test_refusals_have_the_reason() -> None:
    with pytest.raises(ModelError, match=r"^Branch: .*its path depends on values: .*torch\.where"):
        aboard.compile(Branch(), target=HOST, example_inputs=torch.zeros(1, 3))
    with pytest.raises(ModelError, match=r"^Eigenvalues: .*No ONNX function found for .*Replace the operator"):
        aboard.compile(Eigenvalues(), target=HOST, example_inputs=torch.zeros(3, 3))
