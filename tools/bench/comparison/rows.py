# SPDX-License-Identifier: Apache-2.0
"""The models that are compared, what they are fed, and how far outputs may be apart. Files lie in build/models/bench, written once."""

import dataclasses
import hashlib
import pathlib
import typing

import google.protobuf.message
import numpy as np
import onnx
from fill_weights import fill_weights
from make_models import chained_adds
from model_files import light_file, model_file

from comparison import half_models, open_extents, other_sequence_models, other_vision_models, quantized_models, transformer_models, vision_models
from workspace import MODELS, ROOT, say

FOLDER = MODELS / "bench"
F32_LIMIT = 1e-3   # of an output's largest value: sums in another order, through up to 120 layers
INT8_LIMIT = 0.05  # a step of a scale more or less in some layer goes through all layers after it


@dataclasses.dataclass(frozen=True)
class Row:
    """A model of the comparison. `source` is a model to write, or the path of a file that is taken as it is."""

    name: str
    title: str
    source: typing.Callable[[], "onnx.ModelProto | pathlib.Path"]
    feeds: typing.Callable[[np.random.Generator], dict]
    limit: float = F32_LIMIT


def light(name):
    return lambda: fill_weights(onnx.load(light_file(name)))


def picture(name, *shape):
    return lambda generator: {name: generator.standard_normal(shape, np.float32)}


def page(name, *shape):
    """A picture as text recognition takes it: -1 to 1."""
    return lambda generator: {name: generator.uniform(-1, 1, shape).astype(np.float32)}


def bert_feeds_of(tokens):
    def feeds(generator):
        ids = generator.integers(1000, 30000, (1, tokens))
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    return feeds


bert_feeds = bert_feeds_of(128)


def gpt2_feeds(generator):
    cache = lambda: generator.standard_normal((1, 12, 256, 64), np.float32)  # noqa: E731
    pasts = {f"past_{kind}_{layer}": cache() for layer in range(12) for kind in ("key", "value")}
    return {"input_ids": np.array([[464]]), "position_ids": np.array([[256]]), **pasts}


def silero_feeds(generator):
    chunk = 0.1 * generator.standard_normal((1, 576), np.float32)
    return {"input": chunk, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000)}


def ocr(kind):
    return lambda: model_file(f"rapidocr/rapidocr/models/PP-OCRv6_{kind}_small.onnx")


PICTURE = picture("x", 1, 3, 224, 224)
RESNET_PICTURE = picture("gpu_0/data_0", 1, 3, 224, 224)

ROWS = (
    Row("resnet50", "ResNet-50", light("resnet50"), picture("gpu_0/data_0", 1, 3, 224, 224)),
    Row("squeezenet", "SqueezeNet", light("squeezenet"), picture("data_0", 1, 3, 224, 224)),
    Row("shufflenet", "ShuffleNet", light("shufflenet"), picture("gpu_0/data_0", 1, 3, 224, 224)),
    Row("densenet121", "DenseNet-121", light("densenet121"), picture("data_0", 1, 3, 224, 224)),
    Row("inception_v2", "Inception v2", light("inception_v2"), picture("data_0", 1, 3, 224, 224)),
    Row("vgg19", "VGG-19", light("vgg19"), picture("data_0", 1, 3, 224, 224)),
    Row("mobilenet_v2", "MobileNetV2", vision_models.mobilenet_v2, picture("x", 1, 3, 224, 224)),
    Row("bert_base", "BERT-base, 128 tokens", transformer_models.bert_base, bert_feeds),
    Row("gpt2_decode", "GPT-2 124M, 256 past", transformer_models.gpt2_decode, gpt2_feeds),
    Row("resnet50_int8", "ResNet-50 int8", lambda: quantized_models.quantized(light("resnet50")(), RESNET_PICTURE), RESNET_PICTURE, INT8_LIMIT),
    Row("mobilenet_v2_int8", "MobileNetV2 int8", lambda: quantized_models.quantized(vision_models.mobilenet_v2(), PICTURE), PICTURE, INT8_LIMIT),
    Row("ocr_detection", "PP-OCRv6 detection 480x640", ocr("det"), page("x", 1, 3, 480, 640)),
    Row("ocr_recognition", "PP-OCRv6 recognition 48x320", ocr("rec"), page("x", 1, 3, 48, 320)),
    Row("magika", "magika, batch 1", lambda: model_file("magika/magika/models/standard_v3_3/model.onnx"),
        lambda generator: {"bytes": generator.integers(0, 256, (1, 2048)).astype(np.int32)}),
    Row("silero_vad", "silero_vad, one chunk", lambda: model_file("silero-vad/silero_vad/data/silero_vad.onnx"), silero_feeds),
    Row("chained_adds", "1,000 Adds of 16 floats", lambda: chained_adds(1000), picture("x", 16)),
)


def states(rows, width):
    return picture("x", 1, rows, width)


def decoder_feeds(new, past):
    def feeds(generator):
        angles = generator.uniform(0, np.pi, (1, 1, new, 64)).astype(np.float32)
        caches = {f"past_{kind}_{layer}": generator.standard_normal((1, 4, past, 64), np.float32) for layer in range(4) for kind in ("key", "value")}
        return {"x": generator.standard_normal((1, new, 1024), np.float32), "cos": np.cos(angles), "sin": np.sin(angles), **(caches if past else {})}
    return feeds


def halved(feeds):
    return lambda generator: {name: array.astype(np.float16) if array.dtype == np.float32 else array for name, array in feeds(generator).items()}


def sentences(batch):
    def feeds(generator):
        return {"input_ids": generator.integers(0, 8192, (batch, 64)), "attention_mask": np.ones((batch, 64), np.int64)}
    return feeds


def int8(name, title, write, feeds, limit=INT8_LIMIT, **options):
    """A row of a model by ONNX Runtime's static quantiser."""
    return Row(name, f"{title}, int8", lambda: quantized_models.quantized(write(), feeds, **options), feeds, limit)


# Of networks that end in one step of a scale of few steps, or go through many roundings: what ONNX Runtime's own optimizer changes of them.
COARSE_LIMIT = 0.15
HALF_LIMIT = 0.05  # 10 bits of fraction, rounded by some after each node and by others once
OTHER_ROWS = (
    Row("efficientnet_b0", "EfficientNet-B0", other_vision_models.efficientnet_b0, PICTURE),
    Row("efficientnet_b0_8", "EfficientNet-B0, batch 8", lambda: other_vision_models.efficientnet_b0(8), picture("x", 8, 3, 224, 224)),
    Row("mobilenet_v1", "MobileNetV1", other_vision_models.mobilenet_v1, PICTURE),
    Row("mobilenet_v3", "MobileNetV3 large", other_vision_models.mobilenet_v3, PICTURE),
    Row("regnet_x", "RegNetX-1.6GF", other_vision_models.regnet_x, PICTURE),
    Row("convnext_t", "ConvNeXt-T", other_vision_models.convnext_t, PICTURE),
    Row("u_net", "U-Net, 256 x 256", other_vision_models.u_net, picture("x", 1, 3, 256, 256)),
    Row("yolo", "YOLOv8n-like, 320 x 320", other_vision_models.yolo, picture("x", 1, 3, 320, 320)),
    Row("vit_s", "ViT-S/16", other_vision_models.vit_s, PICTURE),
    Row("swin_t", "Swin-T", other_vision_models.swin_t, PICTURE),
    Row("whisper_encoder", "Whisper tiny's encoder", other_sequence_models.whisper_encoder, picture("mel", 1, 80, 3000)),
    Row("wav2vec", "wav2vec 2.0, 2 layers", other_sequence_models.wav2vec, picture("sound", 1, 1, 16000)),
    Row("conv_tasnet", "Conv-TasNet, 12 blocks", other_sequence_models.conv_tasnet, picture("sound", 1, 1, 16000)),
    Row("lstm", "two bidirectional LSTMs", other_sequence_models.recurrent("LSTM", 4), picture("x", 100, 1, 128)),
    Row("gru", "two bidirectional GRUs", other_sequence_models.recurrent("GRU", 3), picture("x", 100, 1, 128)),
    Row("t5_encoder", "T5-small's encoder", other_sequence_models.t5_encoder, states(128, 512)),
    Row("conformer", "Conformer, 8 layers of 144", other_sequence_models.conformer, states(200, 144)),
    Row("prefill", "Llama-like, 64 tokens", lambda: other_sequence_models.decoder(64, 0), decoder_feeds(64, 0)),
    Row("decode", "Llama-like, a step behind 256", lambda: other_sequence_models.decoder(1, 256), decoder_feeds(1, 256)),
    Row("resnet50_f16", "ResNet-50 in f16", lambda: half_models.halved(light("resnet50")()), halved(picture("gpu_0/data_0", 1, 3, 224, 224)), HALF_LIMIT),
    Row("bert_base_f16", "BERT-base in f16", lambda: half_models.halved(transformer_models.bert_base()), bert_feeds, HALF_LIMIT),
    Row("gpt2_decode_f16", "GPT-2 124M in f16, 256 past", lambda: half_models.halved(transformer_models.gpt2_decode()), halved(gpt2_feeds), HALF_LIMIT),
    Row("gpt2_decode_bf16", "GPT-2 124M, weights from bf16", lambda: half_models.from_bf16(transformer_models.gpt2_decode()), gpt2_feeds),
    Row("bert_base_dynamic", "BERT-base, dynamic int8", lambda: quantized_models.dynamic(transformer_models.bert_base()), bert_feeds, INT8_LIMIT),
    Row("bert_base_open", "BERT-base, tokens left open",
        lambda: open_extents.opened(transformer_models.bert_base(), dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), {1: "tokens"})),
        bert_feeds),
    Row("gpt2_decode_open", "GPT-2 124M, past left open", lambda: open_extents.opened(transformer_models.gpt2_decode(), {"past_": {2: "past"}}), gpt2_feeds),
    Row("mobilenet_v2_open", "MobileNetV2, batch and size left open",
        lambda: open_extents.opened(vision_models.mobilenet_v2(), {"x": {0: "batch", 2: "height", 3: "width"}}), PICTURE),
    Row("resnet50_open", "ResNet-50, batch and size left open",
        lambda: open_extents.opened(light("resnet50")(), {"gpu_0/data_0": {0: "batch", 2: "height", 3: "width"}}), picture("gpu_0/data_0", 1, 3, 224, 224)),
    Row("bert_384", "BERT-base, 384 tokens", lambda: transformer_models.bert_base(384), bert_feeds_of(384)),
    Row("resnext50", "ResNeXt-50", lambda: other_vision_models.resnet_50_like(groups=32), PICTURE),
    Row("se_resnet50", "ResNet-50 with gates", lambda: other_vision_models.resnet_50_like(excites=True), PICTURE),
    Row("dcgan", "DCGAN's generator", other_vision_models.dcgan, picture("x", 1, 100, 1, 1)),
    Row("keywords", "keyword spotter", other_vision_models.keyword_spotter, picture("x", 1, 1, 49, 10)),
    Row("minilm", "MiniLM-like, 64 tokens", other_sequence_models.minilm, sentences(1)),
    Row("minilm_8", "MiniLM-like, 8 x 64 tokens", lambda: other_sequence_models.minilm(8), sentences(8)),
    Row("lstm_dynamic", "two bidirectional LSTMs, dynamic int8", lambda: quantized_models.dynamic(other_sequence_models.recurrent("LSTM", 4)(), "LSTM"),
        picture("x", 100, 1, 128), INT8_LIMIT),
    int8("resnet50_int8_plain", "ResNet-50, signed, per tensor", light("resnet50"), RESNET_PICTURE, is_plain=True),
    int8("densenet121_int8", "DenseNet-121", light("densenet121"), picture("data_0", 1, 3, 224, 224)),
    int8("efficientnet_b0_int8", "EfficientNet-B0", other_vision_models.efficientnet_b0, PICTURE),
    int8("mobilenet_v3_int8", "MobileNetV3 large", other_vision_models.mobilenet_v3, PICTURE),
    int8("se_resnet50_int8", "ResNet-50 with gates", lambda: other_vision_models.resnet_50_like(excites=True), PICTURE),
    int8("convnext_t_int8", "ConvNeXt-T", other_vision_models.convnext_t, PICTURE),
    int8("u_net_int8", "U-Net, 256 x 256", other_vision_models.u_net, picture("x", 1, 3, 256, 256)),
    int8("yolo_int8", "YOLOv8n-like, 320 x 320", other_vision_models.yolo, picture("x", 1, 3, 320, 320), COARSE_LIMIT),
    int8("vit_s_int8", "ViT-S/16", other_vision_models.vit_s, PICTURE, COARSE_LIMIT),
    int8("minilm_int8", "MiniLM-like, 64 tokens", other_sequence_models.minilm, sentences(1), COARSE_LIMIT),
    int8("dcgan_int8", "DCGAN's generator", other_vision_models.dcgan, picture("x", 1, 100, 1, 1)),
)

NAMES = [row.name for row in ROWS]


def sources_mark():
    """Changes when what writes the models does."""
    files = [*sorted(pathlib.Path(__file__).parent.glob("*_models.py")), pathlib.Path(__file__).parent / "graph_writer.py",
             ROOT / "tests" / "support" / "fill_weights.py", ROOT / "tools" / "bench" / "make_models.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def is_quantized(model):
    """Whether a model file has operators that quantize or multiply 8-bit numbers."""
    try:
        nodes = onnx.load(model, load_external_data=False).graph.node
    except google.protobuf.message.DecodeError:
        return False  # the runtimes say what it is
    return any("Quantize" in node.op_type or "QLinear" in node.op_type or "Integer" in node.op_type for node in nodes)


def prepare(row):
    """The row's model file and its inputs' (.npz); writes what is not there or was written by other sources."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    model, inputs, stamp = (FOLDER / f"{row.name}{ending}" for ending in (".onnx", ".inputs.npz", ".stamp"))
    np.savez(inputs, **row.feeds(np.random.default_rng(1)))
    if stamp.is_file() and model.is_file() and stamp.read_text() == sources_mark():
        return model, inputs
    source = row.source()
    if isinstance(source, pathlib.Path):
        return source, inputs
    say(f"compare: writing {model.relative_to(MODELS.parent)}")
    stamp.unlink(missing_ok=True)
    onnx.save(source, model)
    stamp.write_text(sources_mark())
    return model, inputs
