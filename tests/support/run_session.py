#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A session in a process of its own, which finds the providers that its environment names.

    run_session.py MODEL CONFIG.json FOLDER

Runs FOLDER/0.npz, FOLDER/1.npz ... one after the other, writes what comes of each to FOLDER/out_N.npz, and prints the placement as JSON.
"""

import json
import pathlib
import sys

import numpy as np

import gantry


def main():
    model, config, folder = map(pathlib.Path, sys.argv[1:])
    session = gantry.Session(model, config=config)
    for number in range(len(list(folder.glob("[0-9]*.npz")))):
        with np.load(folder / f"{number}.npz") as feeds:
            outputs = session.run(dict(feeds))
        np.savez(folder / f"out_{number}.npz", **outputs)
    print(json.dumps([{"node": node.node, "op_type": node.op_type, "provider": node.provider, "reason": node.reason} for node in session.placement.nodes]))


main()
