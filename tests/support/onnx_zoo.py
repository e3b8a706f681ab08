"""Small ONNX networks of the kinds that people export from PyTorch, as its exporters write them: random weights."""

from __future__ import annotations

import numpy as np

from support.onnx_networks import Network


def _swish(n: Network, x: str) -> str:
    return n.op("Mul", x, n.op("Sigmoid", x))


def _hard_swish(n: Network, x: str) -> str:
    if n.opset >= 14:
        return n.op("HardSwish", x)
    clipped = n.op("Clip", n.op("Add", x, n.array(3.0)), n.array(0.0), n.array(6.0))
    return n.op("Div", n.op("Mul", x, clipped), n.array(6.0))


def _gate(n: Network, x: str, channels: int) -> str:
    """Squeeze and excitation."""
    inner = n.op("Relu", n.conv(n.op("GlobalAveragePool", x), (4, channels, 1, 1)))
    return n.op("Mul", n.op("HardSigmoid", n.conv(inner, (channels, 4, 1, 1)), alpha=1 / 6, beta=0.5), x)


def inverted_residuals(opset: int) -> bytes:
    """MobileNetV3: blocks with gates and hard-swish, and a free batch."""
    n = Network(opset)
    x = n.input("image", "batch", 3, 16, 16)
    y = _hard_swish(n, n.batch_norm(n.conv(x, (8, 3, 3, 3), bias=False, strides=[2, 2]), 8))
    for outputs, stride in ((8, 1), (12, 2)):
        z = _hard_swish(n, n.batch_norm(n.conv(y, (16, 8, 1, 1), bias=False), 16))
        z = n.batch_norm(n.conv(z, (16, 1, 5, 5), bias=False, group=16, strides=[stride] * 2), 16)
        z = n.conv(_gate(n, n.op("Relu", z), 16), (outputs, 16, 1, 1))
        y = n.op("Add", z, y) if stride == 1 else z
    flat = n.op("Flatten", n.op("GlobalAveragePool", _hard_swish(n, y)), axis=1)
    return n.file(logits=n.linear(flat, 12, 5, gemm=True))


def gru_classifier(opset: int) -> bytes:
    """Two layers in both directions, batch first; the state is made from the shape of the input."""
    n, units, size = Network(opset), 4, 6
    x = n.input("sequence", "batch", 7, size)
    t = n.op("Transpose", x, perm=[1, 0, 2])
    for _ in range(2):
        batch = n.op("Gather", n.op("Shape", x), n.array(0, np.int64), axis=0)
        shape = n.op("Concat", n.integers(2), n.unsqueeze(batch, 0), n.integers(units), axis=0)
        state = n.op("Expand", n.array(0.0), shape)
        parts = [
            n.normal(2, 3 * units, size, fan=size),
            n.normal(2, 3 * units, units, fan=units),
            n.normal(2, 6 * units),
        ]
        options = {"hidden_size": units, "direction": "bidirectional", "linear_before_reset": 1}
        y = n.many("GRU", [t, *parts, "", state], 2, **options)[0]
        t, size = n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3]), n.integers(0, 0, -1)), 2 * units
    last = n.op("Gather", n.op("Transpose", t, perm=[1, 0, 2]), n.array(-1, np.int64), axis=1)
    return n.file(y=n.linear(last, size, 3, gemm=True))


def _shuffle(n: Network, x: str, groups: int, channels: int, size: int) -> str:
    y = n.op("Reshape", x, n.integers(1, groups, channels // groups, size, size))
    return n.op("Reshape", n.op("Transpose", y, perm=[0, 2, 1, 3, 4]), n.integers(1, -1, size, size))


def channel_shuffle(opset: int) -> bytes:
    """ShuffleNet V2: half of the channels pass, and all are shuffled."""
    n = Network(opset)
    y = n.op("Relu", n.conv(n.input("image", 1, 3, 8, 8), (8, 3, 3, 3)))
    for _ in range(2):
        kept, z = n.split(y, 1, 4, 4)
        z = n.conv(n.op("Relu", n.conv(z, (4, 4, 1, 1))), (4, 1, 3, 3), group=4)
        y = _shuffle(n, n.op("Concat", kept, n.op("Relu", n.conv(z, (4, 4, 1, 1))), axis=1), 2, 8, 8)
    y = n.reduce_mean(n.op("Relu", n.conv(y, (12, 8, 1, 1))), 2, 3, keepdims=0)
    return n.file(y=n.linear(y, 12, 4, gemm=True))


def detection_head(opset: int) -> bytes:
    """YOLO: feature maps of two sizes, boxes and scores of both joined."""
    n = Network(opset)
    y = _swish(n, n.conv(n.input("image", 1, 3, 16, 16), (8, 3, 3, 3), strides=[2, 2]))
    small = _swish(n, n.conv(y, (12, 8, 3, 3), strides=[2, 2]))
    options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    grown = n.op("Resize", small, n.array([]), n.array([1, 1, 2, 2]), **options)
    large = _swish(n, n.conv(n.op("Concat", grown, y, axis=1), (8, 20, 3, 3)))
    boxes, scores = [], []
    for feature, channels, size in ((large, 8, 8), (small, 12, 4)):
        box = n.op("Reshape", n.conv(feature, (8, channels, 1, 1)), n.integers(1, 2, 4, size, size))
        boxes.append(n.op("Reshape", n.op("Transpose", box, perm=[0, 1, 3, 4, 2]), n.integers(1, -1, 4)))
        score = n.op("Transpose", n.conv(feature, (6, channels, 1, 1)), perm=[0, 2, 3, 1])
        scores.append(n.op("Reshape", score, n.integers(1, -1, 3)))
    place, extent = n.split(n.op("Concat", *boxes, axis=1), 2, 2, 2)
    place = n.op("Mul", n.op("Sigmoid", place), n.array(16.0))
    joined = n.op("Concat", place, n.op("Exp", extent), axis=-1)
    return n.file(boxes=joined, scores=n.op("Sigmoid", n.op("Concat", *scores, axis=1)), feature=large)


def streaming_lstm(opset: int) -> bytes:
    """One step of two layers; their states are inputs and outputs."""
    n, units = Network(opset), 4
    t, size = n.input("x", 1, 1, 6), 6
    state, cell = n.input("h", 2, 1, units), n.input("c", 2, 1, units)
    states, cells = [], []
    for layer in range(2):
        cut = [n.op("Slice", each, n.integers(layer), n.integers(layer + 1), n.integers(0)) for each in (state, cell)]
        parts = [
            n.normal(1, 4 * units, size, fan=size),
            n.normal(1, 4 * units, units, fan=units),
            n.normal(1, 8 * units),
        ]
        y, h, c = n.many("LSTM", [t, *parts, "", *cut], 3, hidden_size=units)
        t, size = n.squeeze(y, 1), units
        states.append(h)
        cells.append(c)
    y = n.op("Sigmoid", n.linear(t, units, 2))
    return n.file(y=y, h_next=n.op("Concat", *states, axis=0), c_next=n.op("Concat", *cells, axis=0))


def _layer_norm(n: Network, x: str, size: int) -> str:
    if n.opset >= 17:
        return n.op("LayerNormalization", x, n.normal(size), n.normal(size), axis=-1, epsilon=1e-5)
    difference = n.op("Sub", x, n.reduce_mean(x, -1))
    variance = n.reduce_mean(n.op("Pow", difference, n.array(2.0)), -1)
    whole = n.op("Div", difference, n.op("Sqrt", n.op("Add", variance, n.array(1e-5))))
    return n.op("Add", n.op("Mul", whole, n.normal(size)), n.normal(size))


def _gelu(n: Network, x: str) -> str:
    if n.opset >= 20:
        return n.op("Gelu", x)
    inner = n.op("Add", n.op("Erf", n.op("Div", x, n.array(2**0.5))), n.array(1.0))
    return n.op("Mul", n.op("Mul", x, inner), n.array(0.5))


def transformer(opset: int) -> bytes:
    """A vision transformer of one block, with a token for the class."""
    n, size, heads = Network(opset), 8, 2
    y = n.conv(n.input("image", 1, 3, 8, 8), (size, 3, 4, 4), strides=[4, 4], pads=[0] * 4)
    y = n.op("Transpose", n.op("Reshape", y, n.integers(1, size, -1)), perm=[0, 2, 1])
    y = n.op("Add", n.op("Concat", n.normal(1, 1, size), y, axis=1), n.normal(1, 5, size))
    qkv = n.op("Reshape", n.linear(_layer_norm(n, y, size), size, 3 * size), n.integers(1, 5, 3, heads, -1))
    qkv = n.op("Transpose", qkv, perm=[2, 0, 3, 1, 4])
    q, k, v = (n.op("Gather", qkv, n.array(index, np.int64), axis=0) for index in range(3))
    scores = n.op("MatMul", n.op("Mul", q, n.array(0.5)), n.op("Transpose", k, perm=[0, 1, 3, 2]))
    seen = n.op("MatMul", n.op("Softmax", scores, axis=-1), v)
    seen = n.op("Reshape", n.op("Transpose", seen, perm=[0, 2, 1, 3]), n.integers(1, 5, size))
    y = n.op("Add", y, n.linear(seen, size, size))
    y = n.op("Add", y, n.linear(_gelu(n, n.linear(_layer_norm(n, y, size), size, 16)), 16, size))
    token = n.op("Gather", _layer_norm(n, y, size), n.array(0, np.int64), axis=1)
    return n.file(y=n.linear(token, size, 4, gemm=True))


def unet(opset: int) -> bytes:
    """Down and up again: by a transposed convolution, and by bilinear interpolation to the size of another map."""
    n = Network(opset)
    first = n.op("Relu", n.conv(n.input("image", 1, 1, 16, 16), (6, 1, 3, 3)))
    second = n.op("Relu", n.conv(n.op("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2]), (8, 6, 3, 3)))
    third = n.op("Relu", n.conv(second, (8, 8, 3, 3), strides=[2, 2]))
    grown = n.op("ConvTranspose", third, n.normal(8, 8, 2, 2, fan=8), n.normal(8), kernel_shape=[2, 2], strides=[2, 2])
    y = n.op("Relu", n.conv(n.op("Concat", grown, second, axis=1), (8, 16, 3, 3)))
    shape = n.op("Slice", n.op("Shape", first), n.integers(2), n.integers(4), n.integers(0))
    shape = n.op("Concat", n.op("Slice", n.op("Shape", y), n.integers(0), n.integers(2)), shape, axis=0)
    options = {"mode": "linear", "coordinate_transformation_mode": "align_corners", "cubic_coeff_a": -0.75}
    grown = n.op("Resize", y, n.array([]), n.array([]), shape, **options)
    return n.file(mask=n.op("Sigmoid", n.conv(n.op("Concat", grown, first, axis=1), (1, 14, 1, 1))))


def causal_convolutions(opset: int) -> bytes:
    """Separable convolutions of a sequence, padded at its begin, with growing dilations."""
    n = Network(opset)
    y = n.input("sequence", 1, 6, 20)
    for dilation in (1, 2, 4):
        padded = n.op("Pad", y, n.integers(0, 0, 2 * dilation, 0, 0, 0), n.array(0.0))
        z = n.conv(padded, (6, 1, 3), group=6, dilations=[dilation], pads=[0, 0])
        y = n.op("Add", n.op("Relu", n.conv(z, (6, 6, 1))), y)
    return n.file(y=n.op("Gather", y, n.array(-1, np.int64), axis=2))


def style_transfer(opset: int) -> bytes:
    """Reflection padding, instance normalisation, growth by nearest neighbours."""
    n = Network(opset)
    y = n.op("Pad", n.input("image", 1, 3, 8, 8), n.integers(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    y = n.conv(y, (6, 3, 3, 3), pads=[0] * 4)
    y = n.op("Relu", n.op("InstanceNormalization", y, n.normal(6), n.normal(6)))
    options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    y = n.op("Resize", y, n.array([]), n.array([1, 1, 2, 2]), **options)
    y = n.conv(n.op("Pad", y, n.integers(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect"), (3, 6, 3, 3), pads=[0] * 4)
    return n.file(y=n.op("Tanh", y))


def group_normalisation(opset: int) -> bytes:
    """Groups of channels, written as PyTorch does: as an instance normalisation of another shape."""
    n = Network(opset)
    y = n.conv(n.input("image", 1, 3, 8, 8), (8, 3, 3, 3))
    flat = n.op("Reshape", y, n.integers(0, 4, -1))
    flat = n.op("InstanceNormalization", flat, n.array(np.ones(4)), n.array(np.zeros(4)))
    y = n.op("Add", n.op("Mul", n.op("Reshape", flat, n.op("Shape", y)), n.normal(8, 1, 1)), n.normal(8, 1, 1))
    return n.file(y=n.op("Flatten", n.op("GlobalMaxPool", n.op("Relu", n.conv(y, (6, 8, 3, 3))))))


def pixel_shuffle(opset: int) -> bytes:
    """Channels become pixels, by an operator and by reshapes, and pixels channels again."""
    n = Network(opset)
    y = n.op("Relu", n.conv(n.input("image", 1, 3, 4, 4), (16, 3, 3, 3)))
    y = n.conv(n.op("DepthToSpace", y, blocksize=2, mode="CRD"), (4, 4, 3, 3))
    y = n.op("Reshape", y, n.integers(-1, 4, 4, 2, 4, 2))
    y = n.op("Reshape", n.op("Transpose", y, perm=[0, 1, 3, 5, 2, 4]), n.integers(-1, 16, 4, 4))
    return n.file(y=n.conv(y, (3, 16, 1, 1)))


def volumes(opset: int) -> bytes:
    """Convolutions and pools in three dimensions."""
    n = Network(opset)
    y = n.op("Relu", n.conv(n.input("video", 1, 2, 4, 6, 6), (4, 2, 3, 3, 3)))
    y = n.op("MaxPool", y, kernel_shape=[1, 2, 2], strides=[1, 2, 2])
    y = n.op("Relu", n.conv(y, (6, 4, 3, 3, 3), strides=[2, 2, 2]))
    return n.file(y=n.linear(n.op("Flatten", n.op("GlobalMaxPool", y)), 6, 3, gemm=True))


def attention_of_channels(opset: int) -> bytes:
    """A gate that a convolution over the channels makes, as large as the image; then the class of each pixel."""
    n = Network(opset)
    y = n.op("Relu", n.conv(n.input("image", 1, 3, 6, 6), (8, 3, 3, 3)))
    pooled = n.op("Transpose", n.squeeze(n.op("GlobalAveragePool", y), -1), perm=[0, 2, 1])
    gate = n.op("Transpose", n.conv(pooled, (1, 1, 3), bias=False), perm=[0, 2, 1])
    y = n.op("Mul", y, n.op("Expand", n.op("Sigmoid", n.unsqueeze(gate, -1)), n.op("Shape", y)))
    y = n.conv(y, (5, 8, 1, 1))
    return n.file(classes=n.op("ArgMax", y, axis=1, keepdims=0), largest=n.op("GlobalMaxPool", y))


def flattened(opset: int) -> bytes:
    """LeNet, with the shape of its flattening computed from that of a free batch."""
    n = Network(opset)
    y = n.input("image", "batch", 1, 12, 12)
    y = n.op("MaxPool", n.op("Relu", n.conv(y, (4, 1, 5, 5))), kernel_shape=[2, 2], strides=[2, 2])
    batch = n.unsqueeze(n.op("Gather", n.op("Shape", y), n.array(0, np.int64), axis=0), 0)
    y = n.op("Reshape", n.op("Identity", y), n.op("Concat", batch, n.integers(-1), axis=0))
    y = n.op("Relu", n.linear(n.op("Cast", y, to=1), 144, 8, gemm=True))
    return n.file(y=n.op("Softmax", n.linear(n.op("Dropout", y), 8, 4, gemm=True), axis=1))
