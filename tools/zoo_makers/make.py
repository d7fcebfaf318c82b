# SPDX-License-Identifier: Apache-2.0
"""make.py KIND FOLDER [WORD ...]: makes the models of a kind whose names contain one of the words, those that the folder has left out.

What an exporter refuses is a line of FOLDER/KIND.not_made.txt.
"""

import importlib
import os
import pathlib
import random
import re
import sys
import warnings

os.environ.update({"TORCH_LOGS": "-all", "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "TOKENIZERS_PARALLELISM": "false"})
warnings.simplefilter("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402: the folder of the tools is no package


def seed() -> None:
    """So that every run of the zoo has the same models."""
    random.seed(0)
    np.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


def main() -> int:
    kind, folder, words = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for name, make in importlib.import_module(f"zoo_makers.{kind}").models():
        name = re.sub(r"[^\w.+=-]+", "_", name)
        file = folder / kind / name
        if (words and not any(word in f"{kind}/{name}" for word in words)) or pathlib.Path(f"{file}.pkl").exists():
            continue
        seed()
        try:
            make().save(pathlib.Path(f"{file}.onnx"))
        except BaseException as error:  # pylint: disable=broad-except  # whatever an exporter does, the others are to be made
            if isinstance(error, KeyboardInterrupt):
                raise
            missing.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:160]}")
        print(".", end="", flush=True)
    print()
    if not words:
        (folder / f"{kind}.not_made.txt").write_text("".join(f"{line}\n" for line in missing), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
