"""The page "Your own model", from top to bottom: each framework from training to outputs on an emulated board."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from support import markdown, own_model

SECTIONS = own_model.sections()

#: Numbers that a section prints: outputs of the device, and the same of the framework.
COMPARED = {"Keras": 20, "PyTorch": 20, "scikit-learn": 20}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which all sections run; later ones read what earlier ones wrote."""
    return tmp_path_factory.mktemp("page")


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_section(heading: str, folder: Path) -> None:
    printed = own_model.run_code(SECTIONS[heading], folder)
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d*(?:e-?\d+)?", printed)]
    assert len(numbers) == COMPARED.get(heading, 0)
    device, framework = np.reshape(numbers, (2, -1))
    np.testing.assert_allclose(device, framework, atol=2e-4)
    for command in own_model.commands(SECTIONS[heading]):
        own_model.check(command, markdown.run(command, folder, seconds=1200))
