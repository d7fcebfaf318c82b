# SPDX-License-Identifier: Apache-2.0
"""Runs models on CUDA:0 in a process of its own, whose provider finds the fakes of NVIDIA's libraries.

    python worker.py

Reads pickled requests (model bytes, feeds of each run, whether nodes may go to the CPU) from its standard input and answers each with the kernels
of the nodes and the outputs of each run, or with what went wrong.
"""

import os
import pickle
import sys

import gantry


def answer(model, steps, fallback):
    session = gantry.Session(model, device="CUDA:0", config={"placement": {"fallback": "allow" if fallback else "error"}})
    return [node.kernel for node in session.placement.nodes], [session.run(feeds) for feeds in steps]


def main():
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else prints does not get between
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        try:
            result = answer(*request)
        except Exception as error:  # whatever it is, the test tells of it
            result = f"{type(error).__name__}: {error}"
        pickle.dump(result, answers)
        answers.flush()


if __name__ == "__main__":
    sys.exit(main())
