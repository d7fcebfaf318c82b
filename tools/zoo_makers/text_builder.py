# SPDX-License-Identifier: Apache-2.0
"""Text models as ONNX Runtime's builder of them writes them for the CPU (onnxruntime_genai.models.builder): each of its architectures, tiny and with
random weights, and its options. Each is run over prompts and the tokens that follow, with the caches of one step given to the next."""

import contextlib
import functools
import io
import itertools
import json
import logging
import pathlib
import tempfile

import numpy as np
import onnx
import safetensors.torch
import tokenizers
import torch
import transformers
from onnxruntime_genai import models as builder_folder  # noqa: F401: puts its folder on the module path, where the builder looks for its parts
from torch import nn
from zoo_makers.made import Made

import builder  # isort: skip  # of that folder

logging.disable(logging.ERROR)
HEAD = 32
WORDS = 104
WINDOW = 4
TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": WORDS,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
HEADS = {**TEXT, "head_dim": HEAD}
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
LINEAR = {
    **HEADS,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, "mrope_section": [4, 2, 2],
                        "mrope_interleaved": True},
    "tie_word_embeddings": False,
}
FEW_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2}  # of HEAD, for those that divide the hidden size among them
WIDE_HEADS = {"global_head_dim": 2 * HEAD, "num_global_key_value_heads": 2, "sliding_window": WINDOW, "hidden_size_per_layer_input": 0,
              "layer_types": ["sliding_attention", "full_attention"]}  # those of a layer that sees all
STREAMS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 4, 4]}
LONG = {"rope_type": "longrope", "type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0 + 0.1 * i for i in range(HEAD // 2)],
        "long_factor": [1.0 + 0.5 * i for i in range(HEAD // 2)], "original_max_position_embeddings": 8}
VISION = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28,
          "patch_size": 14, "out_hidden_size": 64}


def text(kind, of="", **more):
    """The maker of a language model; `of`: what the class of its configuration is called besides."""
    return lambda: getattr(transformers, f"{kind}ForCausalLM")(getattr(transformers, f"{kind}{of}Config")(**{**HEADS, **more}))


def vision_model(kind, text_kind, vision, **more):
    """The maker of a vision-language model, of which the language model alone is built."""
    def make():
        config = getattr(transformers, f"{kind}Config")(text_config={"model_type": text_kind, **HEADS, **more}, vision_config={**VISION, **vision})
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


def whisper():
    config = transformers.WhisperConfig(d_model=64, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                        vocab_size=WORDS, suppress_tokens=None, begin_suppress_tokens=None,
                                        encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=8, max_source_positions=1500, max_target_positions=64,
                                        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    return transformers.WhisperForConditionalGeneration(config)


class Phi3SmallConfig(transformers.PretrainedConfig):
    """Of Phi 3 small, whose code is not in transformers: what the builder reads of it."""
    model_type = "phi3small"


class Phi3SmallDecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        size, inner, head = config.hidden_size, config.intermediate_size, config.hidden_size // config.num_attention_heads
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(size), nn.LayerNorm(size)
        self.self_attn, self.mlp = nn.Module(), nn.Module()
        self.self_attn.query_key_value = nn.Linear(size, size + 2 * head * config.num_key_value_heads)
        self.self_attn.dense = nn.Linear(size, size)
        self.mlp.up_proj, self.mlp.down_proj = nn.Linear(size, 2 * inner), nn.Linear(inner, size)


class Phi3SmallForCausalLM(transformers.PreTrainedModel):
    config_class = Phi3SmallConfig

    def __init__(self, config):
        super().__init__(config)
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.model.layers = nn.ModuleList(Phi3SmallDecoderLayer(config) for _ in range(config.num_hidden_layers))
        self.model.final_layernorm = nn.LayerNorm(config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self):
        return self.lm_head


transformers.AutoConfig.register("phi3small", Phi3SmallConfig)
transformers.AutoModelForCausalLM.register(Phi3SmallConfig, Phi3SmallForCausalLM)
BLOCKS = {
    "blocksparse_block_size": 16, "blocksparse_triton_kernel_block_size": 16, "blocksparse_num_local_blocks": 1, "blocksparse_vert_stride": 3,
    "blocksparse_homo_head_pattern": False, "dense_attention_every_n_layers": 2, "gegelu_limit": 20.0, "mup_embedding_multiplier": 2.0,
    "mup_width_multiplier": 4.0, "mup_use_scaling": True, "mup_attn_multiplier": 1.0, "dummy_token_indices": [5, 6],
    "original_max_position_embeddings": 64, "rope_embedding_base": 10000, "hidden_act": "gegelu", "tie_word_embeddings": False,
}


def phi3_small():
    return Phi3SmallForCausalLM(Phi3SmallConfig(**{**TEXT, "num_attention_heads": 2, "num_key_value_heads": 1}, **BLOCKS))


ARCHITECTURES = {
    "llama": text("Llama"),
    "llama tied": text("Llama", tie_word_embeddings=True),
    "llama biased": text("Llama", attention_bias=True, mlp_bias=True),
    "llama one key head": text("Llama", num_key_value_heads=1),
    "llama 3": text("Llama", rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                              "high_freq_factor": 4.0, "original_max_position_embeddings": 32}),
    "llama linear": text("Llama", rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}),
    "llama yarn": text("Mistral", sliding_window=None, rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "beta_slow": 1.0,
                                                                       "beta_fast": 32.0, "original_max_position_embeddings": 4096}),
    "mistral": text("Mistral", sliding_window=None),
    "mistral windowed": text("Mistral", sliding_window=WINDOW),
    "mistral 3": vision_model("Mistral3", "mistral", {"model_type": "pixtral", "head_dim": 16}, sliding_window=None),
    "qwen2": text("Qwen2"),
    "qwen3": text("Qwen3"),
    "qwen2.5 vl": vision_model("Qwen2_5_VL", "qwen2_5_vl_text", {"fullatt_block_indexes": [0]}, **FEW_HEADS, rope_parameters=STREAMS),
    "qwen3 vl": vision_model("Qwen3VL", "qwen3_vl_text", {"deepstack_visual_indexes": [0]}, rope_parameters=STREAMS),
    "qwen3.5": vision_model("Qwen3_5", "qwen3_5_text", {}, **LINEAR),
    "qwen3.5 moe": vision_model("Qwen3_5Moe", "qwen3_5_moe_text", {}, **LINEAR, **EXPERTS, shared_expert_intermediate_size=64),
    "gemma": text("Gemma"),
    "gemma2": text("Gemma2", sliding_window=WINDOW, query_pre_attn_scalar=16),
    "gemma3": text("Gemma3", "Text", sliding_window=WINDOW, query_pre_attn_scalar=16, layer_types=["sliding_attention", "full_attention"]),
    "gemma3 vl": vision_model("Gemma3", "gemma3_text", {"model_type": "siglip_vision_model"}, sliding_window=WINDOW, query_pre_attn_scalar=16,
                             layer_types=["sliding_attention", "full_attention"]),
    "gemma4": vision_model("Gemma4Unified", "gemma4_unified_text", {}, **WIDE_HEADS),
    "gemma4 moe": vision_model("Gemma4", "gemma4_text", {}, **WIDE_HEADS, **EXPERTS, top_k_experts=2, enable_moe_block=True),
    "phi": text("Phi", **FEW_HEADS, partial_rotary_factor=0.5),
    "phi3": text("Phi3", original_max_position_embeddings=64, sliding_window=None),
    "phi3 windowed": text("Phi3", original_max_position_embeddings=64, sliding_window=WINDOW),
    "phi3 long": text("Phi3", **FEW_HEADS, original_max_position_embeddings=8, sliding_window=None, rope_parameters=LONG),
    "phi3 small": phi3_small,
    "phi4": text("Phi3", **FEW_HEADS, original_max_position_embeddings=8, sliding_window=None, partial_rotary_factor=0.5,
                 rope_parameters={**LONG, "partial_rotary_factor": 0.5, **{name: LONG[name][::2] for name in ("short_factor", "long_factor")}}),
    "nemotron": text("Nemotron", partial_rotary_factor=0.5),
    "olmo": text("Olmo"),
    "smollm3": text("SmolLM3", no_rope_layers=[1, 1], use_sliding_window=True, sliding_window=WINDOW,
                    layer_types=["sliding_attention", "full_attention"]),
    "granite": text("Granite", embedding_multiplier=2.0, attention_multiplier=0.2, residual_multiplier=0.5, logits_scaling=4.0),
    "granite hybrid": text("GraniteMoeHybrid", layer_types=["attention", "attention"], shared_intermediate_size=128, num_local_experts=0,
                           attention_multiplier=0.2, position_embedding_type="rope"),
    "ernie": text("Ernie4_5"),
    "hunyuan": text("HunYuanDenseV1", rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 1000.0, "factor": 1.0}),
    "lfm2": text("Lfm2", layer_types=["conv", "full_attention"], block_multiple_of=32),
    "lfm2 vl": vision_model("Lfm2Vl", "lfm2", {"model_type": "siglip2_vision_model"}, layer_types=["conv", "full_attention"], block_multiple_of=32),
    "lfm2 moe": text("Lfm2Moe", layer_types=["conv", "full_attention"], num_dense_layers=1, **EXPERTS),
    "gpt oss": text("GptOss", sliding_window=WINDOW, num_local_experts=4, num_experts_per_tok=2, intermediate_size=64,
                    layer_types=["sliding_attention", "full_attention"]),
    "whisper": whisper,
}

ARGUMENTS = {
    "fp32": ("fp32", {}),
    "int4": ("int4", {}),
    "int4 by floats": ("int4", {"accuracy_level": 0}),
    "int4 with zero points": ("int4", {"accuracy_level": 0, "is_symmetric": False}),
}
OPTIONS = {
    "int4 of 16": ("int4", {"accuracy_level": 0, "block_size": 16}),
    "int4 of 64": ("int4", {"accuracy_level": 0, "block_size": 64}),
    "int4 of 128": ("int4", {"accuracy_level": 0, "block_size": 128}),
    "int4 with zero points by integers": ("int4", {"is_symmetric": False}),
    "int4 rtn": ("int4", {"accuracy_level": 0, "algo_config": "rtn"}),
    "int4 k quant": ("int4", {"accuracy_level": 0, "algo_config": "k_quant"}),
    "int4 and int8": ("int4", {"accuracy_level": 0, "algo_config": "k_quant", "matmul_mixed_precision": "last_matmul:int8,mixed_layers:int8"}),
    "int4 qdq": ("int4", {"use_qdq": True}),
    "int4 qdq with zero points": ("int4", {"use_qdq": True, "is_symmetric": False}),
    "int4 of embeddings": ("int4", {"accuracy_level": 0, "op_types_to_quantize": "MatMul/Gather"}),
    "int4 of embeddings with zero points": ("int4", {"accuracy_level": 0, "op_types_to_quantize": "MatMul/Gather", "is_symmetric": False}),
    "int8": ("int8", {"accuracy_level": 0}),
    "int8 with zero points": ("int8", {"accuracy_level": 0, "is_symmetric": False}),
    "int8 by integers": ("int8", {}),
    "no embeddings": ("fp32", {"exclude_embeds": True}),
    "no head": ("fp32", {"exclude_lm_head": True}),
    "hidden states": ("fp32", {"include_hidden_states": True}),
    "states of layers": ("fp32", {"aux_hidden_state_layers": "1"}),
    "last logits": ("fp32", {"prune_lm_head": True}),
    "parted": ("fp32", {"fuse_qkv": False}),
    "joined": ("int4", {"accuracy_level": 0, "fuse_mlp_gate_up": True}),
    **{
        f"cache {scheme}": ("fp32", {"kv_cache_quant_scheme": scheme})
        for scheme in ("int8_per_tensor", "int8_per_channel", "int4_per_tensor", "int4_per_channel")
    },
}
WINDOW_OPTIONS = {
    "whole caches": ("fp32", {"windowed_kv_cache": False}),
    "cache int8": ("fp32", {"kv_cache_quant_scheme": "int8_per_channel"}),
    "cache int4": ("fp32", {"kv_cache_quant_scheme": "int4_per_tensor"}),
}
EXPERT_OPTIONS = {
    "experts int8": ("int4", {"accuracy_level": 0, "moe_quant_type": "int8"}),
    "experts by columns": ("int4", {"accuracy_level": 0, "qmoe_block_size": 0}),
    "experts of 64": ("int4", {"accuracy_level": 0, "qmoe_block_size": 64}),
}
MORE = {
    "phi": {"fp16": ("fp16", {})},  # MultiHeadAttention, since groups of halves are not for the CPU
    "llama": OPTIONS,
    "llama tied": OPTIONS,
    "gemma3": WINDOW_OPTIONS,
    "mistral windowed": WINDOW_OPTIONS,
    "gpt oss": WINDOW_OPTIONS | EXPERT_OPTIONS,
    "lfm2 moe": EXPERT_OPTIONS,
    "qwen3.5 moe": EXPERT_OPTIONS,
}


def draw(module) -> None:
    """Weights that make other logits of other tokens, which those that transformers starts training with do not."""
    with torch.no_grad():
        for one in module.parameters():
            if one.ndim > 1:
                one.normal_(0, 1.5 / one.shape[-1] ** 0.5)
            else:
                one.add_(torch.randn_like(one), alpha=0.1)


def save_tokenizer(folder) -> None:
    words = {word: number for number, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *(f"w{i}" for i in range(WORDS - 4))])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    special = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=model, **special).save_pretrained(folder)


def save_scales(file, scheme) -> None:
    """Scales of a quantized cache, for each of two layers."""
    count = 2 * HEAD if scheme.endswith("channel") else 1
    scales = np.random.default_rng(0).uniform(0.01, 0.05, (2, count)) * (8 if scheme.startswith("int4") else 1)
    layers = scales.tolist() if count > 1 else scales[:, 0].tolist()
    file.write_text(json.dumps({"scales": {"k_scales": layers, "v_scales": layers}}), encoding="utf-8")


def complete(self, config) -> None:
    """Configurations of Gemma 3 and 4 as the builder reads them, without those of transformers 5 for each layer."""
    is_fourth = isinstance(self, builder.Gemma4Model)
    for one in (config, config.get_text_config()) if is_fourth else ():
        one.allow_global_per_layer_attribute_access = True
    builder.Gemma2Model.make_config_init(self, config)
    if is_fourth:
        config.global_head_dim, config.num_global_key_value_heads = WIDE_HEADS["global_head_dim"], WIDE_HEADS["num_global_key_value_heads"]
    else:
        config.rope_local_base_freq = config.rope_parameters["sliding_attention"]["rope_theta"]
        config.rope_parameters = config.rope_parameters["full_attention"]


builder.Gemma3Model.make_config_init = complete


def save_experts(folder, module) -> None:
    """Those of GPT-OSS as its checkpoints have them, in floats of 4 bits, beside the others."""
    file = pathlib.Path(folder, "model.safetensors")
    tensors = safetensors.torch.load_file(file)
    for name, weight in module.state_dict().items():
        if name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            count, inner, outer = weight.shape
            tensors[f"{name}_blocks"] = torch.randint(0, 256, (count, outer, inner // 32, 16), dtype=torch.uint8)
            tensors[f"{name}_scales"] = torch.randint(122, 125, (count, outer, inner // 32), dtype=torch.uint8)
    safetensors.torch.save_file(tensors, file, {"format": "pt"})


@functools.cache
def saved(architecture) -> tempfile.TemporaryDirectory:
    """As transformers saves it."""
    folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with  # it lasts as long as the process
    torch.manual_seed(0)
    module = ARCHITECTURES[architecture]().eval()
    draw(module)
    module.save_pretrained(folder.name)
    save_tokenizer(folder.name)
    if architecture == "gpt oss":
        save_experts(folder.name, module)
    return folder


def build(architecture, precision, options, part) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        source = saved(architecture).name
        options = dict(options)
        if scheme := options.get("kv_cache_quant_scheme"):
            options["kv_cache_scale_file"] = str(pathlib.Path(folder, "scales.json"))
            save_scales(pathlib.Path(options["kv_cache_scale_file"]), scheme)
        arguments = (None, source, folder, precision, "cpu", folder)
        builder.create_model(*arguments, **builder.parse_extra_options(*arguments, [f"{name}={value}" for name, value in options.items()]))
        return onnx.load(pathlib.Path(folder, part))


def windows_of(model) -> dict:
    """Inputs that are caches of the last tokens alone, with the number of tokens that a query sees."""
    windows = {}
    for node in model.graph.node:
        attributes = {one.name: one.i for one in node.attribute}
        if attributes.get("sliding_window_cache"):
            windows |= {name: attributes["local_window_size"] for name in node.input[3:5]}
    return windows


def resident(tokens, window, room) -> int:
    """How many of `tokens` such a cache of `room` rows holds, as the operator's documentation has it."""
    gap = room - window + 1
    return tokens if tokens <= room else tokens - gap * -((room - tokens) // gap)


def carried(model) -> dict:
    """Inputs that take an output of the step before, by name."""
    outputs = {one.name for one in model.graph.output}
    pairs = ((one.name, one.name.replace("past_key_values", "present").replace("past", "present")) for one in model.graph.input)
    return {name: output for name, output in pairs if output != name and output in outputs}


class Run:
    """The steps of a run. `prompt`: the tokens of each row, those of a shorter one padded; `chunks`: how many tokens each later step has;
    `room`: rows of the caches before the first step; `slack`: rows of a cache of the last tokens beyond what a query sees."""

    def __init__(self, model, name, prompt, chunks, room=0, slack=0):
        self.model, self.room, self.slack = model, room, slack
        self.random = np.random.default_rng(len(name))
        self.windows, self.carried = windows_of(model), carried(model)
        self.is_pruned = any("/prune/" in node.name for node in model.graph.node)  # logits of the last token alone
        self.steps, self.seen = [], []
        done = [0] * len(prompt)
        for new in (list(prompt), *([chunk] * len(prompt) for chunk in chunks)):
            ends = [before + more for before, more in zip(done, new)]
            self.steps.append({one.name: self.feed(one, done, new) for one in model.graph.input if not (self.steps and one.name in self.carried)})
            self.seen.append({one.name: self.rows(one.name, new, ends) for one in model.graph.output})
            done = ends
        self.name = name

    def as_dict(self) -> dict:
        """What compare_one.py reads."""
        return {"name": self.name, "steps": self.steps, "seen": self.seen, "carried": self.carried, "is_shared": self.name.startswith("shared")}

    def rows(self, output, new, ends):
        """The axis and the number of rows, for each of the batch, that are not of padding, or that a cache has not forgotten; None: all are."""
        source = next((name for name, other in self.carried.items() if other == output), None)
        if source is None:
            if max(new) == min(new) or output not in ("logits", "hidden_states", "aux_hidden_states"):
                return None
            return 1, [int(count == max(new)) for count in new] if self.is_pruned else new
        if source.endswith((".conv", ".recurrent")):
            return None
        if source in self.windows:
            return 2, [resident(end, self.windows[source], self.windows[source] + self.slack) for end in ends]
        return 2, ends

    def extents(self, one, done, new):
        past = self.windows[one.name] + self.slack if one.name in self.windows else self.room
        known = {"batch_size": len(new), "sequence_length": max(new), "total_sequence_length": max(map(sum, zip(done, new))), "kv_cache_dim": HEAD}
        return [known.get(axis.dim_param, past) if axis.dim_param else axis.dim_value for axis in one.type.tensor_type.shape.dim]

    def feed(self, one, done, new):
        shape = self.extents(one, done, new)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
        if one.name == "attention_mask":
            return (np.arange(shape[1]) < np.add(done, new)[:, None]).astype(dtype)
        if one.name == "position_ids":
            return np.broadcast_to(np.array(done)[:, None] + np.arange(max(new)), shape).astype(dtype)
        if one.name in self.carried:
            return np.zeros(shape, dtype)
        return self.random.integers(3, WORDS, shape).astype(dtype) if dtype.kind == "i" else self.random.standard_normal(shape).astype(dtype)


def runs_of(model) -> list:
    names = {one.name for one in model.graph.input}
    has_state = any(name.endswith((".conv", ".recurrent")) for name in names)
    if not carried(model):
        return [Run(model, "once", [7], []).as_dict(), Run(model, "twice", [7, 7], []).as_dict()]
    if any(node.op_type == "SparseAttention" for node in model.graph.node):  # ONNX Runtime has its caches in one array, and rows of one length
        return [Run(model, f"shared by {len(prompt)}", prompt, [1, 1, 1], room=64).as_dict() for prompt in ([40], [40, 40])]
    can_pad = "attention_mask" in names and not has_state and not windows_of(model)  # a state would go on through the padding
    runs = [Run(model, "alone", [7], [1, 1, 1]), Run(model, "padded", [7, 4] if can_pad else [6, 6], [1, 1, 1], slack=2),
            Run(model, "chunks", [5], [3, 1, 1], slack=1)]
    if "attention_mask" in names:
        runs.append(Run(model, "shared", [7], [1, 1, 1], room=16, slack=3))
    return [run.as_dict() for run in runs]


def made(architecture, precision, options, part="model.onnx") -> Made:
    model = build(architecture, precision, options, part)
    # What ONNX Runtime multiplies in 8 bits: as a model asks for, and experts of 8 bits in any case.
    by_integers = precision[:3] == "int" and options.get("accuracy_level") != 0 or options.get("moe_quant_type") == "int8"
    return Made(model, runs_of(model), bound=5e-2 if by_integers else 0)


def models():
    for architecture, (how, arguments) in itertools.product(ARCHITECTURES, ARGUMENTS.items()):
        for part in ("encoder", "decoder") if architecture == "whisper" else ("model",):
            name = f"{architecture} {how}" if part == "model" else f"{architecture} {part} {how}"
            yield name, functools.partial(made, architecture, *arguments, f"{part}.onnx")
    for architecture, options in MORE.items():
        for how, arguments in options.items():
            yield f"{architecture} {how}", functools.partial(made, architecture, *arguments)
