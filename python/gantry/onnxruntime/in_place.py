# SPDX-License-Identifier: Apache-2.0
"""Puts gantry.onnxruntime in ONNX Runtime's place, for programs that import it and are not to be changed."""

import importlib.metadata
import importlib.util
import sys
import types
from typing import Any

__all__ = ["put_in_place"]

_FOLLOWED = "1.31.1"  # the version whose interface gantry.onnxruntime has


class _InPlace(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        import gantry.onnxruntime

        return getattr(gantry.onnxruntime, name)


def put_in_place() -> None:
    """From now on `import onnxruntime` is gantry.onnxruntime. Call it before anything imports ONNX Runtime.

    Its version is that of the installed ONNX Runtime, whose parts in Python alone (onnxruntime.quantization, onnxruntime.transformers) stay its own
    and get gantry's sessions; without one, the version whose interface this is.

    >>> from gantry.onnxruntime.in_place import put_in_place; put_in_place(); import onnxruntime
    """
    from gantry.onnxruntime import capi

    module = _InPlace("onnxruntime")
    spec = importlib.util.find_spec("onnxruntime") if "onnxruntime" not in sys.modules else None
    module.__spec__ = spec
    module.__path__ = list(spec.submodule_search_locations or []) if spec else []
    try:
        module.__version__ = importlib.metadata.version("onnxruntime")  # type: ignore[attr-defined]
    except importlib.metadata.PackageNotFoundError:
        module.__version__ = _FOLLOWED  # type: ignore[attr-defined]
    module.capi = capi  # type: ignore[attr-defined]
    sys.modules |= {"onnxruntime": module, "onnxruntime.capi": capi} | {f"onnxruntime.capi.{name}": getattr(capi, name) for name in capi.__all__}
