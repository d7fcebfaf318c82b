# SPDX-License-Identifier: Apache-2.0
"""MatMulNBits of com.microsoft in 8 bits: against its own definition in numpy, and against ONNX Runtime run live."""

import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gantry
from cpu_flags import CPU_FLAGS

U8 = np.uint8
MIB = 1 << 20
KERNEL = "x86.matmul_nbits"
CODE = "GANTRY_TEST_BLOCK_CODE"  # in the environment: the code that must be in use


def resident():
    """Memory of the process in bytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) << 10


def pack(numbers, bits):
    """Numbers of 4 bits, two a byte, the first in the low half; of 8 bits as they are."""
    if bits == 8:
        return numbers.astype(U8)
    if numbers.shape[-1] % 2:
        numbers = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], 1), numbers.dtype)], -1)
    return (numbers[..., ::2] | numbers[..., 1::2] << 4).astype(U8)


class Product:
    """A model of one node, its input, and what it should make of it."""

    def __init__(self, rows, inner, columns, block, bits=4, zeros=None, bias=False, accuracy=4, seed=0, attributes=None):
        rng = np.random.default_rng(seed + inner + columns)
        self.blocks, self.block, self.inner = -(-inner // block), block, inner
        numbers = rng.integers(0, 2**bits, (columns, self.blocks, block)).astype(U8)
        self.scales = rng.uniform(0.005, 0.02, (columns, self.blocks)).astype(np.float32)
        middle = np.full((columns, self.blocks), 2 ** (bits - 1))
        points = {None: middle, "packed": rng.integers(0, 2**bits, middle.shape), "float": rng.uniform(0, 2**bits, middle.shape)}[zeros]
        self.x = rng.standard_normal((rows if isinstance(rows, tuple) else (rows,)) + (inner,)).astype(np.float32)
        constants = {"w": pack(numbers, bits), "s": self.scales.reshape(-1)}
        if zeros == "packed":
            constants["z"] = pack(points.astype(U8), bits).reshape(-1)
        elif zeros == "float":
            constants["z"] = points.astype(np.float32).reshape(-1)
        self.bias = rng.standard_normal(columns).astype(np.float32) if bias else np.zeros(columns, np.float32)
        names = ["x", "w", "s", "z" if zeros else "", *(["", "b"] if bias else [])]
        if bias:
            constants["b"] = self.bias
        node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=inner, N=columns, bits=bits, block_size=block,
                                accuracy_level=accuracy, **(attributes or {}))
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * (self.x.ndim - 1) + [inner])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(value, name) for name, value in constants.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
        self.matrix = ((numbers.astype(np.float64) - points[..., None]) * self.scales[..., None]).reshape(columns, -1)[:, :inner]

    def exact(self):
        return self.x.astype(np.float64) @ self.matrix.T + self.bias

    def rounded(self):
        """With the left matrix as the kernel rounds it: what is left between the two is the rounding of floats."""
        x = self.in_blocks(self.x)
        scale = np.abs(x).max(-1, keepdims=True) / np.float32(127)
        numbers = np.rint(x / np.where(scale > 0, scale, 1))
        x = (numbers.astype(np.float64) * scale).reshape(*self.x.shape[:-1], -1)[..., :self.inner]
        return x @ self.matrix.T + self.bias

    def bound(self):
        """By how much each result can be off for the rounding of each number by half a step."""
        step = np.abs(self.in_blocks(self.x)).max(-1).astype(np.float64) / 127
        weight = np.abs(self.in_blocks(self.matrix)).sum(-1)
        return 0.5 * step @ weight.T * 1.001 + 1e-4

    def in_blocks(self, rows):
        padded = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, self.blocks * self.block - self.inner)])
        return padded.reshape(*rows.shape[:-1], self.blocks, self.block)

    def session(self, threads=2):
        return gantry.Session(self.model, device="CPU", config={"session": {"threads": threads}})

    def check(self):
        for threads in (1, 2):
            session = self.session(threads)
            (node,) = session.placement.nodes
            assert node.kernel == KERNEL + os.environ.get(CODE, node.kernel[len(KERNEL):]), node
            for _ in range(2):  # the second from the plan of memory
                found = session.run({"x": self.x})["y"]
            assert found.dtype == np.float32 and found.shape == self.exact().shape
            off = np.abs(found - self.exact())
            assert (off <= self.bound()).all(), (off / self.bound()).max()
            assert self.similar(found), np.abs(found - self.rounded()).max()

    def similar(self, found):
        """To the product of rounded rows: but for numbers that lie between two steps, a few of them."""
        off = np.abs(found - self.rounded())
        return np.quantile(off, 0.9) < 2e-3 * (1 + np.abs(self.exact()).max())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("inner, columns, block", [(64, 16, 16), (96, 7, 32), (40, 33, 16), (300, 50, 128), (257, 100, 64), (1, 1, 32)])
@pytest.mark.parametrize("zeros", [None, "packed", "float"])
@pytest.mark.parametrize("rows", [1, (2, 5)])
def test_forms(bits, inner, columns, block, zeros, rows):
    Product(rows, inner, columns, block, bits, zeros).check()


@pytest.mark.parametrize("rows", range(1, 41))
def test_every_number_of_rows(rows):
    Product(rows, 192, 37, 32, 8 if rows % 3 == 0 else 4, "packed" if rows % 2 else None, bias=True).check()


def test_many_rows_and_columns():
    Product(300, 512, 200, 32, bias=True).check()


def test_rows_of_different_lengths_one_after_the_other():
    product = Product(17, 96, 40, 32, bias=True)
    session = product.session()
    for rows in (17, 1, 5, 0, 13):
        found = session.run({"x": product.x[:rows]})["y"]
        assert found.shape == (rows, 40)
        assert (np.abs(found - product.exact()[:rows]) <= product.bound()[:rows]).all()


@pytest.mark.parametrize("bits", [4, 8])
def test_the_largest_sums_stay_exact(bits):
    """Numbers at the ends of their ranges: no sum of products may leave the bits it is kept in."""
    for block, sign in itertools.product((16, 32, 128), (1, -1)):
        product = Product(3, 256, 20, block, bits, "packed")
        (w, s, z) = product.model.graph.initializer
        w.CopyFrom(numpy_helper.from_array(np.full(numpy_helper.to_array(w).shape, 255, U8), "w"))
        s.CopyFrom(numpy_helper.from_array(np.ones(20 * (256 // block), np.float32), "s"))
        z.CopyFrom(numpy_helper.from_array(np.zeros(numpy_helper.to_array(z).shape, U8), "z"))
        found = product.session().run({"x": np.full((3, 256), sign * 127, np.float32)})["y"]
        np.testing.assert_array_equal(found, np.full((3, 20), sign * 127 * 256 * (2**bits - 1), np.float32))


@pytest.mark.parametrize("low, high, tolerance", [
    (0.5, 1, 2**-16), (0.01, 0.3, 2**-13), (1e-4, 1, 1e-6), (-1, 1, 1e-6), (1e-37, 1e-36, 1e-6), (0, 0, 0),
])
@pytest.mark.parametrize("zeros", [None, "float"])
def test_scales(low, high, tolerance, zeros):
    """Rows that 8 bits hold exactly: what is off is the scales, by less than 1 in 8192, and of wide ranges and signs by nothing."""
    product = Product(5, 256, 40, 32, 4, zeros)
    rng = np.random.default_rng(1)
    scales = np.exp(rng.uniform(np.log(low), np.log(high), (40, 8))) if low > 0 else rng.uniform(low, high, (40, 8))
    scales = scales.astype(np.float32)
    product.model.graph.initializer[1].CopyFrom(numpy_helper.from_array(scales.reshape(-1), "s"))
    x = rng.integers(-127, 128, (5, 256)).astype(np.float32)
    x[:, ::32] = 127
    matrix = (product.matrix.reshape(40, 8, 32) / product.scales[..., None] * scales[..., None].astype(np.float64)).reshape(40, 256)
    found = product.session().run({"x": x})["y"]
    magnitude = np.abs(x) @ (np.abs(matrix) + np.repeat(np.abs(scales), 32, -1) * 15).T
    assert (np.abs(found - x @ matrix.T) <= (tolerance + 1e-6) * magnitude).all()


def test_zeros_and_numbers_that_are_not_finite():
    product = Product(4, 96, 40, 32)
    x = product.x.copy()
    x[0], x[1, 3], x[2, 40] = 0, np.inf, np.nan
    found = product.session().run({"x": x})["y"]
    assert (found[0] == 0).all() and not np.isfinite(found[1:3]).any()
    assert (np.abs(found[3] - product.exact()[3]) <= product.bound()[3]).all()


@pytest.mark.parametrize("rows", [1, 3, 20])
@pytest.mark.parametrize("inner, columns, block, zeros", [(256, 64, 32, None), (256, 64, 32, "packed"), (300, 33, 64, None), (128, 48, 16, "packed")])
def test_as_onnx_runtime(rows, inner, columns, block, zeros):
    product = Product(rows, inner, columns, block, 4, zeros)
    expected = onnxruntime.InferenceSession(product.model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": product.x})[0]
    found = product.session().run({"x": product.x})["y"]
    ours, theirs = (np.abs(y - product.exact()).mean() for y in (found, expected))
    assert (np.abs(found - expected) <= 2 * product.bound()).all()
    assert ours <= 1.1 * theirs + 1e-4, (ours, theirs)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", [None, "packed", "float"])
@pytest.mark.parametrize("inner, columns, block", [(64, 16, 16), (96, 7, 32), (300, 50, 128), (257, 100, 64), (1, 1, 32)])
@pytest.mark.parametrize("accuracy", [0, 1, 3])
def test_rows_that_stay_in_floats(bits, zeros, inner, columns, block, accuracy):
    product = Product(40, inner, columns, block, bits, zeros, bias=True, accuracy=accuracy)
    for threads in (1, 2):
        session = product.session(threads)
        kernels = [node.kernel for node in session.placement.nodes]
        if (code := os.environ.get(CODE, kernels[0][len(KERNEL):])) != ".plain":
            assert kernels == [KERNEL + code]
        for rows in (40, 5, 1):
            expected = product.exact()[:rows]
            found = session.run({"x": product.x[:rows]})["y"]
            magnitude = np.abs(product.x[:rows]) @ np.abs(product.matrix).T + 1
            assert (np.abs(found - expected) <= 1e-6 * magnitude).all()


@pytest.mark.parametrize("rows", range(1, 46))
def test_every_number_of_rows_in_floats(rows):
    product = Product(rows, 96, 37, 32, 8 if rows % 3 == 0 else 4, "packed" if rows % 2 else None, bias=True, accuracy=0)
    np.testing.assert_allclose(product.session().run({"x": product.x})["y"], product.exact(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows, inner", [(700, 4100), (200, 3072), (60, 1024)])  # rows of 3,072 and 1,024 share a set of the L1 cache and are copied
def test_many_rows_and_columns_in_floats(rows, inner):
    """More than a cache holds of the rows and of the matrix."""
    product = Product(rows, inner, 70, 32, zeros="float", bias=True, accuracy=0)
    np.testing.assert_allclose(product.session().run({"x": product.x})["y"], product.exact(), rtol=1e-4, atol=2e-3)


def test_what_it_leaves_to_the_body():
    product = Product(5, 300, 20, 256)
    session = product.session()
    assert all("block_product" not in node.kernel for node in session.placement.nodes)
    np.testing.assert_allclose(session.run({"x": product.x})["y"], product.exact(), rtol=1e-4, atol=1e-4)


def test_another_inner_extent_than_the_matrix_has():
    product = Product(2, 96, 20, 32)
    product.model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    with pytest.raises(gantry.InvalidArgumentError, match="expected to be 96, the attribute K, and is 95"):
        product.session().run({"x": product.x[:, :95]})


def test_a_matrix_stays_in_its_bits_and_is_held_once(tmp_path):
    product = Product(2, 4096, 8192, 32)  # 16 MiB of numbers and 2 of scales; 128 MiB of floats
    path, x = tmp_path / "a.onnx", product.x
    onnx.save(product.model, path)
    expected = product.session().run({"x": x})["y"]
    del product
    before = resident()
    sessions = [gantry.Session(path, device="CPU")]
    assert resident() - before < 56 * MIB  # the packed form, and the file that is mapped
    before = resident()
    sessions += [gantry.Session(path, device="CPU") for _ in range(4)]
    for session in sessions:
        np.testing.assert_array_equal(session.run({"x": x})["y"], expected)
    assert resident() - before < 40 * MIB  # four times 18 if each had its own


@pytest.mark.skipif(CODE in os.environ, reason="this is a run at one level")
@pytest.mark.parametrize("level, code, flag", [
    ("SSE41", ".plain", "sse4_1"), ("AVX2", ".avx2", "avx2"), ("AVX512_CORE", ".avx2", "avx512bw"), ("AVX512_CORE_VNNI", ".avx512_vnni", "avx512_vnni"),
])
def test_instruction_sets(level, code, flag):
    if flag not in CPU_FLAGS:
        pytest.skip(f"this CPU has no {flag}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", str(pathlib.Path(__file__))]
    done = subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": level, CODE: code}, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
