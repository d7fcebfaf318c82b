# SPDX-License-Identifier: Apache-2.0
"""Signals, texts, pictures, sequences, optionals and control flow; the last three as small graphs, since one node alone has no use."""

import io

import numpy as np
from PIL import Image

from operator_cases.case import Case, flags, ints, normal, uniform, value

WORDS = ("apple", "pear", "Plum", "quince and medlar", "fig", "sloe, dried", "the cherry")


def signals():
    yield Case("DFT", "f32 64 x 1024 complex", (normal(64, 1024, 2),), attributes={"axis": 1}, opset=17)
    yield Case("DFT", "f32 64 x 1000 complex", (normal(64, 1000, 2),), attributes={"axis": 1}, opset=17)
    yield Case("STFT", "f32 1 s of speech", (normal(1, 16000, 1), value(160, np.int64), np.hanning(512).astype(np.float32), value(512, np.int64)), opset=17)
    for op in ("BlackmanWindow", "HammingWindow", "HannWindow"):
        yield Case(op, "65,536", (value(65536, np.int64),), opset=17)
    yield Case("MelWeightMatrix", "80 bins", (value(80, np.int64), value(1024, np.int64), value(16000, np.int64), value(0), value(8000)), opset=17)
    yield Case("Det", "f32 256 of 32 x 32", (normal(256, 32, 32),), opset=11)


def texts():
    words = lambda generator: np.array(WORDS, object)[generator.integers(0, len(WORDS), 4096)]  # noqa: E731
    yield Case("StringConcat", "4,096", (words, words), opset=20)
    yield Case("StringSplit", "4,096", (words,), outputs=2, attributes={"delimiter": " "}, opset=20)
    yield Case("RegexFullMatch", "4,096", (words,), attributes={"pattern": "[a-z]+ .*"}, opset=20)
    yield Case("StringNormalizer", "4,096", (words,), attributes={"case_change_action": "LOWER", "is_case_sensitive": 0, "stopwords": ["fig"], "locale": "C"})
    yield Case("TfIdfVectorizer", "64 x 512 numbers", (lambda generator: generator.integers(0, 100, (64, 512)),),
               attributes={"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0, "ngram_counts": [0, 100], "ngram_indexes": list(range(150)),
                           "pool_int64s": list(range(100)) + [i % 100 for i in range(100)]})


def picture_bytes():
    noise = np.random.default_rng(0).integers(0, 255, (30, 40, 3)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).resize((640, 480), Image.Resampling.BILINEAR).save(file, "PNG")
    return np.frombuffer(file.getvalue(), np.uint8)


def pictures():
    yield Case("ImageDecoder", "PNG 640 x 480", (picture_bytes(),), opset=20)


SEQUENCES = (
    ("SequenceConstruct", ("SequenceLength",), "", "n = SequenceLength(s)", "int64 n"),
    ("SequenceAt", (), "i = Constant<value = int64 {2}>()", "y = SequenceAt(s, i)", "float[64, 4096] y"),
    ("SequenceInsert", ("SequenceErase",), "i = Constant<value = int64 {1}>()", "t = SequenceInsert(s, x0, i) u = SequenceErase(t, i) y = SequenceAt(u, i)", "float[64, 4096] y"),
    ("ConcatFromSequence", (), "", "y = ConcatFromSequence<axis = 0>(s)", "float[192, 4096] y"),
)


def sequences():
    for op, also, before, after, output in SEQUENCES:
        text = f"g (float[64, 4096] x0) => ({output}) {{ {before} s = SequenceConstruct(x0, x0, x0) {after} }}"
        yield Case(op, "f32 64 x 4096", (normal(64, 4096),), text=text, covers=also)
    yield Case("SplitToSequence", "f32 64 rows", (normal(64, 16384),),
               text="g (float[64, 16384] x0) => (float[64, 16384] y) { s = SplitToSequence<axis = 0>(x0) y = ConcatFromSequence<axis = 0>(s) }")
    yield Case("SequenceEmpty", "f32", (normal(64, 4096),), text="g (float[64, 4096] x0) => (float[64, 4096] y) "
               "{ e = SequenceEmpty<dtype = 1>() s = SequenceInsert(e, x0) i = Constant<value = int64 {0}>() y = SequenceAt(s, i) }")
    yield Case("SequenceMap", "f32 Relu of 16", (normal(16, 65536),), text="g (float[16, 65536] x0) => (float[16, 65536] y) { s = SplitToSequence<axis = 0>(x0) "
               "m = SequenceMap<body = b (float[1, 65536] e) => (float[1, 65536] r) { r = Relu(e) }>(s) y = ConcatFromSequence<axis = 0>(m) }")
    yield Case("Optional", "f32", (normal(64, 4096),), covers=("OptionalHasElement", "OptionalGetElement"),
               text="g (float[64, 4096] x0) => (float[64, 4096] y, bool h) { o = Optional(x0) h = OptionalHasElement(o) y = OptionalGetElement(o) }")


def control_flow():
    yield Case("If", "f32", (value(True, bool), normal(256, 1024)), text="g (bool x0, float[256, 1024] x1) => (float[256, 1024] y) "
               "{ y = If(x0) <then_branch = a () => (float[256, 1024] t) { t = Relu(x1) }, else_branch = b () => (float[256, 1024] e) { e = Neg(x1) }> }")
    yield Case("Loop", "f32 200 iterations", (value(200, np.int64), value(True, bool), normal(4096)), text="g (int64 x0, bool x1, float[4096] x2) => (float[4096] y) "
               "{ y = Loop(x0, x1, x2) <body = b (int64 i, bool c, float[4096] v) => (bool d, float[4096] w) { d = Identity(c) w = Relu(v) }> }")
    yield Case("Scan", "f32 200 rows", (normal(4096), normal(200, 4096)), text="g (float[4096] x0, float[200, 4096] x1) => (float[4096] y, float[200, 4096] z) "
               "{ y, z = Scan <num_scan_inputs = 1, body = b (float[4096] s, float[4096] r) => (float[4096] t, float[4096] o) { t = Add(s, r) o = Identity(t) }> (x0, x1) }")
    yield Case("Constant", "f32, added", (normal(16),), text="g (float[16] x0) => (float[16] y) { c = Constant<value = float {2.0}>() y = Add(x0, c) }")


CASES = (*signals(), *texts(), *pictures(), *sequences(), *control_flow())
