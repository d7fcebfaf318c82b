# SPDX-License-Identifier: Apache-2.0
"""A model of tools/gpu-bench as a PyTorch module: one function of torch for each operator that those models have.

`supported()` and the table can be read without PyTorch; `Converted` needs it.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# How PyTorch's users would write an operator: t is torch, f torch.nn.functional, x the inputs (None: absent), a the attributes.
OPERATORS = {
    "Add": lambda t, f, x, a: x[0] + x[1],
    "Mul": lambda t, f, x, a: x[0] * x[1],
    "MatMul": lambda t, f, x, a: x[0] @ x[1],
    "Relu": lambda t, f, x, a: f.relu(x[0]),
    "Sigmoid": lambda t, f, x, a: t.sigmoid(x[0]),
    "Clip": lambda t, f, x, a: t.clamp(x[0], float(x[1]), float(x[2])),
    "Gelu": lambda t, f, x, a: f.gelu(x[0], approximate=a.get("approximate", "none")),
    "Identity": lambda t, f, x, a: x[0],
    "Flatten": lambda t, f, x, a: x[0].flatten(a.get("axis", 1)),
    "Gather": lambda t, f, x, a: f.embedding(x[1], x[0]) if a.get("axis", 0) == 0 else x[0].select(a["axis"], int(x[1])),
    "Concat": lambda t, f, x, a: t.cat(x, a["axis"]),
    "Transpose": lambda t, f, x, a: x[0].permute(a["perm"]),
    "Reshape": lambda t, f, x, a: x[0].reshape([x[0].shape[i] if int(e) == 0 else int(e) for i, e in enumerate(x[1])]),
    "Slice": lambda t, f, x, a: x[0].narrow(int(x[3][0]), x[0].shape[int(x[3][0])] + int(x[1][0]), -int(x[1][0])),
    "GlobalAveragePool": lambda t, f, x, a: x[0].mean((2, 3), keepdim=True),
    "MaxPool": lambda t, f, x, a: f.max_pool2d(x[0], a["kernel_shape"], a["strides"], a["pads"][0]),
    "Conv": lambda t, f, x, a: f.conv2d(x[0], x[1], x[2], a.get("strides", 1), a.get("pads", [0])[0], 1, a.get("group", 1)),
    "Gemm": lambda t, f, x, a: f.linear(x[0], x[1], x[2]),
    "LayerNormalization": lambda t, f, x, a: f.layer_norm(x[0], x[1].shape, x[1], x[2], a["epsilon"]),
    "RMSNormalization": lambda t, f, x, a: f.rms_norm(x[0], x[1].shape, x[1], a["epsilon"]),
    "RotaryEmbedding": lambda t, f, x, a: rotate(t, x, a),
    "Attention": lambda t, f, x, a: attend(t, f, x, a),
}
FROM_HOST = {"Clip": (1, 2), "Reshape": (1,), "Slice": (1, 2, 3)}  # inputs that are Python numbers, not tensors


def rotate(t, x, a):
    data, cos, sin, places = x
    heads = data.unflatten(-1, (a["num_heads"], -1))
    cos, sin = (cache[places].unsqueeze(2) for cache in (cos, sin))
    first, second = heads.chunk(2, -1)
    return t.cat((first * cos - second * sin, first * sin + second * cos), -1).flatten(-2)


def attend(t, f, x, a):
    q, k, v = (one.unflatten(-1, (a[count], -1)).transpose(1, 2) for one, count in zip(x[:3], ("q_num_heads", "kv_num_heads", "kv_num_heads")))
    has_past = len(x) > 4
    if has_past:
        k, v = t.cat((x[4], k), 2), t.cat((x[5], v), 2)
    # A single query sees all keys; PyTorch's is_causal would align it to the first key.
    causal = bool(a.get("is_causal", 0)) and q.shape[2] > 1
    y = f.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1]).transpose(1, 2).flatten(-2)
    return (y, k, v) if has_past else y


def supported(model) -> list:
    """Operators of the model for which there is no function here: PyTorch has none for 4-bit weights."""
    return sorted({node.op_type for node in model.graph.node} - set(OPERATORS))


def to_torch(torch, tensor):
    if tensor.data_type == TensorProto.BFLOAT16:
        bits = np.frombuffer(tensor.raw_data, np.int16).copy()
        return torch.from_numpy(bits).view(torch.bfloat16).reshape(tuple(tensor.dims))
    return torch.from_numpy(numpy_helper.to_array(tensor).copy())


def make_module(model, channels_last=False):
    """The model as a torch.nn.Module that takes tensors in the order of its inputs and returns a tuple."""
    import torch  # pylint: disable=import-outside-toplevel

    missing = supported(model)
    if missing:
        raise RuntimeError(f"no form of {', '.join(missing)} in PyTorch here")

    class Converted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            host = {node.input[i] for node in model.graph.node for i in FROM_HOST.get(node.op_type, ())}
            host |= {node.input[1] for node in model.graph.node if node.op_type == "Gather" and attributes_of(node).get("axis", 0)}
            self.numbers = {}
            for tensor in model.graph.initializer:
                value = to_torch(torch, tensor)
                if tensor.name in host:
                    self.numbers[tensor.name] = value.tolist() if value.ndim else value.item()
                else:
                    if channels_last and value.ndim == 4:
                        value = value.contiguous(memory_format=torch.channels_last)
                    self.register_buffer(tensor.name, value)
            self.steps = [(OPERATORS[node.op_type], list(node.input), attributes_of(node), list(node.output)) for node in model.graph.node]

        def forward(self, *inputs):
            values = dict(zip([info.name for info in model.graph.input], inputs))

            def value(name):
                if not name:
                    return None
                return values[name] if name in values else self.numbers[name] if name in self.numbers else getattr(self, name)

            for function, names, attributes, outputs in self.steps:
                made = function(torch, torch.nn.functional, [value(name) for name in names], attributes)
                values.update(zip(outputs, made if len(outputs) > 1 else (made,)))
            return tuple(values[info.name] for info in model.graph.output)

    return Converted().eval()


def attributes_of(node):
    plain = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, (list, tuple)) else value for name, value in plain.items()}
