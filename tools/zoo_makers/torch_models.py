# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision, timm and transformers with random weights, small ones at their own size, by both exporters."""

import functools

import timm
import torch
import torchvision
import transformers
from zoo_makers.torch_export import EXPORTERS, export

MOST_PARAMETERS = 40_000_000  # so that a model is made and run in seconds
SIDE = 96


def images(batch, side):
    return torch.randn(batch, 3, side, side, generator=torch.Generator().manual_seed(0))


def require_small(module):
    count = sum(one.numel() for one in module.parameters())
    if count > MOST_PARAMETERS:
        raise ValueError(f"{count} parameters, more than {MOST_PARAMETERS} of the zoo's models")
    return module


class Logits(torch.nn.Module):
    """The first answer of a segmentation model, which gives a dictionary."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)["out"]


def open_batch(exporter):
    return {"x0": [0]} if exporter == "script" else None


def vision(name, exporter, side):
    module = require_small(torchvision.models.get_model(name, weights=None))
    return export(module, [images(1, side)], exporter, open_axes=open_batch(exporter))


def segmentation(name, exporter):
    module = require_small(torchvision.models.get_model(name, weights=None, weights_backbone=None))
    return export(Logits(module), [images(1, SIDE)], exporter, open_axes=open_batch(exporter))


def detector(name):
    module = require_small(torchvision.models.get_model(name, weights=None, weights_backbone=None))
    return export(module, [images(1, 160)], "script", 17)


def timm_model(name, exporter):
    module = require_small(timm.create_model(name, pretrained=False))
    return export(module, [images(1, module.pretrained_cfg["input_size"][-1])], exporter)


# Small ones of each architecture, as their configurations name the extents.
EXTENTS = {
    "hidden_size": 32,
    "d_model": 32,
    "n_embd": 32,
    "embed_dim": 32,
    "dim": 32,
    "num_hidden_layers": 2,
    "num_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "num_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 64,
    "d_ff": 64,
    "d_kv": 8,
    "ffn_dim": 64,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "hidden_dim": 64,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "pad_token_id": 0,
    "embedding_size": 16,
}
TEXT = """
    bert roberta distilbert albert electra deberta-v2 mpnet xlm-roberta camembert mobilebert squeezebert funnel convbert nystromformer roformer modernbert
    gpt2 gpt_neo gpt_neox gptj opt bloom codegen llama mistral qwen2 qwen3 gemma gemma2 phi phi3 stablelm olmo falcon starcoder2 granite cohere smollm3 lfm2
""".split()
IMAGES = """
    vit deit beit swin swinv2 convnext convnextv2 resnet regnet mobilenet_v1 mobilenet_v2 efficientnet segformer mobilevit poolformer dinov2 cvt levit
    focalnet bit
""".split()


def configured(kind):
    config = transformers.AutoConfig.for_model(kind)
    for name, value in EXTENTS.items():
        if hasattr(config, name):
            try:
                setattr(config, name, value)
            except (AttributeError, NotImplementedError, TypeError):
                continue
    for name, value in {"use_cache": False, "return_dict": True, "_attn_implementation": "eager"}.items():
        setattr(config, name, value)
    return config


def text_model(kind, exporter):
    module = require_small(transformers.AutoModel.from_config(configured(kind)))
    tokens = torch.randint(1, 99, (2, 7), generator=torch.Generator().manual_seed(0))
    return export(module, {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, exporter)


def image_model(kind, exporter):
    config = transformers.AutoConfig.for_model(kind)
    module = require_small(transformers.AutoModel.from_config(config))
    side = getattr(config, "image_size", 224)
    return export(module, {"pixel_values": images(1, side if isinstance(side, int) else 224)}, exporter)


TIMM = """
    resnet18 resnetv2_50x1_bit mobilenetv3_small_050 mobilenetv4_conv_small efficientnet_lite0 efficientnet_b0 tf_efficientnetv2_b0 mnasnet_small
    ghostnet_050 regnetx_002 regnety_002 edgenext_xx_small convnext_atto convnextv2_atto vit_tiny_patch16_224 deit_tiny_patch16_224 deit3_small_patch16_224
    swin_tiny_patch4_window7_224 pit_ti_224 cait_xxs24_224 xcit_nano_12_p16_224 levit_128s mobilevit_xxs mobilevitv2_050 efficientformer_l1
    efficientformerv2_s0 fastvit_t8 repvit_m0_9 poolformer_s12 crossvit_tiny_240 coat_tiny tnt_s_legacy_patch16_224 twins_svt_small visformer_tiny
    gmlp_s16_224 mixer_s16_224 resmlp_12_224 hardcorenas_a tinynet_e lcnet_050 fbnetc_100 spnasnet_100 semnasnet_075 rexnet_100 dla34 hrnet_w18_small
    res2net50_14w_8s resnest14d seresnext26d_32x4d skresnet18 selecsls42b cspresnet50 darknet53 vovnet39a densenet121 dpn48b inception_next_tiny
    nf_regnet_b0 eca_nfnet_l0 botnet26t_256 halonet26t lambda_resnet26t sequencer2d_s hgnet_tiny starnet_s1 shvit_s1 maxvit_nano_rw_256 coatnet_nano_rw_224
    volo_d1_224 beit_base_patch16_224 eva02_tiny_patch14_224 nextvit_small davit_tiny focalnet_tiny_srf mvitv2_tiny pvt_v2_b0 bat_resnext26ts gcresnext26ts
    convit_tiny nest_tiny resnet26t xception41 inception_v3 inception_v4
""".split()


def models():
    for exporter in EXPORTERS:
        for name in torchvision.models.list_models(torchvision.models):
            yield f"vision {name} {exporter}", functools.partial(
                vision, name, exporter, 299 if "inception" in name else 224 if name.startswith(("vit", "maxvit")) else SIDE
            )
        for name in torchvision.models.list_models(torchvision.models.segmentation):
            yield f"segmentation {name} {exporter}", functools.partial(segmentation, name, exporter)
        for kind in TEXT:
            yield f"text {kind} {exporter}", functools.partial(text_model, kind, exporter)
        for kind in IMAGES:
            yield f"image {kind} {exporter}", functools.partial(image_model, kind, exporter)
        for name in TIMM:
            yield f"timm {name} {exporter}", functools.partial(timm_model, name, exporter)
    for name in torchvision.models.list_models(torchvision.models.detection):
        yield f"detection {name}", functools.partial(detector, name)
