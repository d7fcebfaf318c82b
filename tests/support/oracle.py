# SPDX-License-Identifier: Apache-2.0
"""Models of one node, and what other implementations say they compute.

The oracle is ONNX Runtime, run live; where it lacks an operator version or a type, or sums 8-bit products inexactly, ONNX's
reference evaluator.
"""

import functools

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as state

import gantry

onnxruntime.set_default_logger_severity(4)

NUMPY_OF = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float6e2m3": ml_dtypes.float6_e2m3fn,
    "float6e3m2": ml_dtypes.float6_e3m2fn,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
    "int2": ml_dtypes.int2,
    "uint2": ml_dtypes.uint2,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "bool": np.bool_,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "string": np.object_,
}


def element_type(array):
    """ONNX element type of an array."""
    if array.dtype == np.object_ or array.dtype.kind in "US":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def node_model(op_type, inputs, output_types, opset, attributes=None, domain="", constants=(), domain_version=1):
    """A model of one node. `inputs`: arrays by position, None for an absent one; `output_types`: ONNX element types.

    Inputs whose positions are in `constants` become initializers. Returns the model and what to feed it.
    """
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    outputs = ["" if t is None else f"y{i}" for i, t in enumerate(output_types)]
    node = helper.make_node(op_type, names, outputs, name="node", domain=domain, **(attributes or {}))
    given = [(i, x) for i, x in enumerate(inputs) if x is not None]
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info(f"x{i}", element_type(x), x.shape) for i, x in given if i not in constants],
        [helper.make_tensor_value_info(f"y{i}", t, None) for i, t in enumerate(output_types) if t is not None],
        [onnx.numpy_helper.from_array(x, f"x{i}") for i, x in given if i in constants],
    )
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports.append(helper.make_opsetid(domain, domain_version))
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    feeds = {f"x{i}": x for i, x in given if i not in constants}
    return with_output_shapes(model, feeds), feeds


def with_output_shapes(model, feeds):
    """The model with shapes on its outputs, which ONNX's checker demands: inferred, or of the rank that the oracle returns."""
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # shapes that do not fit are for the run to report
        pass
    missing = [i for i, y in enumerate(model.graph.output) if not y.type.tensor_type.HasField("shape")]
    if missing:
        try:
            ranks = [np.ndim(y) for y in run_oracle(model, feeds)]
        except Exception:
            ranks = [max((x.ndim for x in feeds.values()), default=0)] * len(model.graph.output)
        for i in missing:
            shape = model.graph.output[i].type.tensor_type.shape
            shape.SetInParent()
            for _ in range(ranks[i]):
                shape.dim.add()
    return model


def run_gantry(model, feeds, **options):
    """Outputs in order, from gantry's CPU."""
    session = gantry.Session(model, device="CPU", **options)
    results = session.run(feeds)
    return [results[output.name] for output in model.graph.output]


def run_ort(model, feeds):
    """Outputs in order, from ONNX Runtime; raises where it lacks the operator or a type."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_reference(model, feeds):
    """Outputs in order, from ONNX's reference evaluator."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)


# What ONNX Runtime raises where it lacks an operator (NotImplemented), a version (Fail), a type in the model (InvalidGraph, Fail) or a type
# of NumPy (RuntimeError). Anything else, InvalidArgument for a wrong feed above all, is a fault of the test.
ORT_LACKS_IT = (state.NotImplemented, state.InvalidGraph, state.Fail, RuntimeError)


# On x86 without VNNI, ONNX Runtime multiplies u8 by s8 with `vpmaddubsw`, which saturates the sum of two products at 16 bits. The standard
# has these operators sum in 32 bits, as the reference evaluator and gantry do on every CPU.
SUMS_OF_INT8_PRODUCTS = {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"}

# The entry of ONNX Runtime's sessions that makes it exact there too, for models with operators that only ONNX Runtime has. It works by a
# graph optimization, so not with ORT_DISABLE_ALL, and not for all of SUMS_OF_INT8_PRODUCTS.
EXACT_INT8_ENTRY = ("session.x64quantprecision", "1")


def nodes_of(graph):
    """The nodes of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from nodes_of(body)


def sums_int8_products(graph):
    """Whether a graph, or a body in it, has one of SUMS_OF_INT8_PRODUCTS."""
    return any(node.op_type in SUMS_OF_INT8_PRODUCTS and node.domain in ("", "ai.onnx") for node in nodes_of(graph))


def run_exact_ort(model, feeds, threads=0):
    """Outputs in order, from ONNX Runtime with its graph optimizations, and with exact sums of 8-bit products on every CPU.

    `threads`: 0: as many as it takes by itself.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry(*EXACT_INT8_ENTRY)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_exact(model, feeds):
    """As run_ort, with sums of 8-bit products that are exact on every CPU."""
    if not sums_int8_products(model.graph):
        return run_ort(model, feeds)
    has_peers_operators = any(node.domain == "com.microsoft" for node in nodes_of(model.graph))
    return run_exact_ort(model, feeds) if has_peers_operators else run_reference(model, feeds)


def run_oracle(model, feeds):
    """run_exact's outputs, or the reference evaluator's where ONNX Runtime lacks something."""
    try:
        return run_exact(model, feeds)
    except ORT_LACKS_IT:
        return run_reference(model, feeds)


@functools.cache
def tolerance(dtype):
    """Largest relative and absolute difference for results of an element type."""
    if dtype == np.float64:
        return 1e-7, 1e-10
    if dtype == np.float32:
        return 1e-5, 1e-6
    if dtype == np.float16:
        return 2e-3, 1e-3
    if dtype == ml_dtypes.bfloat16:
        return 1.6e-2, 1e-2
    return 0, 0


def compare(actual, expected, rtol=None, atol=None):
    """Asserts equal types and shapes, and values equal within the type's tolerance."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected):
            compare(a, e, rtol, atol)
        return
    if expected is None:
        assert actual is None
        return
    expected = np.asarray(expected)
    actual = np.asarray(actual)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "OUS":
        assert actual.astype(str).tolist() == expected.astype(str).tolist()
        return
    assert actual.dtype == expected.dtype, f"type {actual.dtype}, expected {expected.dtype}"
    default_rtol, default_atol = tolerance(expected.dtype)
    rtol = default_rtol if rtol is None else rtol
    atol = default_atol if atol is None else atol
    if rtol == 0 and atol == 0 and expected.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=rtol, atol=atol)
