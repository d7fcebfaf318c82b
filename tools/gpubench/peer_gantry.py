# SPDX-License-Identifier: Apache-2.0
"""Times a model by gantry's command: peer_gantry.py MODEL.onnx FEEDS.npz SECONDS FOLDER OPTIONS [SESSION], the provider's and the session's as JSON

FOLDER is one that tools/gpu-test --pack made. With - for FEEDS.npz, inputs are random, and no package is needed.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpubench import machine  # noqa: E402: the folder of the tools is no package

MOST_TOLD = 400  # limit of log lines


def command(folder, model, seconds, config, feeds):
    inputs = [word for name, file in feeds.items() for word in ("--input", f"{name}={file}")]
    return [str(folder / "bin" / "gantry"), "bench", str(model), "--device", "CUDA:0", "--json", "--seconds", str(seconds), "--config", str(config), *inputs]


def times_of(text: str) -> dict:
    """Median, loading time and first run in ms, from the output of `gantry bench --json`."""
    told = json.loads(text[text.index("{"):])
    return {"times_ms": [told["latency_us"]["p50"] / 1e3], "load_ms": told["load_ms"], "first_run_ms": told["first_run_ms"]}


def told_in(log: str) -> list:
    """The log lines of autotuning, and all warnings and errors."""
    found = re.findall(r"^gantry (?:info: (?=.*: the fastest of )|(?=warning: |error: ))(.*)$", log, re.MULTILINE)
    return list(dict.fromkeys(found))[:MOST_TOLD]


def files_of(feeds: str, room: pathlib.Path) -> dict:
    if feeds == "-":
        return {}
    import numpy as np  # pylint: disable=import-outside-toplevel  # a machine may not have it
    files = {}
    for number, (name, value) in enumerate(np.load(feeds).items()):
        files[name] = room / f"{number}.npy"
        np.save(files[name], value)
    return files


def main() -> int:
    model, feeds, seconds, folder, options = sys.argv[1:6]
    folder = pathlib.Path(folder)
    with tempfile.TemporaryDirectory() as room:
        config = pathlib.Path(room) / "config.json"
        session = json.loads(sys.argv[6]) if len(sys.argv) > 6 else {}
        config.write_text(json.dumps({"providers": {"options": {"cuda": json.loads(options)}}, "placement": {"fallback": "allow"}, "session": session}),
                          encoding="utf-8")
        done = subprocess.run(command(folder, model, seconds, config, files_of(feeds, pathlib.Path(room))), capture_output=True, text=True, check=False,
                              env={**machine.environment_of(folder), "GANTRY_LOG": "info"})
    if done.returncode != 0:
        sys.exit((done.stderr.strip() or done.stdout.strip())[-400:])
    floats = "may be TF32" if json.loads(options).get("precision") == "tf32" else "strict"
    print(json.dumps({**times_of(done.stdout), "precision": f"f32 {floats}, matmuls accumulate in f32", "told": told_in(done.stderr)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
