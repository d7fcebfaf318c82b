# SPDX-License-Identifier: Apache-2.0
"""Where the real models lie: under build/models, where tools/setup unpacks them, or under the folder that GANTRY_MODELS names."""

import os
import pathlib

MODELS = pathlib.Path(os.environ.get("GANTRY_MODELS", pathlib.Path(__file__).parents[2] / "build" / "models"))

LIGHT = (
    "bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19", "zfnet512",
)


def model_file(path):
    """A file of the unpacked packages: model_file("magika/magika/models/standard_v3_3/model.onnx")."""
    file = MODELS / path
    assert file.is_file(), f"{file} is missing; tools/setup brings it"
    return file


def light_file(name, ending=".onnx"):
    """light_NAME.onnx of the standard's test data, or another file of that model."""
    return model_file(f"onnx/light/light_{name}{ending}")
