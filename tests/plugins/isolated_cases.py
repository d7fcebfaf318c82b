# SPDX-License-Identifier: Apache-2.0
"""Models that are run isolated and not: each kind of value, control flow, several sizes, a device with memory of its own, real models.

As a program: runs every case of the pickled file that is its argument in this process, and prints what became of them, pickled."""

import pickle
import sys


def run(cases):
    """Name -> the outputs of each feed, and who ran the nodes."""
    import gantry

    results = {}
    for name, (model, feeds, device) in cases.items():
        session = gantry.Session(model, device=device)
        outputs = [session.run(feed) for feed in feeds]
        results[name] = outputs, {(row.provider, row.device) for row in session.placement.nodes}
    return results


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        given = pickle.load(file)
    with open(sys.argv[2], "wb") as file:
        pickle.dump(run(given), file)
