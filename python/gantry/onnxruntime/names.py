# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's names of types."""

__all__ = ["element_name", "type_name"]

# Element types that ONNX Runtime and gantry name differently.
_NAMES = {
    "float32": "float",
    "float64": "double",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "float4_e2m1fn": "float4e2m1",
    "float6_e2m3fn": "float6e2m3",
    "float6_e3m2fn": "float6e3m2",
}


def element_name(dtype: str) -> str:
    """ "float" of gantry's "float32"."""
    return _NAMES.get(dtype, dtype)


def type_name(kind: str, dtype: str) -> str:
    """ "tensor(float)" of gantry's kind and element type."""
    tensor = f"tensor({element_name(dtype)})"
    return {"sequence": f"seq({tensor})", "optional": f"optional({tensor})", "map": f"map({tensor})"}.get(kind, tensor)
