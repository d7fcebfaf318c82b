# SPDX-License-Identifier: Apache-2.0
"""A Llama-like text decoder with random weights of 4 or 8 bits in blocks of 32, as ONNX Runtime's builder of text models writes it, and with the same
extents as a GGUF file for llama.cpp (Q4_0, Q8_0: the same bits for each weight)."""

import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32
GGUF_BYTES = {4: 18, 8: 34}  # of a block: a scale in f16, then the numbers


@dataclasses.dataclass(frozen=True)
class Extents:
    width: int = 2048
    heads: int = 32
    kv_heads: int = 8
    inner: int = 8192
    layers: int = 16
    words: int = 32000
    bits: int = 4

    @property
    def head(self):
        return self.width // self.heads

    def products(self):
        """The matrices of a layer: name -> (columns, inner)."""
        kv = self.kv_heads * self.head
        return {"attn_q": (self.width, self.width), "attn_k": (kv, self.width), "attn_v": (kv, self.width), "attn_output": (self.width, self.width),
                "ffn_gate": (self.inner, self.width), "ffn_up": (self.inner, self.width), "ffn_down": (self.width, self.inner)}


def write_onnx(path, extents: Extents, accuracy: int, room: int):
    """Inputs: input_ids and attention_mask, [1, new] and [1, all], and each layer's caches, [1, kv_heads, room, head], which a binding shares with the
    outputs. Output: the logits of the last token."""
    rng = np.random.default_rng(0)
    weights, nodes = [], []

    def constant(name, array):
        weights.append(numpy_helper.from_array(array, name))
        return name

    def node(op_type, inputs, outputs, domain="", **attributes):
        nodes.append(helper.make_node(op_type, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def product(x, name, columns, inner):
        numbers = rng.integers(0, 256, (columns, inner // BLOCK, BLOCK * extents.bits // 8), np.uint8)
        scales = rng.uniform(0.5, 1, columns * inner // BLOCK).astype(np.float32) * np.float32(4 / 2**extents.bits * inner**-0.5)
        operands = [x, constant(f"{name}.numbers", numbers), constant(f"{name}.scales", scales)]
        return node("MatMulNBits", operands, [name], "com.microsoft", K=inner, N=columns, bits=extents.bits, block_size=BLOCK, accuracy_level=accuracy)

    def norm_weight(name):
        return constant(f"{name}.weight", np.ones(extents.width, np.float32))

    lengths = node("ReduceSum", ["attention_mask", constant("axis", np.array([1]))], ["lengths"], keepdims=0)
    seen = node("Cast", [node("Sub", [lengths, constant("one", np.array([1]))], ["last_place"])], ["seen"], to=TensorProto.INT32)
    total = node("Cast", [node("Gather", [node("Shape", ["attention_mask"], ["mask_shape"]), constant("one_axis", np.array(1))], ["all"], axis=0)],
                 ["total"], to=TensorProto.INT32)
    angles = np.arange(room)[:, None] / 10000 ** (np.arange(extents.head // 2) / (extents.head // 2))
    turn = [constant(name, function(angles).astype(np.float32)) for name, function in (("cos", np.cos), ("sin", np.sin))]
    table = constant("table", rng.standard_normal((extents.words, extents.width), np.float32))
    before = node("Gather", [table, "input_ids"], ["embedded"])
    normed = node("SimplifiedLayerNormalization", [before, norm_weight("first")], ["first_norm"], epsilon=1e-5, axis=-1)
    caches, shapes = [], [1, extents.kv_heads, room, extents.head]
    for layer in range(extents.layers):
        made = {}
        for name in ("attn_q", "attn_k", "attn_v"):
            made[name] = product(normed, f"{layer}.{name}", *extents.products()[name])
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        caches += zip(past, present)
        y = node("GroupQueryAttention", [made["attn_q"], made["attn_k"], made["attn_v"], *past, seen, total, *turn], [f"{layer}.attention", *present],
                 "com.microsoft", num_heads=extents.heads, kv_num_heads=extents.kv_heads, do_rotary=1)
        y = product(y, f"{layer}.attn_output", *extents.products()["attn_output"])
        normed, x = f"{layer}.ffn_norm", f"{layer}.after_attention"
        node("SkipSimplifiedLayerNormalization", [before, y, norm_weight(normed)],
             [normed, "", "", x], "com.microsoft", epsilon=1e-5)
        gate = product(normed, f"{layer}.ffn_gate", *extents.products()["ffn_gate"])
        up = product(normed, f"{layer}.ffn_up", *extents.products()["ffn_up"])
        gated = node("Mul", [gate, node("Sigmoid", [gate], [f"{layer}.sigmoid"])], [f"{layer}.silu"])
        y = product(node("Mul", [gated, up], [f"{layer}.gated"]), f"{layer}.ffn_down", *extents.products()["ffn_down"])
        normed, before = f"{layer}.next_norm", f"{layer}.after_ffn"
        node("SkipSimplifiedLayerNormalization", [x, y, norm_weight(normed)], [normed, "", "", before], "com.microsoft", epsilon=1e-5)
    last = node("Slice", [normed, constant("from", np.array([-1])), constant("to", np.array([2**62])), constant("tokens", np.array([1]))], ["last"])
    product(last, "logits", extents.words, extents.width)
    value = helper.make_tensor_value_info
    inputs = [value("input_ids", TensorProto.INT64, [1, "new"]), value("attention_mask", TensorProto.INT64, [1, "all"])]
    inputs += [value(past, TensorProto.FLOAT, shapes) for past, _ in caches]
    outputs = [value("logits", TensorProto.FLOAT, [1, 1, extents.words])]
    outputs += [value(present, TensorProto.FLOAT, shapes) for _, present in caches]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    onnx.save(model, path, save_as_external_data=True, location=path.name + ".data")


def write_gguf(path, extents: Extents):
    """Needs the PyPI package gguf."""
    import gguf

    rng = np.random.default_rng(0)
    kind = {4: gguf.GGMLQuantizationType.Q4_0, 8: gguf.GGMLQuantizationType.Q8_0}[extents.bits]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(extents.layers)
    writer.add_context_length(8192)
    writer.add_embedding_length(extents.width)
    writer.add_feed_forward_length(extents.inner)
    writer.add_head_count(extents.heads)
    writer.add_head_count_kv(extents.kv_heads)
    writer.add_rope_dimension_count(extents.head)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(extents.words)
    writer.add_tokenizer_model("no_vocab")

    def product(name, columns, inner):
        rows = rng.integers(0, 256, (columns, inner // BLOCK, GGUF_BYTES[extents.bits]), np.uint8)
        scales = (rng.uniform(0.5, 1, rows.shape[:2]) * 4 / 2**extents.bits * inner**-0.5).astype(np.float16)
        rows[..., :2] = scales[..., None].view(np.uint8)
        writer.add_tensor(f"{name}.weight", rows.reshape(columns, -1), raw_dtype=kind)

    def norm(name):
        writer.add_tensor(f"{name}.weight", np.ones(extents.width, np.float32))

    product("token_embd", extents.words, extents.width)
    for layer in range(extents.layers):
        for name, shape in extents.products().items():
            product(f"blk.{layer}.{name}", *shape)
        norm(f"blk.{layer}.attn_norm")
        norm(f"blk.{layer}.ffn_norm")
    norm("output_norm")
    product("output", extents.words, extents.width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
