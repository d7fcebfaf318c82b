# SPDX-License-Identifier: Apache-2.0
"""GreedySearch, Sampling and BeamSearch of com.microsoft with small decoders, against ONNX Runtime run live."""

import numpy as np
import onnx
import onnxruntime
import pytest
from generation_models import FEATURES, VOCABULARY, encoder_and_decoder, gpt_decoder
from microsoft_models import model_of
from onnx import TensorProto, numpy_helper

import gantry

I32, F32 = np.int32, np.float32
IDS = np.array([[3, 5, 7], [22, 22, 4]], I32)  # the second is padded
PAD, NO_END = 22, VOCABULARY
KINDS = {"sequences": TensorProto.INT32, "sequences_scores": TensorProto.FLOAT, "scores": TensorProto.FLOAT}
SEEDS = range(3)


def one(value, dtype=I32):
    return np.array([value], dtype)


def greedy(decoder, ids=IDS, length=12, end=NO_END, min_length=None, repetition_penalty=None, vocab_mask=None, prefix_vocab_mask=None, attention_mask=None, **attributes):
    inputs = {"input_ids": ids, "max_length": one(length), "min_length": min_length, "repetition_penalty": repetition_penalty, "vocab_mask": vocab_mask,
              "prefix_vocab_mask": prefix_vocab_mask, "attention_mask": attention_mask}
    return model_of("GreedySearch", inputs, {"sequences": KINDS["sequences"]}, decoder=decoder, eos_token_id=end, pad_token_id=PAD, **attributes)


def beams(decoder, ids=IDS, length=12, end=NO_END, count=3, returned=2, outputs=("sequences", "sequences_scores"), min_length=0, length_penalty=1.0,
          repetition_penalty=None, vocab_mask=None, prefix_vocab_mask=None, attention_mask=None, **attributes):
    # ONNX Runtime asks for min_length and length_penalty, which its schema says may be absent.
    inputs = {"input_ids": ids, "max_length": one(length), "min_length": one(min_length), "num_beams": one(count), "num_return_sequences": one(returned),
              "length_penalty": one(length_penalty, F32), "repetition_penalty": repetition_penalty, "vocab_mask": vocab_mask, "prefix_vocab_mask": prefix_vocab_mask,
              "attention_mask": attention_mask}
    return model_of("BeamSearch", inputs, {name: KINDS[name] for name in outputs}, decoder=decoder, eos_token_id=end, pad_token_id=PAD, **attributes)


def beams_of(kind, source, seed=0, operator="BeamSearch", has_hidden=True, length=12, end=5, count=3, returned=2, outputs=("sequences", "sequences_scores"), min_length=0,
             length_penalty=1.0, repetition_penalty=None, vocab_mask=None, prefix_vocab_mask=None, attention_mask=None, decoder_input_ids=None, temperature=None, **attributes):
    """With an encoder."""
    inputs = {"input_ids": source, "max_length": one(length), "min_length": one(min_length), "num_beams": one(count), "num_return_sequences": one(returned),
              "length_penalty": one(length_penalty, F32), "repetition_penalty": repetition_penalty, "vocab_mask": vocab_mask, "prefix_vocab_mask": prefix_vocab_mask,
              "attention_mask": attention_mask, "decoder_input_ids": decoder_input_ids}
    if operator == "WhisperBeamSearch":
        inputs |= {"logits_processor": None, "cross_qk_layer_head": None, "extra_decoding_ids": None, "temperature": temperature}
    return model_of(operator, inputs, {name: KINDS[name] for name in outputs}, eos_token_id=end, pad_token_id=PAD, decoder_start_token_id=1,
                    model_type=2 if kind == "whisper" else 1, **encoder_and_decoder(kind, seed, has_hidden=has_hidden), **attributes)


def run(model, feeds):
    return gantry.Session(model, device="CPU").run(feeds)


def compare(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = run(model, feeds)
    for name, expected in zip(names, session.run(names, feeds), strict=True):
        assert found[name].dtype == expected.dtype and found[name].shape == expected.shape
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=1e-4, err_msg=name)
    return found


def mask_of(*shape):
    return np.random.default_rng(sum(shape)).integers(0, 2, shape).astype(I32)


RULES = {
    "none": {},
    "repetition": {"repetition_penalty": one(1.7, F32)},
    "vocabulary": {"vocab_mask": mask_of(VOCABULARY)},
    "first_word": {"prefix_vocab_mask": mask_of(2, VOCABULARY)},
    "mask": {"attention_mask": np.array([[1, 1, 1], [0, 1, 1]], I32)},
    "mask_within": {"attention_mask": np.array([[1, 0, 1], [0, 1, 1]], I32)},
    "no_word_twice": {"no_repeat_ngram_size": 1},
    "no_pair_twice": {"no_repeat_ngram_size": 2},
    "no_triple_twice": {"no_repeat_ngram_size": 3},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", RULES)
def test_greedy_search(rule, seed):
    compare(*greedy(gpt_decoder(seed), **RULES[rule]))


def test_greedy_search_of_at_least_so_many_words():
    model, feeds = greedy(gpt_decoder(), end=5, min_length=one(9))
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = run(model, feeds)["sequences"]
    np.testing.assert_array_equal(found[:, :9], expected[:, :9])
    assert (found[:, 3:9] != 5).all() and (found[:, 3:9] != PAD).all()


def test_behind_the_end_are_pads():
    """ONNX Runtime leaves what comes behind the longest sequence unwritten."""
    model, feeds = greedy(gpt_decoder(), end=5)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
    found = run(model, feeds)["sequences"]
    np.testing.assert_array_equal(found[:, :7], expected[:, :7])
    assert (found[:, 6:] == PAD).all() and found[0, 5] != PAD


def sampling(decoder, ids=IDS, length=12, end=5, repetition_penalty=None, vocab_mask=None, attention_mask=None, seed=None, **attributes):
    inputs = {"input_ids": ids, "max_length": one(length), "min_length": None, "repetition_penalty": repetition_penalty, "vocab_mask": vocab_mask,
              "prefix_vocab_mask": None, "attention_mask": attention_mask, "presence_mask": attributes.pop("presence_mask", None), "seed": seed}
    return model_of("Sampling", inputs, {"sequences": KINDS["sequences"]}, decoder=decoder, eos_token_id=end, pad_token_id=PAD, **attributes)


@pytest.mark.parametrize("seed", [None, one(0), one(1), one(2), one(77), one(2**31 - 1), one(2**31 - 2)], ids=str)
@pytest.mark.parametrize("options", [
    {"top_p": 0.9}, {"top_p": 0.6, "temperature": 2.5}, {"top_p": 0.95, "custom": 1, "temperature": 1.7}, {"top_p": 0.3, "min_tokens_to_keep": 4}, {"top_p": 1.0},
    {"top_p": 0.9, "repetition_penalty": one(1.7, F32), "no_repeat_ngram_size": 2}, {"top_p": 0.9, "filter_value": -3.0}, {"top_p": 0.05, "custom": 1},
    {"top_p": 0.9, "ids": np.random.default_rng(2).integers(0, 22, (7, 3)).astype(I32), "length": 9}, {"top_p": 0.9, "vocab_mask": mask_of(VOCABULARY)},
], ids=str)
def test_sampling_draws_the_same_tokens(options, seed):
    """ONNX Runtime leaves what comes behind the longest sequence unwritten, so nothing ends."""
    compare(*sampling(gpt_decoder(), seed=seed, end=NO_END, **options))


@pytest.mark.parametrize("options", [{}, {"top_p": 0.0, "filter_value": -1e20}, {"top_p": 1e-6, "custom": 1}], ids=str)
def test_sampling_of_no_mass_takes_the_most_probable_token(options):
    """With a top_p of 0 ONNX Runtime filters it too where the probabilities sum up to 1 or less, by rounding."""
    found = run(*sampling(gpt_decoder(), seed=one(77), end=NO_END, **options))["sequences"]
    np.testing.assert_array_equal(found, compare(*greedy(gpt_decoder(), end=NO_END))["sequences"])


def test_sampling_ends():
    found = [run(*sampling(gpt_decoder(), seed=one(seed), top_p=0.9, length=20))["sequences"] for seed in range(6)]
    assert len({row.tobytes() for row in found}) > 1
    for row in np.concatenate(found)[:, 3:]:
        first = next((place for place, token in enumerate(row) if token == PAD), len(row))
        assert (row[first:] == PAD).all() and (row[:first] != 5).all()


def test_presence_takes_from_each_token_that_is_marked():
    """ONNX Runtime's CPU provider takes all of it from the first token."""
    mask = np.ones((2, VOCABULARY), I32)
    mask[:, [8, 13]] = 0
    model, feeds = sampling(gpt_decoder(), seed=one(3), top_p=0.5, presence_mask=mask, presence_penalty=1e4, end=NO_END)
    assert np.isin(run(model, feeds)["sequences"][:, 3:], [8, 13]).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", RULES)
def test_beam_search(rule, seed):
    compare(*beams(gpt_decoder(seed), end=5, **RULES[rule]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("options", [
    {"count": 1, "returned": 1}, {"count": 4, "returned": 4}, {"early_stopping": 1}, {"length_penalty": 0.5}, {"length_penalty": -1.5}, {"min_length": 8},
    {"ids": np.array([[4, 7, 9, 1]], I32)}, {"length": 4},
    {"count": 4, "length": 20, "no_repeat_ngram_size": 2, "length_penalty": 0.7, "min_length": 6, "repetition_penalty": one(1.2, F32)},
], ids=str)
def test_beams(options, seed):
    compare(*beams(gpt_decoder(seed), end=5, **options))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_is_what_each_is_alone(seed):
    """ONNX Runtime looks at scores of others of the batch when it asks whether a sequence can become better; transformers does not."""
    ids = np.random.default_rng(2).integers(0, 22, (3, 5)).astype(I32)
    together = run(*beams(gpt_decoder(seed), ids=ids, length=15, end=5))
    for number in range(3):
        alone = compare(*beams(gpt_decoder(seed), ids=ids[number:number + 1], length=15, end=5))
        np.testing.assert_array_equal(together["sequences"][number], alone["sequences"][0])
        np.testing.assert_allclose(together["sequences_scores"][number], alone["sequences_scores"][0], rtol=1e-4)


def test_scores_of_every_step():
    found = compare(*beams(gpt_decoder(), outputs=("sequences", "sequences_scores", "scores")))
    assert found["scores"].shape == (9, 2, 3, VOCABULARY)


def test_several_layers():
    compare(*beams(gpt_decoder(layers=3), end=5))
    compare(*greedy(gpt_decoder(layers=3)))


def test_values_around_the_node():
    """The decoder reads a weight of the graph, as converters write it to share memory."""
    decoder = gpt_decoder()
    kept = [tensor for tensor in decoder.initializer if tensor.name != "W_logits"]
    (shared,) = [tensor for tensor in decoder.initializer if tensor.name == "W_logits"]
    del decoder.initializer[:]
    decoder.initializer.extend(kept)
    model, feeds = beams(decoder, end=5)
    model.graph.initializer.append(shared)
    compare(model, feeds)


def test_names_of_the_search_are_the_decoders_too():
    """What the search calls its own values is no matter of the decoder."""
    decoder = gpt_decoder()
    for node in decoder.node:
        for names in (node.input, node.output):
            names[:] = ["token_scores" if name == "x_0" else "tokens" if name == "x_1" else name for name in names]
    compare(*beams(decoder, end=5))
    compare(*greedy(decoder))


def test_names_around_the_node_are_kept_apart():
    """One around the node that the search has too would be read in its place."""
    decoder = gpt_decoder()
    for tensor in decoder.initializer:
        if tensor.name == "W_logits":
            tensor.name = "beams"
    for node in decoder.node:
        node.input[:] = ["beams" if name == "W_logits" else name for name in node.input]
    (shared,) = [tensor for tensor in decoder.initializer if tensor.name == "beams"]
    kept = [tensor for tensor in decoder.initializer if tensor.name != "beams"]
    del decoder.initializer[:]
    decoder.initializer.extend(kept)
    model, feeds = beams(decoder)
    model.graph.initializer.append(shared)
    with pytest.raises(gantry.UnsupportedError, match="no value around it that is called beams"):
        run(model, feeds)


def test_a_part_of_the_vocabulary():
    """The decoder's is larger for the sake of its kernels. ONNX Runtime reads rows of the smaller one there."""
    whole = gpt_decoder()
    smaller = gpt_decoder()
    for tensor in smaller.initializer:
        if tensor.name == "W_logits":
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor)[:, :20], "W_logits"))
    smaller.output[0].type.tensor_type.shape.dim[2].dim_value = 20
    expected = compare(*beams(smaller, end=5))
    found = run(*beams(whole, end=5, vocab_size=20))
    np.testing.assert_array_equal(found["sequences"], expected["sequences"])
    np.testing.assert_allclose(found["sequences_scores"], expected["sequences_scores"], rtol=1e-4)


SOURCE = np.array([[3, 5, 7, 2], [22, 22, 4, 22]], I32)
SOUND = np.random.default_rng(3).standard_normal((2, FEATURES, 7)).astype(F32)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.startswith("mask")])
@pytest.mark.parametrize("kind", ["t5", "t5_alone"])
def test_translation(kind, rule, seed):
    compare(*beams_of(kind, SOURCE, seed, **RULES[rule]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("options", [
    {"count": 1, "returned": 1}, {"early_stopping": 1}, {"length_penalty": 0.5}, {"min_length": 8}, {"has_hidden": False}, {"length": 25, "end": NO_END},
    {"attention_mask": np.array([[1, 1, 0, 1], [0, 0, 1, 1]], I32)}, {"outputs": ("sequences", "sequences_scores", "scores"), "end": NO_END},
], ids=str)
def test_translations(options, seed):
    compare(*beams_of("t5", SOURCE, seed, **options))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("options", [
    {}, {"decoder_input_ids": np.array([[1, 4, 9], [1, 6, 9]], I32)}, {"has_hidden": False}, {"no_repeat_ngram_size": 2, "repetition_penalty": one(1.2, F32)},
    {"early_stopping": 1, "count": 4}, {"operator": "WhisperBeamSearch"}, {"operator": "WhisperBeamSearch", "temperature": one(0.7, F32), "early_stopping": 1},
    {"operator": "WhisperBeamSearch", "decoder_input_ids": np.array([[1, 4, 9], [1, 6, 9]], I32), "vocab_mask": mask_of(VOCABULARY)},
], ids=str)
def test_speech(options, seed):
    compare(*beams_of("whisper", SOUND, seed, **options))


@pytest.mark.parametrize("change, told", [
    (lambda decoder: decoder.output.pop(), "expected the inputs input_ids, position_ids, attention_mask and past_0"),
    (lambda decoder: decoder.input[3].type.tensor_type.shape.dim[4].Clear(), "expected past_0 of rank 5 with known extents of axes 2 and 4"),
    (None, "encoder, decoder: expected graphs with the inputs and outputs"),
])
def test_what_is_refused_says_why(change, told):
    decoder = gpt_decoder()
    if change:
        change(decoder)
    model, _ = beams(decoder, **({} if change else {"model_type": 1}))
    with pytest.raises(gantry.UnsupportedError, match=told):
        gantry.Session(model, device="CPU")


def test_an_older_opset():
    """Converters write opset 11: the search is of a newer one, the decoder of the model's."""
    decoder = onnx.helper.make_graph([], "decoder", [], [])
    decoder.CopyFrom(gpt_decoder())
    nodes = []
    for node in decoder.node:
        if node.op_type == "Unsqueeze":  # whose axes were an attribute
            axes = {"first": [0], "last": [1], "middle": [1, 2]}[node.input[1]]
            node = onnx.helper.make_node("Unsqueeze", node.input[:1], node.output, axes=axes)
        if node.op_type == "Split":
            node = onnx.helper.make_node("Split", node.input[:1], node.output, axis=2)
        if node.op_type == "Squeeze":
            node = onnx.helper.make_node("Squeeze", node.input[:1], node.output)
        if node.op_type == "Shape":  # of one axis only
            whole = onnx.helper.make_node("Shape", node.input, [f"{node.output[0]}_whole"])
            nodes.append(whole)
            node = onnx.helper.make_node("Gather", [whole.output[0], "last"], node.output, axis=0)
        nodes.append(node)
    del decoder.node[:]
    decoder.node.extend(nodes)
    compare(*beams(decoder, end=5, opset=11))
    compare(*greedy(decoder, opset=11))


def test_caches_of_unknown_extents_are_refused():
    """The first ones are empty, of as many heads and numbers as the decoder says."""
    graphs = encoder_and_decoder("t5_alone")
    graphs["decoder"].input[2].type.tensor_type.shape.dim[3].Clear()
    model, _ = beams_of("t5_alone", SOURCE)
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "decoder":
            attribute.g.CopyFrom(graphs["decoder"])
    with pytest.raises(gantry.UnsupportedError, match="with known extents of axes 1 and 3 of the pasts"):
        gantry.Session(model, device="CPU")
