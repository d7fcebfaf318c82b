#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a system that holds nothing of gantry: installs the wheel that lies beside this file, runs the model beside it by the command and from
# Python, then writes, builds and tests a provider with the wheel's SDK. tools/wheel --try runs it.
set -eux
here=$(dirname "$0")
work=$(mktemp -d)

# A system older than its Python has to be: one compiled from Debian 12's sources, as its users make or fetch one, and CMake from PyPI.
python=python3
cmake=
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
  sed -n 's/^deb \([^ ]*\) .*/deb-src \1 bookworm main/p' /etc/apt/sources.list | head -n 1 > /etc/apt/sources.list.d/sources.list
  apt-get update --quiet
  apt-get install --quiet --yes --no-install-recommends dpkg-dev libffi-dev libssl-dev xz-utils zlib1g-dev
  (cd "$work" && apt-get source --download-only --quiet python3.11 && tar -xf python3.11_*.orig.tar.* && cd Python-3.11.* &&
    ./configure --quiet --prefix="$work/python" && make -s -j2 && make -s install)
  python=$work/python/bin/python3
  cmake=cmake
fi
"$python" -m venv "$work/environment"
PATH=$work/environment/bin:$PATH
pip install --quiet "$here"/gantry-*.whl $cmake
python -m pip check
gantry doctor
gantry devices
gantry run "$here"/*.onnx --random

python - "$here"/*.onnx <<'PROGRAM'
import sys, numpy, gantry
session = gantry.Session(sys.argv[1], device="CPU")
(out,) = session.run({session.inputs[0].name: numpy.ones((1, 3, 224, 224), numpy.float32)}).values()
print(sys.version, out.shape, out.dtype)
assert abs(out.sum() - 1) < 1e-3
PROGRAM

cd "$work"
gantry provider new my-npu
cmake -S my-npu -B my-npu/build -DCMAKE_BUILD_TYPE=Release -Dgantry_sdk_DIR="$(gantry sdk --cmake-dir)"
cmake --build my-npu/build
GANTRY_ADD_PROVIDER_FILES=$work/my-npu/build/my-npu.json gantry devices
gantry provider test my-npu/build/my-npu.json
