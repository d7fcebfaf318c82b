# SPDX-License-Identifier: Apache-2.0
"""Times a model by ONNX Runtime's CUDA provider: peer_onnxruntime.py MODEL.onnx FEEDS.npz SECONDS [tf32]"""

import json
import sys
import time

import numpy as np


def main() -> int:
    try:
        import onnxruntime  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        sys.exit(f"ONNX Runtime is not installed: {error}")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        sys.exit(f"ONNX Runtime {onnxruntime.__version__} has no CUDA provider here")
    allows = "tf32" in sys.argv[4:]
    session = onnxruntime.InferenceSession(sys.argv[1], providers=[("CUDAExecutionProvider", {"use_tf32": str(int(allows))}), "CPUExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        sys.exit("ONNX Runtime's CUDA provider does not start")
    feeds = dict(np.load(sys.argv[2]))
    for _ in range(10):
        session.run(None, feeds)
    times, end = [], time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"times_ms": times, "precision": f"ONNX Runtime {onnxruntime.__version__}, f32 {'may be TF32' if allows else 'strict'}"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
