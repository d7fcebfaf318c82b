# SPDX-License-Identifier: Apache-2.0
"""MoE and QMoE of com.microsoft: only the chosen experts are computed. Against its definition in NumPy, and against ONNX Runtime run live."""

import numpy as np
import onnxruntime
import pytest
from cpu_flags import CPU_FLAGS
from onnx import TensorProto, helper, numpy_helper

import gantry

KERNEL = "x86.experts"
U8, F32 = np.uint8, np.float32
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "identity": lambda x: x,
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


class Layer:
    """Random weights of all experts, packed as QMoE has them, and the matrices that they stand for, [experts, columns, inner]."""

    def __init__(self, rng, experts, columns, inner, bits, block, has_zeros, has_bias):
        codes = rng.integers(0, 2**bits, (experts, columns, inner))
        blocks = -(-inner // block) if block else 1
        scales = rng.uniform(0.5, 1.5, (experts, columns, blocks)).astype(F32) * (0.3 / 2**bits)
        zeros = rng.integers(0, 2**bits, scales.shape) if has_zeros else np.full(scales.shape, 2 ** (bits - 1))
        spread = np.repeat(np.stack([scales, zeros]), block or inner, axis=-1)[..., :inner]
        self.matrix = (codes - spread[1]) * spread[0].astype(np.float64)
        self.bias = rng.standard_normal((experts, columns)).astype(F32) if has_bias else np.zeros((experts, columns), F32)
        self.weights = self.packed(codes, bits)
        self.scales = scales if block else scales[..., 0]
        self.zeros = self.packed(zeros if block else zeros[..., 0], bits) if has_zeros else None
        self.given_bias = self.bias if has_bias else None

    @staticmethod
    def packed(numbers, bits):
        count = 8 // bits
        padded = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % count)])
        parts = padded.reshape(*padded.shape[:-1], -1, count) << (bits * np.arange(count))
        return parts.sum(-1).astype(U8)

    def __call__(self, x, expert):
        return x @ self.matrix[expert].T + self.bias[expert]


class FloatLayer:
    """Random weights of all experts, as MoE has them."""

    def __init__(self, rng, experts, columns, inner, has_bias):
        self.weights = (rng.standard_normal((experts, columns, inner)) * 0.1).astype(F32)
        self.matrix = self.weights.astype(np.float64)
        self.bias = rng.standard_normal((experts, columns)).astype(F32) if has_bias else np.zeros((experts, columns), F32)
        self.given_bias = self.bias if has_bias else None

    __call__ = Layer.__call__


class Mixture:
    """A node of QMoE; of MoE if there are no `bits`."""

    def __init__(self, tokens, hidden, features, experts=4, k=2, bits=4, block=32, zeros=False, bias=True, activation="silu", third=False, fusion=1,
                 routes=False, normal=0, limit=None, seed=0):
        rng = np.random.default_rng(seed)
        self.k, self.activation, self.fusion, self.normal, self.limit, self.has_third = k, activation, fusion, normal, limit, third
        is_fused = activation == "swiglu" and not third
        self.is_quantized = bits is not None

        def make(columns, inner):
            return Layer(rng, experts, columns, inner, bits, block, zeros, bias) if self.is_quantized else FloatLayer(rng, experts, columns, inner, bias)

        self.first, self.second = make(features * (2 if is_fused else 1), hidden), make(hidden, features)
        self.third = make(features, hidden) if third else None
        self.x = rng.standard_normal((*tokens, hidden) if isinstance(tokens, tuple) else (tokens, hidden)).astype(F32)
        count = self.x.size // hidden
        self.logits = rng.standard_normal((count, experts)).astype(F32)
        self.routes = rng.uniform(0, 1, (count, experts)).astype(F32) if routes else None
        attributes = {"k": k, "activation_type": activation, "normalize_routing_weights": normal}
        if self.is_quantized:
            attributes |= {"expert_weight_bits": bits, **({"block_size": block} if block else {})}
        if activation == "swiglu":
            attributes |= {"activation_alpha": 1.702, "activation_beta": 1.0}
            attributes |= {"swiglu_fusion": fusion} if is_fused else {}
        if limit is not None:
            attributes["swiglu_limit"] = limit
        constants = {}
        for name, layer in (("1", self.first), ("2", self.second), ("3", self.third)):
            constants |= {part + name: getattr(layer, field, None) for part, field in (("w", "weights"), ("s", "scales"), ("b", "given_bias"), ("z", "zeros"))}
        constants = {name: value for name, value in constants.items() if value is not None}
        order = ["w1", "s1", "b1", "w2", "s2", "b2", "w3", "s3", "b3", "z1", "z2", "z3"]
        if not self.is_quantized:
            order = ["w1", "b1", "w2", "b2", "w3", "b3"]
        names = ["x", "r", *(name if name in constants else "" for name in order), *(["rw"] if routes else [])]
        node = helper.make_node("QMoE" if self.is_quantized else "MoE", names, ["y"], domain="com.microsoft", **attributes)
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * (self.x.ndim - 1) + [hidden]),
                  helper.make_tensor_value_info("r", TensorProto.FLOAT, [None, experts])]
        if routes:
            inputs.append(helper.make_tensor_value_info("rw", TensorProto.FLOAT, [None, experts]))
        graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(value, name) for name, value in constants.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def feeds(self):
        return {"x": self.x, "r": self.logits} | ({"rw": self.routes} if self.routes is not None else {})

    def between(self, made, third):
        if self.activation != "swiglu":
            active = ACTIVATIONS[self.activation](made)
            return active * third if self.has_third else active
        gate, line = (made, third) if self.has_third else (made[..., ::2], made[..., 1::2]) if self.fusion == 1 else np.split(made, 2, -1)
        if self.limit is not None:
            gate, line = np.minimum(gate, self.limit), np.clip(line, -self.limit, self.limit)
        return gate / (1 + np.exp(-1.702 * gate)) * (line + 1)

    def exact(self):
        rows = self.x.astype(np.float64).reshape(-1, self.x.shape[-1])
        result = np.zeros_like(rows)
        for token, row in enumerate(rows):
            chosen = np.argsort(-self.logits[token], kind="stable")[:self.k]
            shares = np.exp(self.logits[token].astype(np.float64))
            whole = shares[chosen].sum() if self.is_quantized else shares.sum()
            weights = shares[chosen] / whole if self.routes is None else self.routes[token][chosen].astype(np.float64)
            if self.normal:
                weights = weights / weights.sum()
            for expert, weight in zip(chosen, weights):
                third = self.third(row, expert) if self.has_third else None
                result[token] += weight * self.second(self.between(self.first(row, expert), third), expert)
        return result.reshape(self.x.shape)

    def session(self, threads=2):
        return gantry.Session(self.model, device="CPU", config={"session": {"threads": threads}})

    def check(self):
        expected = self.exact()
        for threads in (1, 2):
            session = self.session(threads)
            (node,) = session.placement.nodes
            assert node.kernel.startswith(KERNEL) and node.implementation == "chosen experts", node
            for _ in range(2):  # the second from the plan of memory
                found = session.run(self.feeds())["y"]
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * max(1, np.abs(expected).max()))


pytestmark = pytest.mark.skipif("avx2" not in CPU_FLAGS, reason="this CPU has no AVX2")


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16, 32, 128, 256])
@pytest.mark.parametrize("zeros", [False, True])
def test_weights(bits, block, zeros):
    Mixture(5, 256, 512, bits=bits, block=block, zeros=zeros).check()


@pytest.mark.parametrize("hidden, features, block", [(40, 24, 0), (104, 72, 32), (16, 16, 16), (8, 12, 0), (200, 1100, 64)])
def test_extents(hidden, features, block):
    Mixture((2, 3), hidden, features, block=block).check()


@pytest.mark.parametrize("activation", ["relu", "silu", "identity", "gelu"])
@pytest.mark.parametrize("third", [False, True])
def test_activations(activation, third):
    Mixture(4, 64, 96, activation=activation, third=third).check()


@pytest.mark.parametrize("third, fusion", [(False, 1), (False, 2), (True, 0)])
@pytest.mark.parametrize("limit", [None, 0.5])
@pytest.mark.parametrize("bias", [False, True])
def test_swiglu(third, fusion, limit, bias):
    Mixture(4, 64, 96, activation="swiglu", third=third, fusion=fusion, limit=limit, bias=bias).check()


@pytest.mark.parametrize("experts, k", [(1, 1), (4, 1), (4, 4), (32, 4), (7, 3)])
@pytest.mark.parametrize("routes, normal", [(False, 0), (True, 0), (True, 1)])
def test_routes(experts, k, routes, normal):
    Mixture(9, 32, 32, experts=experts, k=k, routes=routes, normal=normal).check()


@pytest.mark.parametrize("tokens", [1, 2, 8, 9, 40, 300])
def test_tokens(tokens):
    Mixture(tokens, 64, 64, experts=6, k=2, activation="swiglu", limit=7.0).check()


@pytest.mark.parametrize("hidden, features", [(40, 24), (104, 72), (64, 300)])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("normal", [0, 1])
@pytest.mark.parametrize("tokens", [1, 9, 70])
def test_weights_of_floats(hidden, features, bias, normal, tokens):
    Mixture(tokens, hidden, features, experts=6, k=3, bits=None, bias=bias, normal=normal).check()


@pytest.mark.parametrize("activation, third, fusion, limit", [
    ("relu", False, 0, None), ("gelu", True, 0, None), ("swiglu", False, 1, 0.5), ("swiglu", False, 2, None), ("swiglu", True, 0, None),
])
def test_activations_between_floats(activation, third, fusion, limit):
    Mixture(5, 64, 96, bits=None, activation=activation, third=third, fusion=fusion, limit=limit).check()


@pytest.mark.parametrize("bits", [4, None])
def test_numbers_of_tokens_one_after_the_other(bits):
    mixture = Mixture(40, 64, 64, experts=6, bits=bits)
    session, expected = mixture.session(), mixture.exact()
    for count in (40, 1, 0, 17, 1, 40):
        found = session.run({"x": mixture.x[:count], "r": mixture.logits[:count]})["y"]
        assert found.shape == (count, 64)
        np.testing.assert_allclose(found, expected[:count], rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_equal_logits_go_to_the_first_experts():
    mixture = Mixture(3, 32, 32, experts=5, k=2)
    mixture.logits[:] = 1
    mixture.check()


def test_logits_that_are_no_numbers():
    """Of such a token nothing is right, and all others are."""
    mixture = Mixture(3, 32, 32, experts=5, k=3)
    mixture.logits[1] = np.nan
    found = mixture.session().run(mixture.feeds())["y"]
    expected = mixture.exact()
    np.testing.assert_allclose(found[::2], expected[::2], rtol=1e-4, atol=1e-3)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("bits, block", [(4, 0), (4, 32), (8, 0), (None, 0)])
@pytest.mark.parametrize("activation", ["silu", "swiglu"])
@pytest.mark.parametrize("normal", [0, 1])
def test_as_onnx_runtime(bits, block, activation, normal):
    mixture = Mixture(6, 64, 64, bits=bits, block=block, activation=activation, normal=normal)
    expected = onnxruntime.InferenceSession(mixture.model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, mixture.feeds())[0]
    np.testing.assert_allclose(mixture.session().run(mixture.feeds())["y"], expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_another_number_of_logits_than_of_experts():
    mixture = Mixture(3, 32, 32)
    mixture.model.graph.input[1].type.tensor_type.shape.dim[1].Clear()
    with pytest.raises(gantry.InvalidArgumentError, match=r"input 1 \(a logit of each token for each expert\): expected 12, found 9"):
        mixture.session().run({"x": mixture.x, "r": mixture.logits[:, :3]})


@pytest.mark.parametrize("block, dtype", [(24, "f32"), (32, "f16")])
def test_what_it_leaves_to_the_body(block, dtype):
    """Blocks that vectors do not divide, and float16."""
    mixture = Mixture(3, 96, 96, block=block)
    feeds = mixture.feeds()
    if dtype == "f16":
        feeds["x"] = feeds["x"].astype(np.float16)
        for value in (mixture.model.graph.input[0], mixture.model.graph.output[0]):
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
    session = gantry.Session(mixture.model, device="CPU")
    assert not any(node.kernel.startswith(KERNEL) for node in session.placement.nodes)
    np.testing.assert_allclose(session.run(feeds)["y"], mixture.exact(), rtol=1e-2, atol=1e-2 * np.abs(mixture.exact()).max())
