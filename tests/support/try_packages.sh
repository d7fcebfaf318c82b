#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# On a Debian that holds nothing of gantry: installs the packages that lie beside this file, one after the other, so that each is tried with its own
# dependencies alone; runs the model beside it by the command and from Python; builds the program beside it, then a provider, with the headers.
# tools/package --try runs it.
set -eux
here=$(dirname "$0")
work=$(mktemp -d)
install="apt-get -q -y install --no-install-recommends"
apt-get -q update

# The command, where no Python is
$install "$here"/gantry_*.deb
gantry doctor
gantry devices
gantry run "$here"/*.onnx --random
gantry explain "$here"/*.onnx | grep "x86.conv by oneDNN"

# The module, under Debian's NumPy
$install "$here"/python3-gantry_*.deb
python3 - "$here"/*.onnx <<'PROGRAM'
import sys, numpy, gantry
session = gantry.Session(sys.argv[1], device="CPU")
(out,) = session.run({session.inputs[0].name: numpy.ones((1, 3, 224, 224), numpy.float32)}).values()
print(sys.version, numpy.__version__, gantry.__file__, gantry.__version__, out.shape, out.dtype)
assert abs(out.sum() - 1) < 1e-3
import gantry.onnxruntime
for device in ("cpu", "sim"):
    value = gantry.onnxruntime.OrtValue.ortvalue_from_numpy(out, device, 0)
    assert numpy.array_equal(numpy.asarray(value), out) and numpy.array_equal(numpy.array(value, copy=True), out)
assert "x86" in {node.provider for node in session.placement.nodes}
PROGRAM

# A program, by CMake and by pkg-config
$install "$here"/gantry-dev_*.deb g++ cmake make pkgconf
mkdir "$work/program"
cp "$here/CMakeLists.txt" "$here/program.cc" "$work/program"
cd "$work"
cmake -S program -B program/build
cmake --build program/build
program/build/program "$here"/*.onnx
# shellcheck disable=SC2046
c++ -std=c++20 program/program.cc $(pkg-config --cflags --libs gantry) -o program/by-pkg-config
program/by-pkg-config "$here"/*.onnx

# A provider
gantry provider new my-npu
cmake -S my-npu -B my-npu/build -DCMAKE_BUILD_TYPE=Release
cmake --build my-npu/build
GANTRY_ADD_PROVIDER_FILES=$work/my-npu/build/my-npu.json gantry devices | grep MY_NPU:0
gantry provider test my-npu/build/my-npu.json

# Whether anything stays
dpkg --verify gantry gantry-dev python3-gantry
apt-get -q -y purge gantry gantry-dev python3-gantry
test -z "$(find /usr /etc /var -path /var/cache -prune -o -name '*gantry*' -print)"
