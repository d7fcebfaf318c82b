# SPDX-License-Identifier: Apache-2.0
"""What a model can make grow, while it is loaded or run, counts against session.memory_limit_bytes."""

import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
from sanitizer import PATIENCE

import gantry

CODE = """
import gantry, onnx.parser, resource, sys
limit = 64 << 20
nodes = sys.argv[1]
model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\\ng (float x) => (float y) {{ {nodes} }}').SerializeToString()
gantry.Session(onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]>\\ng (float x) => (float y) { y = Neg(x) }').SerializeToString())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    gantry.Session(model, config={"session": {"memory_limit_bytes": limit}})
except gantry.OutOfMemoryError:
    pass
used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
assert used < 2 * limit, f"{used >> 20} MiB"
"""

# Chains of constants that are large in the middle, or many of some size that stay.
ONE = "s = Constant<value = int64[1] {200000000}>() t = ConstantOfShape(s) u = Neg(t) k = ReduceMax<keepdims = 0>(u) y = Add(x, k)"
PART = "s{0} = Constant<value = int64[1] {{10000000}}>() t{0} = ConstantOfShape(s{0}) i{0} = Cast<to = 7>(x) k{0} = Gather(t{0}, i{0}) y{0} = Add(y{1}, k{0}) "
MANY = "y0 = Neg(x) " + "".join(PART.format(i, i - 1) for i in range(1, 12)) + "y = Identity(y11)"


@pytest.mark.parametrize("nodes", [ONE, MANY], ids=["one", "many"])
def test_folded_constants_count(nodes):
    done = subprocess.run([sys.executable, "-c", CODE, nodes], timeout=120 * PATIENCE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1000:]


LIMIT = 64 << 20
HALF = LIMIT // 2 // 4 + 1000  # elements of 4 bytes: two such outputs are more than the limit
OUTPUTS = {
    "range": ("g (int32 n, int32 zero, int32 one) => (int32[k] y) { y = Range(zero, n, one) }", {"n": 2**30, "zero": 0, "one": 1}),
    "constant": ("g (int64[1] n) => (float[k] y) { y = ConstantOfShape(n) }", {"n": [2**30]}),
    "expand": ("g (float x, int64[1] n) => (float[k] y) { y = Expand(x, n) }", {"x": 1, "n": [2**30]}),
    "two": ("g (int64[1] n) => (float[k] y, float[k] z) { y = ConstantOfShape(n) z = ConstantOfShape <value = float[1] {2}> (n) }", {"n": [HALF]}),
}


@pytest.mark.parametrize("text, feeds", OUTPUTS.values(), ids=OUTPUTS)
def test_outputs_of_a_run_count_together(text, feeds):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    session = gantry.Session(model.SerializeToString(), config={"session": {"memory_limit_bytes": LIMIT}})
    types = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.input}
    with pytest.raises(gantry.OutOfMemoryError, match=f"session.memory_limit_bytes allows {LIMIT}"):
        session.run({name: np.array(value, types[name]) for name, value in feeds.items()})
    small = {name: np.array(value, types[name]) if name != "n" else np.array(np.ones_like(value) * 3, types[name]) for name, value in feeds.items()}
    assert session.run(small)["y"].shape == (3,)
