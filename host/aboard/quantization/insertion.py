"""Makes the integer graph of a plan.

quantize and dequantize nodes are put around the nodes of the plan, and around their constants; the pass
fuse-quantisation makes layers between them integer layers, as it does for files that were quantised so. What integers
cannot compute stays between a dequantize and a quantize.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from aboard.ir import DType, Graph, Node, Quantization, Tensor, TensorType
from aboard.ir.rewriting import free_name
from aboard.ops.weighted import BIAS, WEIGHTS
from aboard.passes import run_passes
from aboard.passes.fold_constants import FoldConstants
from aboard.passes.fuse_quantisation import FuseQuantisation
from aboard.passes.merge_reshapes import MergeReshapes
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.remove_no_ops import RemoveNoOps
from aboard.quantization.groups import keeps_scale
from aboard.quantization.plan import WEIGHTED, Plan, Range, nodes_of_reals


def integer_graph(graph: Graph, plan: Plan, tables: bool = False, inputs: bool = True) -> Graph:
    """Returns the graph that computes with the integers of a plan; inputs and outputs stay real numbers.

    A tensor of integers has the name of the tensor of real numbers that it stands for.

    Args:
        graph: The prepared graph of real numbers, which stays.
        plan: The decisions.
        tables: Make functions of one int8 number tables, which no model file can say.
        inputs: Quantise the inputs even where nodes that compute real numbers read them.
    """
    made = real_graph(graph, plan, inputs=inputs)
    run_passes(
        made,
        (
            FuseQuantisation(tables=tables),
            RemoveDeadCode(),
            FoldConstants(),
            RemoveNoOps(),
            MergeReshapes(),
            RemoveDeadCode(),
        ),
    )
    return made


def real_graph(graph: Graph, plan: Plan, inputs: bool = True) -> Graph:
    """Returns the graph of real numbers with quantize and dequantize nodes; arguments as for `integer_graph`."""
    made = copy.deepcopy(graph)
    _Insertion(made, plan).run(inputs=inputs)
    run_passes(made, (RemoveDeadCode(),))
    return made


class _Insertion:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph, self._plan = graph, plan
        self._nodes: list[Node] = []
        # The dequantised form of each tensor by its element type, and the node type that computed it.
        self._forms: dict[tuple[int, DType], Tensor] = {}
        self._made_in: dict[int, DType] = {}

    def run(self, *, inputs: bool) -> None:
        graph = self._graph
        for tensor in graph.inputs if inputs else ():
            if tensor.dtype is DType.FLOAT32:
                types = [self._plan.dtype(node) for node in graph.consumers(tensor)]
                self._made_in[id(tensor)] = next((each for each in types if each is not DType.FLOAT32), DType.INT8)
        reals = {id(node) for node in nodes_of_reals(graph)}
        outputs = list(graph.outputs)
        for node in list(graph.nodes):
            dtype = self._plan.dtype(node) if id(node) in reals else DType.FLOAT32
            node.inputs = [self._operand(node, index, tensor, dtype) for index, tensor in enumerate(node.inputs)]
            if node.op in WEIGHTED and dtype is not DType.FLOAT32:
                node.inputs = [*node.inputs[:BIAS], self._bias(node)]
            self._nodes.append(node)
            if dtype is not DType.FLOAT32:
                for tensor in node.outputs:
                    self._made_in[id(tensor)] = dtype
        graph.nodes = self._nodes
        for index, tensor in enumerate(outputs):
            dtype = self._made_in.get(id(tensor), DType.FLOAT32)
            if dtype is not DType.FLOAT32:
                self._give(index, tensor, dtype)

    def _give(self, index: int, tensor: Tensor, dtype: DType) -> None:
        """Makes an output of the model the dequantised form of itself, under its own name."""
        result = self._form(tensor, dtype)
        name = tensor.name
        tensor.name = free_name(self._graph, f"{name}/real")
        result.name = name
        self._graph.outputs[index] = result

    def _operand(self, node: Node, index: int, tensor: Tensor | None, dtype: DType) -> Tensor | None:
        if tensor is None or tensor.dtype is not DType.FLOAT32:
            return tensor
        weighted = node.op in WEIGHTED
        if tensor.is_constant:
            if dtype is DType.FLOAT32 or (weighted and index == BIAS):
                return tensor
            return self._weights(node, tensor) if weighted and index == WEIGHTS else self._constant(node, tensor, dtype)
        made_in = self._made_in.get(id(tensor), DType.FLOAT32)
        if dtype is DType.FLOAT32:
            return tensor if made_in is DType.FLOAT32 else self._form(tensor, made_in)
        return self._form(tensor, dtype)

    def _form(self, tensor: Tensor, dtype: DType) -> Tensor:
        """Returns a tensor after quantisation to a type; the first form is in the type of the node that computes it."""
        known = self._forms.get((id(tensor), dtype))
        if known is not None:
            return known
        made_in = self._made_in.get(id(tensor), dtype)
        before = tensor if made_in is dtype else self._form(tensor, made_in)
        made = self._pair(before, tensor.name, self._plan.quantization(tensor, dtype), dtype)
        self._forms[id(tensor), dtype] = made
        return made

    def _pair(self, before: Tensor, name: str, quant: Quantization, dtype: DType) -> Tensor:
        stored = Tensor(self._free(f"{name}/{dtype.value}"), TensorType(before.shape, dtype, quant))
        real = Tensor(self._free(f"{name}/of_{dtype.value}"), TensorType(before.shape, DType.FLOAT32))
        stored.order = real.order = before.order
        self._nodes += [
            Node("quantize", stored.name, [before], [stored]),
            Node("dequantize", real.name, [stored], [real]),
        ]
        return real

    def _free(self, wanted: str) -> str:
        taken = {tensor.name for node in self._nodes for tensor in node.outputs}
        name = free_name(self._graph, wanted)
        number = 0
        while name in taken:
            number += 1
            name = free_name(self._graph, f"{wanted}_{number}")
        return name

    def _weights(self, node: Node, tensor: Tensor) -> Tensor:
        weights = self._plan.weights[node.name]
        return self._stored(tensor, weights.integers, weights.quantization, DType.INT8)

    def _bias(self, node: Node) -> Tensor | None:
        """Returns the corrected bias of a layer; its own where there is none."""
        values, own = self._plan.biases.get(node.name), node.optional_input(BIAS)
        if values is None:
            return own
        name = self._free(f"{node.name}/bias" if own is None else own.name)
        return Tensor(name, TensorType(values.shape, DType.FLOAT32), values)

    def _constant(self, node: Node, tensor: Tensor, dtype: DType) -> Tensor:
        values = np.asarray(tensor.data, np.float64)
        if keeps_scale(node):
            quant = self._plan.quantization(node.output, dtype)
        else:
            quant = Range(float(values.min()), float(values.max())).quantization(dtype)
        info = np.iinfo(dtype.value)
        steps = np.clip(np.rint(values / quant.scale) + quant.zero_point, info.min, info.max)
        return self._stored(tensor, steps.astype(dtype.numpy), quant, dtype)

    def _stored(
        self,
        tensor: Tensor,
        values: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
        quant: Quantization,
        dtype: DType,
    ) -> Tensor:
        stored = Tensor(self._free(f"{tensor.name}/{dtype.value}"), TensorType(tensor.shape, dtype, quant), values)
        real = Tensor(self._free(f"{tensor.name}/of_{dtype.value}"), TensorType(tensor.shape, DType.FLOAT32))
        self._nodes.append(Node("dequantize", real.name, [stored], [real]))
        return real


def stored_names(graph: Graph) -> Mapping[str, Tensor]:
    """Returns the tensors of integers of an integer graph, by the name of the tensor of real numbers of each."""
    found: dict[str, Tensor] = {}
    for tensor in graph.tensors():
        name, _, kind = tensor.name.rpartition("/")
        if kind in ("int8", "int16") and not tensor.is_constant:
            found.setdefault(name, tensor)
    return found
