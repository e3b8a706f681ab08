"""Keywords for Robot Framework: run models on a board and compare the outputs with golden files.

    *** Settings ***
    Library    aboard.testing.robot_library.Aboard    ${CURDIR}/..

    *** Test Cases ***
    Golden Outputs
        Aboard Boot    qemu
        ${outputs}=    Aboard Run Model    ${CURDIR}/golden/kws_0_input.npz
        Outputs Should Match    ${outputs}    ${CURDIR}/golden/kws_0_output.npz

In a suite for `renode-test`, Renode boots the image and `Aboard Connect` replaces `Aboard Boot`. The session closes at
the end of each test. This file imports nothing of Robot Framework. Install aboard in the Python that runs `robot` or
`renode-test`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from aboard import runners
from aboard.api import Session
from aboard.base.manifest import Manifest
from aboard.device import input_files
from aboard.device.tensor_io import Values
from aboard.errors import InputError, did_you_mean
from aboard.project.project import Project
from aboard.transports.base import Transport
from aboard.transports.paced import PacedTransport
from aboard.transports.tcp import SocketTransport

_CONNECT_S = 30.0


class Aboard:
    """The keywords, for one project."""

    ROBOT_LIBRARY_SCOPE: ClassVar[str] = "SUITE"
    ROBOT_LISTENER_API_VERSION: ClassVar[int] = 3

    def __init__(self, project: str) -> None:
        """Takes the folder of a built project."""
        self._project = Project.open(project)
        self._session: Session | None = None
        self.ROBOT_LIBRARY_LISTENER = self

    def _end_test(self, data: Any, result: Any) -> None:
        """Called by Robot Framework after each test."""
        del data, result
        self.aboard_disconnect()

    def aboard_free_port(self) -> int:
        """Returns a free TCP port, for the serial line."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return int(probe.getsockname()[1])

    def aboard_boot(self, runner: str | None = None) -> None:
        """Boots the project's image and connects to it.

        Args:
            runner: Name of the runner (`qemu`, `unicorn`, ...); by default the first that supports the board.
        """
        self.aboard_disconnect()
        devices = runners.devices_of(self._project)
        self._session = Session.open(self._project, runners.choose(self._project.board, runner, devices=devices))

    def aboard_connect(self, port: int, host: str = "127.0.0.1") -> None:
        """Connects to an image that is running already; its serial line is a TCP port.

        The device has to run the project's build. Bytes are sent no faster than the emulated serial port takes them.

        Args:
            port: The port.
            host: Machine of the port.
        """
        self.aboard_disconnect()
        line: Transport = SocketTransport.tcp(host, int(port), _CONNECT_S)
        renode = self._project.board.emulator.renode
        if renode is not None and renode.receive_bytes_per_second:
            line = PacedTransport(line, renode.receive_bytes_per_second)
        self._session = Session.attach(self._project, line)

    def aboard_disconnect(self) -> None:
        """Ends the session, and the emulator that `Aboard Boot` started."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def aboard_run_model(self, source: str, model: str | None = None) -> dict[str, Values]:
        """Runs a model once and returns its outputs by tensor name.

        Args:
            source: Inputs: a `.npz`, `.npy` or `.bin` file, or `random:SEED`.
            model: Name of the model; optional if there is only one.
        """
        if self._session is None:
            raise InputError("Aboard Run Model: no session is open. Call Aboard Boot or Aboard Connect first")
        manifest = self._model(model)
        feed = input_files.load(source, manifest.inputs)
        return dict(self._session.infer(feed, manifest.name).outputs)

    def outputs_should_match(self, outputs: Mapping[str, Values], golden: str, tolerance: float = 0.0) -> None:
        """Fails unless outputs equal those of a file: the same bytes, or within a tolerance.

        Args:
            outputs: What `Aboard Run Model` returned.
            golden: A `.npz` file with an array for each output, by tensor name.
            tolerance: Largest difference of an element; 0 requires equal bytes.
        """
        with np.load(Path(golden), allow_pickle=False) as file:
            wanted = {name: file[name] for name in file.files}
        if set(wanted) != set(outputs):
            raise AssertionError(
                f"{golden}: other outputs, got {', '.join(sorted(outputs))} of the device, expected "
                f"{', '.join(sorted(wanted))}. Record the golden outputs again"
            )
        for name, expected in wanted.items():
            _compare(f"{golden}: {name}", np.asarray(outputs[name]), expected, float(tolerance))

    def _model(self, name: str | None) -> Manifest:
        models = self._project.models
        if name is None and len(models) == 1:
            return models[0]
        found = next((model for model in models if model.name == name), None)
        if found is None:
            names = [model.name for model in models]
            raise InputError(f"model {name}: not a model of the project. {did_you_mean(str(name), names)}")
        return found


def _compare(where: str, got: Values, expected: Values, tolerance: float) -> None:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise AssertionError(
            f"{where}: another shape or type, got {got.dtype}{list(got.shape)}, expected "
            f"{expected.dtype}{list(expected.shape)}. Record the golden outputs again"
        )
    # Integers are subtracted as floats, which do not wrap. With tolerance 0 every bit has to be equal.
    wrong = np.abs(got - expected.astype(np.float64)) > tolerance if tolerance else got != expected
    if wrong.any():
        first = tuple(int(index) for index in np.argwhere(wrong)[0])
        raise AssertionError(
            f"{where}: {int(wrong.sum())} of {got.size} elements differ, got {got[first]} at {list(first)}, expected "
            f"{expected[first]}. `aboard verify` names the operator at fault"
        )
