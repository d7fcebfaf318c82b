# SPDX-License-Identifier: Apache-2.0
"""PyTorch's layers and functions, one at a time, by both exporters and several opsets."""

import functools

import torch
from torch import nn
from torch.nn import functional as F
from zoo_makers.torch_export import EXPORTERS, export


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def ids(most, *shape):
    return torch.randint(0, most, shape, generator=torch.Generator().manual_seed(0))


IMAGE, LINE, ROWS = (2, 8, 12, 10), (2, 8, 14), (3, 6, 16)
LAYERS = {
    **{
        name: (lambda name=name: (getattr(nn, name)(), [numbers(*ROWS)]))
        for name in (
            "ReLU",
            "ReLU6",
            "GELU",
            "SiLU",
            "Mish",
            "ELU",
            "SELU",
            "CELU",
            "LeakyReLU",
            "PReLU",
            "RReLU",
            "Hardswish",
            "Hardsigmoid",
            "Hardtanh",
            "Sigmoid",
            "LogSigmoid",
            "Tanh",
            "Tanhshrink",
            "Softplus",
            "Softsign",
            "Softshrink",
            "Hardshrink",
            "Softmin",
            "Identity",
            "Dropout",
            "Flatten",
        )
    },
    "GELU tanh": lambda: (nn.GELU("tanh"), [numbers(*ROWS)]),
    "GLU": lambda: (nn.GLU(), [numbers(*ROWS)]),
    "Softmax": lambda: (nn.Softmax(1), [numbers(*ROWS)]),
    "LogSoftmax": lambda: (nn.LogSoftmax(-1), [numbers(*ROWS)]),
    "Softmax2d": lambda: (nn.Softmax2d(), [numbers(*IMAGE)]),
    "Threshold": lambda: (nn.Threshold(0.1, 20), [numbers(*ROWS)]),
    "Linear": lambda: (nn.Linear(16, 5), [numbers(*ROWS)]),
    "Bilinear": lambda: (nn.Bilinear(6, 5, 4), [numbers(3, 6), numbers(3, 5)]),
    **{
        f"Conv{n}d {more}": (lambda n=n, more=more: (getattr(nn, f"Conv{n}d")(8, 8, 3, **more), [numbers(*(2, 8, 9, 8, 7)[: n + 2])]))
        for n in (1, 2, 3)
        for more in (
            {},
            {"stride": 2, "padding": 1},
            {"dilation": 2},
            {"groups": 4},
            {"groups": 8},
            {"padding": "same"},
            {"padding": 1, "padding_mode": "circular"},
            {"padding": 1, "padding_mode": "reflect"},
            {"padding": 1, "padding_mode": "replicate"},
        )
    },
    **{
        f"ConvTranspose{n}d {more}": (lambda n=n, more=more: (getattr(nn, f"ConvTranspose{n}d")(8, 4, 3, **more), [numbers(*(2, 8, 6, 5, 4)[: n + 2])]))
        for n in (1, 2, 3)
        for more in ({}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2}, {"dilation": 2})
    },
    **{
        f"{kind}Pool{n}d {more}": (lambda kind=kind, n=n, more=more: (getattr(nn, f"{kind}Pool{n}d")(**more), [numbers(*(2, 4, 9, 8, 7)[: n + 2])]))
        for kind in ("Max", "Avg")
        for n in (1, 2, 3)
        for more in ({"kernel_size": 3}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "ceil_mode": True})
    },
    "MaxPool2d dilated": lambda: (nn.MaxPool2d(2, dilation=2), [numbers(*IMAGE)]),
    "MaxPool2d indices": lambda: (nn.MaxPool2d(2, return_indices=True), [numbers(*IMAGE)]),
    "AvgPool2d without padding": lambda: (nn.AvgPool2d(3, 2, 1, count_include_pad=False), [numbers(*IMAGE)]),
    "LPPool2d": lambda: (nn.LPPool2d(2, 3), [numbers(*IMAGE)]),
    **{
        f"Adaptive{kind}Pool{n}d": (lambda kind=kind, n=n: (getattr(nn, f"Adaptive{kind}Pool{n}d")(2), [numbers(*(2, 4, 8, 6, 4)[: n + 2])]))
        for kind in ("Max", "Avg")
        for n in (1, 2, 3)
    },
    **{f"BatchNorm{n}d": (lambda n=n: (getattr(nn, f"BatchNorm{n}d")(8), [numbers(*(2, 8, 5, 4, 3)[: n + 2])])) for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": (lambda n=n: (getattr(nn, f"InstanceNorm{n}d")(8, affine=True), [numbers(*(2, 8, 5, 4, 3)[: n + 2])])) for n in (1, 2, 3)},
    "GroupNorm": lambda: (nn.GroupNorm(4, 8), [numbers(*IMAGE)]),
    "LayerNorm": lambda: (nn.LayerNorm(16), [numbers(*ROWS)]),
    "LayerNorm two axes": lambda: (nn.LayerNorm((6, 16)), [numbers(*ROWS)]),
    "RMSNorm": lambda: (nn.RMSNorm(16), [numbers(*ROWS)]),
    "LocalResponseNorm": lambda: (nn.LocalResponseNorm(3), [numbers(*IMAGE)]),
    **{
        f"{kind} {more}": (lambda kind=kind, more=more: (getattr(nn, kind)(6, 5, **more), [numbers(4, 3, 6)]))
        for kind in ("RNN", "LSTM", "GRU")
        for more in ({}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True, "bias": False})
    },
    "LSTM projected": lambda: (nn.LSTM(6, 5, proj_size=3), [numbers(4, 3, 6)]),
    **{f"{kind}Cell": (lambda kind=kind: (getattr(nn, f"{kind}Cell")(6, 5), [numbers(3, 6)])) for kind in ("RNN", "LSTM", "GRU")},
    "Embedding": lambda: (nn.Embedding(20, 6), [ids(20, 3, 4)]),
    "EmbeddingBag": lambda: (nn.EmbeddingBag(20, 6), [ids(20, 3, 4)]),
    "MultiheadAttention": lambda: (nn.MultiheadAttention(16, 4, batch_first=True), [numbers(*ROWS)] * 3),
    "TransformerEncoderLayer": lambda: (nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), [numbers(*ROWS)]),
    "TransformerDecoderLayer": lambda: (nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), [numbers(*ROWS), numbers(*ROWS)]),
    "PixelShuffle": lambda: (nn.PixelShuffle(2), [numbers(*IMAGE)]),
    "PixelUnshuffle": lambda: (nn.PixelUnshuffle(2), [numbers(*IMAGE)]),
    "ChannelShuffle": lambda: (nn.ChannelShuffle(4), [numbers(*IMAGE)]),
    "Unfold": lambda: (nn.Unfold(3, padding=1), [numbers(*IMAGE)]),
    "Fold": lambda: (nn.Fold((6, 5), 2), [numbers(2, 12, 20)]),
    "ZeroPad2d": lambda: (nn.ZeroPad2d((1, 2, 0, 1)), [numbers(*IMAGE)]),
    "ReflectionPad2d": lambda: (nn.ReflectionPad2d(2), [numbers(*IMAGE)]),
    "ReplicationPad2d": lambda: (nn.ReplicationPad2d(2), [numbers(*IMAGE)]),
    "CircularPad2d": lambda: (nn.CircularPad2d(2), [numbers(*IMAGE)]),
    "CosineSimilarity": lambda: (nn.CosineSimilarity(1), [numbers(3, 6), numbers(3, 6) + 1]),
    **{
        f"Upsample {mode} {more}": (lambda mode=mode, more=more: (nn.Upsample(mode=mode, **more), [numbers(*(IMAGE if mode != "linear" else LINE))]))
        for mode in ("nearest", "bilinear", "bicubic", "linear")
        for more in ({"scale_factor": 2.0}, {"scale_factor": 1.7}, *([{"scale_factor": 2.0, "align_corners": True}] if mode != "nearest" else []))
    },
}
FUNCTIONS = {
    **{
        name: (lambda name=name: (getattr(torch, name), [numbers(3, 4)]))
        for name in (
            "abs",
            "neg",
            "exp",
            "expm1",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "asinh",
            "erf",
            "erfc",
            "floor",
            "ceil",
            "round",
            "trunc",
            "frac",
            "sign",
            "sgn",
            "square",
            "sigmoid",
            "isnan",
            "isinf",
            "isfinite",
            "reciprocal",
            "relu",
            "logical_not",
            "signbit",
            "nan_to_num",
            "deg2rad",
            "exp2",
            "sinc",
        )
    },
    **{
        name: (lambda name=name: (lambda x: getattr(torch, name)(x.abs() * 0.4 + 0.1), [numbers(3, 4)]))
        for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "asin", "acos", "atanh", "logit")
    },
    **{
        f"{name} of rows": (lambda name=name: (lambda x: getattr(torch, name)(x, dim=1), [numbers(*ROWS)]))
        for name in (
            "sum",
            "mean",
            "prod",
            "amax",
            "amin",
            "argmax",
            "argmin",
            "cumsum",
            "softmax",
            "log_softmax",
            "logsumexp",
            "std",
            "var",
            "norm",
            "any",
            "all",
            "argsort",
            "flip",
            "unbind",
            "median",
            "cummax",
            "cumprod",
        )
    },
    **{
        f"{name} of two": (lambda name=name: (getattr(torch, name), [numbers(3, 1, 4), numbers(5, 1) + 2]))
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "maximum",
            "minimum",
            "atan2",
            "fmod",
            "remainder",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "logical_and",
            "logical_or",
            "logical_xor",
            "hypot",
            "floor_divide",
            "true_divide",
            "fmax",
            "copysign",
            "logaddexp",
        )
    },
    **{
        f"{name} of integers": (lambda name=name: (getattr(torch, name), [ids(9, 3, 4), ids(5, 4) + 1]))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "remainder", "floor_divide", "pow", "fmod", "bitwise_left_shift")
    },
    "matmul": lambda: (torch.matmul, [numbers(2, 3, 4), numbers(4, 5)]),
    "bmm": lambda: (torch.bmm, [numbers(2, 3, 4), numbers(2, 4, 5)]),
    "addmm": lambda: (torch.addmm, [numbers(5), numbers(3, 4), numbers(4, 5)]),
    "baddbmm": lambda: (torch.baddbmm, [numbers(2, 3, 5), numbers(2, 3, 4), numbers(2, 4, 5)]),
    "outer": lambda: (torch.outer, [numbers(3), numbers(4)]),
    "dot": lambda: (torch.dot, [numbers(4), numbers(4)]),
    "einsum": lambda: (lambda a, b: torch.einsum("bij,bkj->bik", a, b), [numbers(2, 3, 4), numbers(2, 5, 4)]),
    "einsum ellipsis": lambda: (lambda a, b: torch.einsum("...i,...i->...", a, b), [numbers(2, 3, 4), numbers(2, 3, 4)]),
    "tensordot": lambda: (lambda a, b: torch.tensordot(a, b, 2), [numbers(2, 3, 4), numbers(3, 4, 5)]),
    "cdist": lambda: (torch.cdist, [numbers(2, 3, 4), numbers(2, 5, 4)]),
    "cross": lambda: (lambda a, b: torch.cross(a, b, dim=-1), [numbers(2, 3), numbers(2, 3)]),
    "attention": lambda: (F.scaled_dot_product_attention, [numbers(2, 4, 6, 8)] * 3),
    "causal attention": lambda: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [numbers(2, 4, 6, 8)] * 3),
    "grouped attention": lambda: (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [numbers(2, 4, 6, 8), numbers(2, 2, 6, 8), numbers(2, 2, 6, 8)],
    ),
    "cat": lambda: (lambda a, b: torch.cat([a, b], 1), [numbers(2, 3), numbers(2, 4)]),
    "stack": lambda: (lambda a, b: torch.stack([a, b], 1), [numbers(2, 3), numbers(2, 3)]),
    "split": lambda: (lambda a: torch.split(a, 2, 1), [numbers(2, 5)]),
    "chunk": lambda: (lambda a: torch.chunk(a, 3, 1), [numbers(2, 7)]),
    "roll": lambda: (lambda a: torch.roll(a, (1, -1), (0, 1)), [numbers(3, 4)]),
    "tile": lambda: (lambda a: a.tile(2, 3), [numbers(3, 4)]),
    "repeat_interleave": lambda: (lambda a: a.repeat_interleave(2, 1), [numbers(3, 4)]),
    "expand": lambda: (lambda a: a.expand(5, 3, 4), [numbers(3, 4)]),
    "permute": lambda: (lambda a: a.permute(2, 0, 1), [numbers(*ROWS)]),
    "view": lambda: (lambda a: a.view(-1, 8), [numbers(*ROWS)]),
    "squeeze": lambda: (lambda a: a.unsqueeze(1).squeeze(), [numbers(*ROWS)]),
    "tril": lambda: (torch.tril, [numbers(4, 5)]),
    "triu": lambda: (lambda a: torch.triu(a, 1), [numbers(4, 5)]),
    "diag": lambda: (torch.diag, [numbers(4)]),
    "diagonal": lambda: (lambda a: torch.diagonal(a, 1), [numbers(4, 5)]),
    "trace": lambda: (torch.trace, [numbers(4, 4)]),
    "gather": lambda: (lambda a, i: torch.gather(a, 1, i), [numbers(3, 4), ids(4, 3, 2)]),
    "scatter": lambda: (lambda a, i, b: a.scatter(1, i, b), [numbers(3, 4), torch.tensor([[0, 2], [1, 3], [3, 0]]), numbers(3, 2)]),
    "scatter_add": lambda: (lambda a, i, b: a.scatter_add(1, i, b), [numbers(3, 4), ids(4, 3, 2), numbers(3, 2)]),
    "scatter_reduce": lambda: (lambda a, i, b: a.scatter_reduce(1, i, b, "amax"), [numbers(3, 4), ids(4, 3, 2), numbers(3, 2)]),
    "index_select": lambda: (lambda a, i: a.index_select(1, i), [numbers(3, 4), ids(4, 2)]),
    "index": lambda: (lambda a, i: a[i], [numbers(5, 4), ids(5, 3)]),
    "index two": lambda: (lambda a, i, j: a[i, :, j], [numbers(5, 4, 3), ids(5, 3), ids(3, 3)]),
    "index_put": lambda: (lambda a, i, b: a.index_put((i,), b), [numbers(5, 4), torch.tensor([0, 2]), numbers(2, 4)]),
    "index_add": lambda: (lambda a, i, b: a.index_add(0, i, b), [numbers(5, 4), ids(5, 3), numbers(3, 4)]),
    "slice assigned": lambda: (lambda a, b: torch.cat([a[:, :1], b, a[:, 3:]], 1), [numbers(3, 4), numbers(3, 2)]),
    "slice strided": lambda: (lambda a: a[::2, 1:-1:2], [numbers(6, 9)]),
    "masked_fill": lambda: (lambda a: a.masked_fill(a > 0, -1.5), [numbers(3, 4)]),
    "where": lambda: (lambda a, b: torch.where(a > b, a, b * 2), [numbers(3, 4), numbers(4)]),
    "masked_select": lambda: (lambda a: torch.masked_select(a, a > 0), [numbers(3, 4)]),
    "nonzero": lambda: (lambda a: torch.nonzero(a > 0), [numbers(3, 4)]),
    "topk": lambda: (lambda a: torch.topk(a, 3, 1), [numbers(3, 7)]),
    "sort": lambda: (lambda a: torch.sort(a, 1, descending=True), [numbers(3, 7)]),
    "unique": lambda: (lambda a: torch.unique(a), [ids(5, 9)]),
    "bucketize": lambda: (lambda a, b: torch.bucketize(a, b), [numbers(3, 4), torch.tensor([-1.0, 0.0, 1.0])]),
    "one_hot": lambda: (lambda a: F.one_hot(a, 6), [ids(6, 3, 4)]),
    "arange": lambda: (lambda a: torch.arange(a.shape[0], dtype=torch.float32) * a.sum(), [numbers(5)]),
    "linspace": lambda: (lambda a: torch.linspace(0, 1, 7) * a.sum(), [numbers(5)]),
    "full_like": lambda: (lambda a: torch.full_like(a, 2.5) + a, [numbers(3, 4)]),
    "meshgrid": lambda: (lambda a, b: torch.meshgrid(a, b, indexing="ij"), [numbers(3), numbers(4)]),
    "clamp": lambda: (lambda a: a.clamp(-0.5, 0.7), [numbers(3, 4)]),
    "clamp tensors": lambda: (torch.clamp, [numbers(3, 4), numbers(4) - 1, numbers(4) + 1]),
    "lerp": lambda: (lambda a, b: torch.lerp(a, b, 0.3), [numbers(3, 4), numbers(3, 4)]),
    "addcmul": lambda: (torch.addcmul, [numbers(3, 4)] * 3),
    "addcdiv": lambda: (lambda a, b, c: torch.addcdiv(a, b, c.abs() + 1), [numbers(3, 4)] * 3),
    "pow": lambda: (lambda a: torch.pow(a.abs(), 2.5), [numbers(3, 4)]),
    "pad reflect": lambda: (lambda a: F.pad(a, (1, 2, 1, 0), mode="reflect"), [numbers(*IMAGE)]),
    "pad negative": lambda: (lambda a: F.pad(a, (-1, 2)), [numbers(3, 6)]),
    "interpolate area": lambda: (lambda a: F.interpolate(a, size=(6, 5), mode="area"), [numbers(*IMAGE)]),
    "interpolate size": lambda: (lambda a: F.interpolate(a, size=(7, 15), mode="bilinear"), [numbers(*IMAGE)]),
    "interpolate antialias": lambda: (lambda a: F.interpolate(a, size=(5, 4), mode="bilinear", antialias=True), [numbers(*IMAGE)]),
    "grid_sample": lambda: (lambda a, g: F.grid_sample(a, g.tanh(), align_corners=False), [numbers(2, 3, 6, 5), numbers(2, 4, 7, 2)]),
    "grid_sample border": lambda: (lambda a, g: F.grid_sample(a, g, padding_mode="border", align_corners=True), [numbers(2, 3, 6, 5), numbers(2, 4, 7, 2)]),
    "affine_grid": lambda: (lambda t: F.affine_grid(t, (2, 3, 5, 6), align_corners=False), [numbers(2, 2, 3)]),
    "normalize": lambda: (lambda a: F.normalize(a, dim=1), [numbers(3, 4)]),
    "pairwise_distance": lambda: (F.pairwise_distance, [numbers(3, 4), numbers(3, 4) + 1]),
    "stft": lambda: (lambda a: torch.view_as_real(torch.stft(a, 16, 8, window=torch.hann_window(16), return_complex=True)), [numbers(2, 64)]),
    "fft": lambda: (lambda a: torch.view_as_real(torch.fft.fft(a)), [numbers(2, 16)]),
    "rfft": lambda: (lambda a: torch.view_as_real(torch.fft.rfft(a)), [numbers(2, 16)]),
    "inverse": lambda: (torch.inverse, [numbers(4, 4) + 4 * torch.eye(4)]),
    "det": lambda: (torch.det, [numbers(4, 4)]),
    "cumsum of integers": lambda: (lambda a: a.cumsum(0), [ids(9, 3, 4)]),
    "to half": lambda: (lambda a: (a.half() * 2).float(), [numbers(3, 4)]),
    "to bfloat16": lambda: (lambda a: (a.bfloat16() * 2).float(), [numbers(3, 4)]),
    "to integers": lambda: (lambda a: (a * 10).to(torch.int32), [numbers(3, 4)]),
    "to uint8": lambda: (lambda a: (a.abs() * 10).to(torch.uint8), [numbers(3, 4)]),
    "complex": lambda: (lambda a, b: torch.view_as_real(torch.complex(a, b) * torch.complex(b, a)), [numbers(3, 4), numbers(3, 4)]),
    "shape arithmetic": lambda: (lambda a: a.reshape(a.shape[0] * a.shape[1], -1).sum(0).expand(a.shape[0], -1), [numbers(*ROWS)]),
    "new_zeros": lambda: (lambda a: torch.cat([a, a.new_zeros(a.shape[0], 2)], 1), [numbers(3, 4)]),
    "celu": lambda: (lambda a: F.celu(a, 0.7), [numbers(3, 4)]),
}


def made(table, name, exporter, opset, is_open):
    module, inputs = table[name]()
    module = module if isinstance(module, nn.Module) else Function(module)
    open_axes = {f"x{i}": [0] for i, one in enumerate(inputs) if one.ndim} if is_open else None
    return export(module, inputs, exporter, opset, open_axes)


def models():
    for table in (LAYERS, FUNCTIONS):
        for name in table:
            for exporter in EXPORTERS:
                yield f"{name} {exporter}", functools.partial(made, table, name, exporter, None, False)
    for name in LAYERS:
        yield f"{name} script opset 11 open", functools.partial(made, LAYERS, name, "script", 11, True)
