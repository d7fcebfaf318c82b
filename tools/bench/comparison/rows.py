# SPDX-License-Identifier: Apache-2.0
"""The models that are compared, what they are fed, and how far outputs may be apart. Files lie in build/models/bench, written once."""

import dataclasses
import hashlib
import pathlib
import typing

import numpy as np
import onnx
from fill_weights import fill_weights
from make_models import chained_adds
from model_files import light_file, model_file

from comparison import quantized_models, transformer_models, vision_models
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


def bert_feeds(generator):
    ids = generator.integers(1000, 30000, (1, 128))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def gpt2_feeds(generator):
    cache = lambda: generator.standard_normal((1, 12, 256, 64), np.float32)  # noqa: E731
    pasts = {f"past_{kind}_{layer}": cache() for layer in range(12) for kind in ("key", "value")}
    return {"input_ids": np.array([[464]]), "position_ids": np.array([[256]]), **pasts}


def silero_feeds(generator):
    chunk = 0.1 * generator.standard_normal((1, 576), np.float32)
    return {"input": chunk, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000)}


def ocr(kind):
    return lambda: model_file(f"rapidocr/rapidocr/models/PP-OCRv6_{kind}_small.onnx")


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
    Row("resnet50_int8", "ResNet-50 int8", lambda: quantized_models.quantized(light("resnet50")()), picture("gpu_0/data_0", 1, 3, 224, 224), INT8_LIMIT),
    Row("mobilenet_v2_int8", "MobileNetV2 int8", lambda: quantized_models.quantized(vision_models.mobilenet_v2()), picture("x", 1, 3, 224, 224), INT8_LIMIT),
    Row("ocr_detection", "PP-OCRv6 detection 480x640", ocr("det"), page("x", 1, 3, 480, 640)),
    Row("ocr_recognition", "PP-OCRv6 recognition 48x320", ocr("rec"), page("x", 1, 3, 48, 320)),
    Row("magika", "magika, batch 1", lambda: model_file("magika/magika/models/standard_v3_3/model.onnx"),
        lambda generator: {"bytes": generator.integers(0, 256, (1, 2048)).astype(np.int32)}),
    Row("silero_vad", "silero_vad, one chunk", lambda: model_file("silero-vad/silero_vad/data/silero_vad.onnx"), silero_feeds),
    Row("chained_adds", "1,000 Adds of 16 floats", lambda: chained_adds(1000), picture("x", 16)),
)
NAMES = [row.name for row in ROWS]


def sources_mark():
    """Changes when what writes the models does."""
    files = [*sorted(pathlib.Path(__file__).parent.glob("*_models.py")), pathlib.Path(__file__).parent / "graph_writer.py",
             ROOT / "tests" / "support" / "fill_weights.py", ROOT / "tools" / "bench" / "make_models.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


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
