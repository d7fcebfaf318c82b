#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a model with random numbers: what it takes, what it makes, how long that takes, and which provider ran how many nodes.

    run.py MODEL [--device CPU] [--dim NAME=EXTENT]...        an extent that the model leaves open is 1 if it is not given
"""

import argparse
import collections
import time

import numpy as np

import gantry

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("model")
parser.add_argument("--device", default="CPU")
parser.add_argument("--dim", action="append", default=[], metavar="NAME=EXTENT")
options = parser.parse_args()
extents = {name: int(extent) for name, extent in (dim.split("=") for dim in options.dim)}

session = gantry.Session(options.model, device=options.device)
random = np.random.default_rng(0)
inputs = {}
for info in session.inputs:
    # An open extent is a name, or None where the model gives it none.
    shape = [extent if isinstance(extent, int) else extents.get(extent, 1) for extent in info.shape]
    inputs[info.name] = random.integers(0, 2, shape).astype(info.dtype)
    print(f"input   {info.name}: {info.dtype}{shape}")

for run in ("first", "second"):  # the first one plans memory for these shapes
    start = time.perf_counter()
    outputs = session.run(inputs)
    print(f"{run:7} {1000 * (time.perf_counter() - start):.2f} ms")
for name, value in outputs.items():
    print(f"output  {name}: {value.dtype}{list(value.shape)}")
for provider, count in collections.Counter(node.provider for node in session.placement.nodes).most_common():
    print(f"nodes   {count} by {provider}")
