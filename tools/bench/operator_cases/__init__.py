# SPDX-License-Identifier: Apache-2.0
"""All cases, and the operators of ai.onnx and ai.onnx.ml that have none."""

from operator_cases import elementwise, machine_learning, movement, neural, reductions, rest, variants

ALL = (*elementwise.CASES, *reductions.CASES, *movement.CASES, *neural.CASES, *rest.CASES, *machine_learning.CASES, *variants.CASES)

# ONNX Runtime 1.31.1 takes models up to opset 26, so that there is nothing to be compared with. A test asks it.
NEWER_THAN_ONNX_RUNTIME = ("CausalConvWithState", "LinearAttention", "SwiGLU")
