# SPDX-License-Identifier: Apache-2.0
"""The wheel: built, installed into a clean environment outside the tree, used there with NumPy and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import venv

import numpy
import onnx
import pytest
from broken_models import make_model, value

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from workspace import COMPILER_CACHE  # noqa: E402: the folder of the tools is no package

LIGHT = ROOT / "build" / "models" / "onnx" / "light" / "light_squeezenet.onnx"

SCRIPT = """
import sys, numpy, gantry
assert "onnx" not in sys.modules
session = gantry.Session(sys.argv[1], device="CPU")
out = session.run({"data_0": numpy.ones((1, 3, 224, 224), numpy.float32)})
print(gantry.__file__, gantry.__version__, *[(name, value.shape) for name, value in out.items()])
"""


TEXTS = """
import sys, numpy, gantry
session = gantry.Session(sys.argv[1], device="CPU")
print(session.run({"x": numpy.array(["aab", "b"], object)})["y"].tolist())
"""

DIGESTS = """
import gantry
print([(row.name, row.state) for row in gantry.report(open=True)])
"""


def run(command, **options):
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command[0]} ended with status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Compiled by what compiled build/release, so that the compiler's cache has it all."""
    folder = tmp_path_factory.mktemp("wheel")
    cache = (ROOT / "build" / "release" / "CMakeCache.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^(CMAKE_\w+):\w+=(.*)$", cache, re.M))
    environment = {**os.environ, **COMPILER_CACHE, "CMAKE_EXECUTABLE": found["CMAKE_COMMAND"], "CXX": found["CMAKE_CXX_COMPILER"], "CC": found["CMAKE_C_COMPILER"]}
    run([sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", folder], cwd=ROOT,
        env=environment)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The folder of an environment with the wheel and this environment's NumPy."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index", "--quiet", wheel])
    packages = next(folder.glob("lib/python3*/site-packages"))
    source = pathlib.Path(numpy.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        shutil.copytree(source / name, packages / name)
    return folder


def clean_variables(home):
    """A user's environment: nothing in it is of this checkout."""
    return {**{name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "GANTRY", "LD_"))}, "HOME": str(home)}


def test_runs_a_model(environment, tmp_path):
    said = run([environment / "bin" / "python", "-c", SCRIPT, LIGHT], cwd=tmp_path, env=clean_variables(tmp_path))
    assert said.startswith(str(environment))
    assert "('softmaxout_1', (1, 1000, 1, 1))" in said


def test_finds_the_libraries_for_texts(environment, tmp_path):
    """They are opened when a model needs them, long after the provider."""
    node = onnx.helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+b")
    model = make_model([node], [value("x", onnx.TensorProto.STRING, (2,))], [value("y", onnx.TensorProto.BOOL, (2,))])
    onnx.save(model, tmp_path / "texts.onnx")
    assert run([environment / "bin" / "python", "-c", TEXTS, "texts.onnx"], cwd=tmp_path, env=clean_variables(tmp_path)) == "[True, False]\n"


def test_finds_the_library_for_digests(environment, tmp_path):
    """It is opened with the first digest: here of a provider that is tried in a process of its own, to remember the verdict by."""
    (tmp_path / "gantry.json").write_text('{"providers": {"probe": "always"}}')
    variables = {**clean_variables(tmp_path), "GANTRY_CONFIG": str(tmp_path / "gantry.json"), "GANTRY_PROBE_CACHE": str(tmp_path / "cache")}
    assert "('cpu', 'ready')" in run([environment / "bin" / "python", "-c", DIGESTS], cwd=tmp_path, env=variables)
    assert any(re.fullmatch(r"[0-9a-f]{64}\.json", file.name) for file in (tmp_path / "cache" / "probes").iterdir())


def test_the_command(environment, tmp_path):
    variables = clean_variables(tmp_path)
    assert "CPU:0" in run([environment / "bin" / "gantry", "devices"], cwd=tmp_path, env=variables)
    report = run([environment / "bin" / "gantry", "doctor"], cwd=tmp_path, env=variables)
    assert str(environment) in report
    assert str(ROOT) not in report
    assert subprocess.run([environment / "bin" / "gantry", "nonsense"], env=variables, capture_output=True, check=False).returncode == 2


def test_carries_what_it_needs(environment, tmp_path):
    """Every shared library but the C and C++ run-time is found inside the package, by what the package itself has built."""
    (package,) = environment.glob("lib/python3*/site-packages/gantry")
    system = re.compile(r"^(linux-vdso|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[-.]")
    files = [*package.glob("_core*.so"), *package.rglob("libgantry*.so"), package / "bin" / "gantry"]
    assert len(files) >= 5
    for file in files:
        for name, path in re.findall(r"^\s*(\S+) => (.*?) \(0x", run(["ldd", file], env=clean_variables(tmp_path)), re.M):
            assert system.match(name) or path.startswith(str(package)), f"{file.name} takes {name} from {path}"
    licences = {file.name for file in (package / "lib" / "licences").iterdir()}
    assert {"libtbb12", "libopenblas-serial-dev"} <= licences
