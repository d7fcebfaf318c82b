# SPDX-License-Identifier: Apache-2.0
"""Small decoders as ONNX Runtime's converter writes them into BeamSearch, GreedySearch and Sampling, with random weights."""

import re

import numpy as np
import onnx
from onnx import numpy_helper

HEADS, WIDTH, HIDDEN, VOCABULARY, POSITIONS = 2, 4, 8, 23, 40


def weights(seed, **shapes):
    generator = np.random.default_rng(seed)
    return [numpy_helper.from_array((generator.standard_normal(shape) * 0.9).astype(np.float32), name) for name, shape in shapes.items()]


def numbers(**values):
    return [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in values.items()]


# One layer of attention: the queries of `x` over the keys and values of `past` and of `x`; `blocked`, [batch, 1, queries, keys], is added.
ATTENTION = """
    qkv = MatMul(x, W_qkv)
    q_flat, k_flat, v_flat = Split<axis = -1>(qkv, thirds)
    q_rows = Reshape(q_flat, by_head)  q = Transpose<perm = [0, 2, 1, 3]>(q_rows)
    k_rows = Reshape(k_flat, by_head)  k_new = Transpose<perm = [0, 2, 1, 3]>(k_rows)
    v_rows = Reshape(v_flat, by_head)  v_new = Transpose<perm = [0, 2, 1, 3]>(v_rows)
    k = Concat<axis = 2>(past_key, k_new)
    v = Concat<axis = 2>(past_value, v_new)
    k_turned = Transpose<perm = [0, 1, 3, 2]>(k)
    products = MatMul(q, k_turned)
    scores = Add(products, blocked)
    shares = Softmax<axis = -1>(scores)
    mixed = MatMul(shares, v)
    mixed_rows = Transpose<perm = [0, 2, 1, 3]>(mixed)
    mixed_flat = Reshape(mixed_rows, by_row)
    attended = MatMul(mixed_flat, W_out)
    hidden = Add(x, attended)
"""

# `blocked` of a causal mask: a query sees the keys up to its own place, of those that `attention_mask`, [batch, keys], has as 1.
CAUSAL = """
    key_count_1 = Shape<start = 1, end = 2>(attention_mask)  key_count = Squeeze(key_count_1)
    query_count_1 = Shape<start = 1, end = 2>(input_ids)  query_count = Squeeze(query_count_1)
    past_count = Sub(key_count, query_count)
    keys = Range(zero, key_count, one)
    query_places = Range(past_count, key_count, one)
    query_column = Unsqueeze(query_places, last)
    later = Greater(keys, query_column)
    masked = Equal(attention_mask, zero_32)
    masked_rows = Unsqueeze(masked, middle)
    blocks = Or(later, masked_rows)
    blocked = Where(blocks, lowest, nothing)
"""

CONSTANTS = {"by_head": [0, 0, HEADS, WIDTH], "by_row": [0, 0, HIDDEN], "thirds": [HIDDEN] * 3, "zero": 0, "one": 1, "last": [1], "middle": [1, 2]}


def graph_of(text, initializers):
    graph = onnx.parser.parse_graph(text)
    graph.initializer.extend(initializers)
    graph.initializer.extend([numpy_helper.from_array(np.array(0, np.int32), "zero_32"), numpy_helper.from_array(np.float32(-1e4), "lowest"),
                              numpy_helper.from_array(np.float32(0), "nothing")])
    return graph


def layer_of(number):
    """ATTENTION from x_<number> to x_<number + 1>, with names of its own."""
    shared = {"axis", "perm", "blocked", "thirds", "by_head", "by_row", "x", "hidden"}
    own = set(re.findall(r"\b[a-z]\w*\b", ATTENTION)) | {"W_qkv", "W_out"}
    text = re.sub(r"\b(\w+)\b", lambda found: f"{found[1]}_{number}" if found[1] in own - shared else found[1], ATTENTION)
    return re.sub(r"\bhidden\b", f"x_{number + 1}", re.sub(r"\bx\b", f"x_{number}", text))


def gpt_decoder(seed=0, layers=1, sharpness=0.2):
    """input_ids, position_ids, attention_mask, past_0, ... to logits, present_0, ...; `sharpness`: of the choice of a token."""
    lines, parts, presents, pasts = "", [], "", ""
    for layer in range(layers):
        lines += f"""
    past_key_{layer} = Gather<axis = 0>(past_{layer}, zero)
    past_value_{layer} = Gather<axis = 0>(past_{layer}, one)
    {layer_of(layer)}
    k_one_{layer} = Unsqueeze(k_{layer}, first)  v_one_{layer} = Unsqueeze(v_{layer}, first)
    present_{layer} = Concat<axis = 0>(k_one_{layer}, v_one_{layer})
"""
        parts += weights(seed + layer, **{f"W_qkv_{layer}": (HIDDEN, 3 * HIDDEN), f"W_out_{layer}": (HIDDEN, HIDDEN)})
        pasts += f", float[2, batch, {HEADS}, past, {WIDTH}] past_{layer}"
        presents += f", float[2, batch, {HEADS}, keys_out, {WIDTH}] present_{layer}"
    text = f"""decoder (int32[batch, places] input_ids, int32[batch, places] position_ids, int32[batch, keys_in] attention_mask{pasts})
        => (float[batch, places, {VOCABULARY}] logits{presents}) {{
    words = Gather<axis = 0>(words_table, input_ids)
    places_of = Gather<axis = 0>(places_table, position_ids)
    x_0 = Add(words, places_of)
    {CAUSAL}
    {lines}
    logits = MatMul(x_{layers}, W_logits)
}}"""
    tables = weights(seed + 100, words_table=(VOCABULARY, HIDDEN), places_table=(POSITIONS, HIDDEN))
    choice = numpy_helper.to_array(weights(seed + 200, W=(HIDDEN, VOCABULARY))[0]) * np.float32(sharpness)
    return graph_of(text, parts + tables + [numpy_helper.from_array(choice, "W_logits")] + numbers(**CONSTANTS, first=[0]))


# One layer of attention to what an encoder made, `cross_key` and `cross_value`; `cross_blocked` is added.
CROSS = """
    asked = MatMul(hidden, W_asked)
    asked_rows = Reshape(asked, by_head)  asked_heads = Transpose<perm = [0, 2, 1, 3]>(asked_rows)
    cross_turned = Transpose<perm = [0, 1, 3, 2]>(cross_key)
    cross_products = MatMul(asked_heads, cross_turned)
    cross_scores = Add(cross_products, cross_blocked)
    cross_shares = Softmax<axis = -1>(cross_scores)
    cross_mixed = MatMul(cross_shares, cross_value)
    cross_rows = Transpose<perm = [0, 2, 1, 3]>(cross_mixed)
    cross_flat = Reshape(cross_rows, by_row)
    cross_attended = MatMul(cross_flat, W_answer)
    seen = Add(hidden, cross_attended)
    logits = MatMul(seen, W_logits)
"""

MASKED = """
    ignored = Equal(encoder_attention_mask, zero_32)
    ignored_rows = Unsqueeze(ignored, middle)
    cross_blocked = Where(ignored_rows, lowest, nothing)
"""

OPEN = "cross_blocked = Identity(nothing)"

# The first tokens of the decoder, in the encoder's graph.
START = """
    x = Gather<axis = 0>(words_table, decoder_input_ids)
    rows_1 = Shape<start = 0, end = 1>(decoder_input_ids)
    no_past_shape = Concat<axis = 0>(rows_1, no_past_extents)
    past_key = Expand(nothing, no_past_shape)
    past_value = Identity(past_key)
    count_1 = Shape<start = 1, end = 2>(decoder_input_ids)  count = Squeeze(count_1)
    places = Range(zero, count, one)
    place_column = Unsqueeze(places, last)
    later = Greater(places, place_column)
    blocked = Where(later, lowest, nothing)
"""

CROSS_STATES = """
    cross_k_flat = MatMul(states, W_key)
    cross_k_rows = Reshape(cross_k_flat, by_head)  cross_key = Transpose<perm = [0, 2, 1, 3]>(cross_k_rows)
    cross_v_flat = MatMul(states, W_value)
    cross_v_rows = Reshape(cross_v_flat, by_head)  cross_value = Transpose<perm = [0, 2, 1, 3]>(cross_v_rows)
"""

FEATURES = 6


def encoder_and_decoder(kind, seed=0, sharpness=0.2, has_hidden=True):
    """`kind`: "t5" and "whisper", whose encoder also runs the decoder's first tokens; "t5_alone", whose encoder does not."""
    is_text = kind != "whisper"
    parts = weights(seed, W_qkv=(HIDDEN, 3 * HIDDEN), W_out=(HIDDEN, HIDDEN), W_asked=(HIDDEN, HIDDEN), W_answer=(HIDDEN, HIDDEN), words_table=(VOCABULARY, HIDDEN))
    of_encoder = weights(seed + 1, W_key=(HIDDEN, HIDDEN), W_value=(HIDDEN, HIDDEN), W_states=(HIDDEN if is_text else FEATURES, HIDDEN), source_table=(VOCABULARY, HIDDEN))
    choice = numpy_helper.from_array(numpy_helper.to_array(weights(seed + 2, W=(HIDDEN, VOCABULARY))[0]) * np.float32(sharpness), "W_logits")
    constants = numbers(**CONSTANTS, no_past_extents=[HEADS, 0, WIDTH])
    heads = f"float[batch, {HEADS}, places, {WIDTH}]"
    mask = ", int32[batch, source] encoder_attention_mask" if is_text else ""
    masked = MASKED if is_text else OPEN
    if is_text:
        source, made = "int32[batch, source] encoder_input_ids", "embedded = Gather<axis = 0>(source_table, encoder_input_ids)"
    else:
        source, made = f"float[batch, {FEATURES}, source] encoder_input_ids", "embedded = Transpose<perm = [0, 2, 1]>(encoder_input_ids)"
    made += "  mapped = MatMul(embedded, W_states)  states = Tanh(mapped)" + CROSS_STATES
    if kind == "t5_alone":
        text = f"encoder ({source}{mask}) => ({heads} present_key_cross_0, {heads} present_value_cross_0) {{ {made} present_key_cross_0 = Identity(cross_key) present_value_cross_0 = Identity(cross_value) }}"
    else:
        text = f"""encoder ({source}{mask}, int32[batch, start] decoder_input_ids) => (float[batch, start, {VOCABULARY}] logits, float[batch, source, {HIDDEN}] encoder_hidden_states,
            {heads} present_key_self_0, {heads} present_value_self_0, {heads} present_key_cross_0, {heads} present_value_cross_0) {{
            {made} {masked} {START} {ATTENTION} {CROSS} encoder_hidden_states = Identity(states)
            present_key_self_0 = Identity(k) present_value_self_0 = Identity(v) present_key_cross_0 = Identity(cross_key) present_value_cross_0 = Identity(cross_value) }}"""
    encoder = graph_of(text, parts + of_encoder + [choice] + constants)
    hidden = f", float[batch, source, {HIDDEN}] encoder_hidden_states" if has_hidden and kind != "t5_alone" else ""
    text = f"""decoder (int32[batch, 1] input_ids{mask}{hidden}, {heads} past_key_self_0, {heads} past_value_self_0, {heads} past_key_cross_0, {heads} past_value_cross_0)
        => (float[batch, 1, {VOCABULARY}] logits, {heads} present_key_self_0, {heads} present_value_self_0) {{
        x = Gather<axis = 0>(words_table, input_ids) past_key = Identity(past_key_self_0) past_value = Identity(past_value_self_0) blocked = Identity(nothing)
        cross_key = Identity(past_key_cross_0) cross_value = Identity(past_value_cross_0)
        {masked} {ATTENTION} {CROSS} present_key_self_0 = Identity(k) present_value_self_0 = Identity(v) }}"""
    return {"encoder": encoder, "decoder": graph_of(text, parts + [choice] + constants)}
