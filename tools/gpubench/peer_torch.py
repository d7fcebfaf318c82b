# SPDX-License-Identifier: Apache-2.0
"""Times a model by PyTorch: peer_torch.py MODEL.onnx FEEDS.npz SECONDS eager|compile|graph [tf32]

A run takes its inputs from host memory and ends when its outputs are there, as gantry's does.
"""

import json
import pathlib
import sys
import time

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpubench import candidates, onnx_torch  # noqa: E402: the folder of the tools is no package


def runner(torch, model, feeds, how):
    is_half = model.graph.output[0].type.tensor_type.elem_type in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    module = onnx_torch.make_module(model, channels_last=is_half).cuda()
    host = [tensor.pin_memory() for tensor in candidates.torch_inputs(torch, model, feeds, "cpu")]
    device = [tensor.cuda() for tensor in host]
    forward = torch.compile(module, mode="max-autotune") if how == "compile" else module
    for _ in range(3):
        outputs = forward(*device)
    back = [torch.empty(one.shape, dtype=one.dtype, pin_memory=True) for one in outputs]
    graph = None
    if how == "graph":
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                module(*device)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = module(*device)

    def run():
        for to, source in zip(device, host):
            to.copy_(source, non_blocking=True)
        if graph:
            graph.replay()
            made = outputs
        else:
            made = forward(*device)
        for to, source in zip(back, made):
            to.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
    return run


def main() -> int:
    path, feeds, seconds, how = sys.argv[1], dict(np.load(sys.argv[2])), float(sys.argv[3]), sys.argv[4]
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        sys.exit(f"PyTorch is not installed: {error}")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    allows = "tf32" in sys.argv[5:]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allows
    torch.backends.cudnn.benchmark = True
    with torch.inference_mode():
        run = runner(torch, onnx.load(path), feeds, how)
        for _ in range(10):
            run()
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
    print(json.dumps({"times_ms": times, "precision": f"PyTorch {torch.__version__}, f32 {'may be TF32' if allows else 'strict'}"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
