"""Trains five networks with PyTorch, saves them as exported programs, and converts the files as aboard does.

make test-frameworks                         # makes .venv-frameworks
.venv-frameworks/bin/python tests/data/frameworks/train_torch.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from samples import STORED, Split, digits, series, store
from torch import nn

from aboard import frameworks


class Residual(nn.Module):
    """A depthwise-separable convolution beside an identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU6(),
            nn.Conv2d(channels, channels, 1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.layers(x))


class Last(nn.Module):
    """The last step of a recurrent layer's outputs."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0][:, -1]


def networks() -> dict[str, tuple[nn.Module, Split]]:
    """Returns each network, and its data: images with channels first, series with channels or steps first."""
    torch.manual_seed(13)
    x, test, y, labels = digits()
    images: Split = (x[:, None], test[:, None], y, labels)
    steps = series()
    channels: Split = (steps[0].transpose(0, 2, 1).copy(), steps[1].transpose(0, 2, 1).copy(), *steps[2:])
    return {
        "mlp": (nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), images),
        "cnn": (
            nn.Sequential(
                nn.Conv2d(1, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Dropout(0.2),
                nn.Flatten(),
                nn.Linear(72, 10),
                nn.Softmax(-1),
            ),
            images,
        ),
        "separable": (
            nn.Sequential(
                nn.Conv2d(1, 16, 3, stride=2, padding=1),
                Residual(16),
                Residual(16),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(16, 10),
            ),
            images,
        ),
        "tcn": (
            nn.Sequential(
                nn.Conv1d(2, 8, 3, padding=1),
                nn.ReLU(),
                nn.Conv1d(8, 8, 3, padding=2, dilation=2),
                nn.GELU(),
                nn.AdaptiveAvgPool1d(1),
                nn.Flatten(),
                nn.Linear(8, 2),
            ),
            channels,
        ),
        "gru": (nn.Sequential(Last(nn.GRU(2, 8, batch_first=True)), nn.Linear(8, 2)), steps),
    }


def train(network: nn.Module, x: torch.Tensor, y: torch.Tensor) -> None:
    """Trains a network in place, and leaves it in evaluation."""
    optimiser = torch.optim.Adam(network.parameters(), 5e-3)
    network.train()
    for _ in range(12):
        for rows in torch.randperm(len(x)).split(32):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(x[rows]), y[rows]).backward()
            optimiser.step()
    network.eval()


def main() -> None:
    """Writes torch_*.onnx and torch.npz."""
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    files, arrays = {}, {}
    for name, (network, (x, test, y, labels)) in networks().items():
        train(network, torch.from_numpy(x), torch.from_numpy(y))
        with torch.no_grad():
            outputs = network(torch.from_numpy(test)).numpy()
        print(name, "accuracy", round(float(np.mean(outputs.argmax(-1) == labels)), 3))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.pt2"
            torch.export.save(torch.export.export(network, (torch.from_numpy(test[:1]),)), path)
            files[name] = frameworks.read_bytes(path)
        arrays[f"{name}/x"], arrays[f"{name}/y"] = test[:STORED], outputs[:STORED]
    store("torch", ".onnx", files, arrays)


if __name__ == "__main__":
    main()
