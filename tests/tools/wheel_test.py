# SPDX-License-Identifier: Apache-2.0
"""The wheel: built, installed into a clean environment outside the tree, used there with what it asks for and nothing else."""

import json
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
from workspace import wheel_compilers  # noqa: E402: the folder of the tools is no package

PACKAGES = pathlib.Path(numpy.__file__).parents[1]
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
print([out.tolist() for out in session.run({"x": numpy.array(["aab", "straße"], object)}).values()])
"""

BESIDE = """
import os, sys, numpy
os.dup2(1, 2)  # a warning would be seen
image = numpy.ones((1, 3, 224, 224), numpy.float32)

def gantry():
    import gantry
    session = gantry.Session(sys.argv[1], device="CPU")
    return session, lambda name: session.run({name: image})

def onnxruntime():
    import onnxruntime
    session = onnxruntime.InferenceSession(sys.argv[1])
    return session, lambda name: session.run(None, {name: image})

def openvino():
    import openvino
    model = openvino.Core().compile_model(sys.argv[1], "CPU")
    return model, lambda name: model({name: image})

kept = [globals()[name]() for name in sys.argv[2:]]
for _, run in kept:
    run("data_0")
    try:
        run("another")
    except Exception:
        print("refused", end=" " if run is kept[0][1] else "\\n")
"""

AS_PROVIDER = """
import gantry.onnxruntime_ep as ep, numpy, onnxruntime, sys
onnxruntime.register_execution_provider_library("gantry", ep.get_library_path())
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
options.add_provider_for_devices([each for each in onnxruntime.get_ep_devices() if each.ep_name == ep.get_ep_name()], {})
session = onnxruntime.InferenceSession(sys.argv[1], options)
print(ep.get_library_path(), {part.ep_name for part in session.get_provider_graph_assignment_info()})
print(session.run(None, {"data_0": numpy.ones((1, 3, 224, 224), numpy.float32)})[0].shape)
"""

DIGESTS = """
import gantry
print([(row.name, row.state) for row in gantry.report(open=True)])
"""


def run(command, **options):
    options.setdefault("input", "")
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command[0]} ended with status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, **wheel_compilers()}
    run([sys.executable, "-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", folder], cwd=ROOT,
        env=environment)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The folder of an environment with the wheel and, of this environment, what the wheel asks for."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index", "--quiet", wheel])
    packages = next(folder.glob("lib/python3*/site-packages"))
    for name in ("numpy", "numpy.libs", "nanobind_backend"):
        shutil.copytree(PACKAGES / name, packages / name)
    return folder


def clean_variables(home):
    """A user's environment: nothing in it is of this checkout."""
    return {**{name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "GANTRY", "LD_"))}, "HOME": str(home)}


def test_runs_a_model(environment, tmp_path):
    said = run([environment / "bin" / "python", "-c", SCRIPT, LIGHT], cwd=tmp_path, env=clean_variables(tmp_path))
    assert said.startswith(str(environment))
    assert "('softmaxout_1', (1, 1000, 1, 1))" in said


def test_finds_the_libraries_for_texts(environment, tmp_path):
    """They are opened when a model needs them, long after the provider. That for letters has none of its data in the wheel."""
    nodes = [onnx.helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+b"),
             onnx.helper.make_node("StringNormalizer", ["x"], ["z"], case_change_action="UPPER", locale="de_DE")]
    string = onnx.TensorProto.STRING
    model = make_model(nodes, [value("x", string, (2,))], [value("y", onnx.TensorProto.BOOL, (2,)), value("z", string, (2,))])
    onnx.save(model, tmp_path / "texts.onnx")
    said = run([environment / "bin" / "python", "-c", TEXTS, "texts.onnx"], cwd=tmp_path, env=clean_variables(tmp_path))
    assert said == "[[True, False], ['AAB', 'STRASSE']]\n"


def test_finds_the_library_for_digests(environment, tmp_path):
    """It is opened with the first digest: here of a provider that is tried in a process of its own, to remember the verdict by."""
    (tmp_path / "gantry.json").write_text('{"providers": {"probe": "always"}}')
    variables = {**clean_variables(tmp_path), "GANTRY_CONFIG": str(tmp_path / "gantry.json"), "GANTRY_PROBE_CACHE": str(tmp_path / "cache")}
    assert "('cpu', 'ready')" in run([environment / "bin" / "python", "-c", DIGESTS], cwd=tmp_path, env=variables)
    assert any(re.fullmatch(r"[0-9a-f]{64}\.json", file.name) for file in (tmp_path / "cache" / "probes").iterdir())


def test_beside_another_runtime(environment, tmp_path):
    """Either has a C++ run-time: the wheel's is its own, and that of ONNX Runtime the system's."""
    variables = {**clean_variables(tmp_path), "PYTHONPATH": str(PACKAGES)}
    for first, second in (("gantry", "onnxruntime"), ("onnxruntime", "gantry"), ("openvino", "gantry"), ("gantry", "openvino")):
        said = run([environment / "bin" / "python", "-c", BESIDE, LIGHT, first, second], cwd=tmp_path, env=variables)
        assert said == "refused refused\n", (first, second)


def test_as_a_provider_of_onnxruntime(environment, tmp_path):
    said = run([environment / "bin" / "python", "-c", AS_PROVIDER, LIGHT], cwd=tmp_path, env={**clean_variables(tmp_path), "PYTHONPATH": str(PACKAGES)})
    assert said == f"{package_of(environment)}/lib/gantry/onnxruntime/libgantry_onnxruntime_ep.so {{'GantryExecutionProvider'}}\n(1, 1000, 1, 1)\n"


def test_the_command(environment, tmp_path):
    variables = clean_variables(tmp_path)
    assert "CPU:0" in run([environment / "bin" / "gantry", "devices"], cwd=tmp_path, env=variables)
    report = run([environment / "bin" / "gantry", "doctor"], cwd=tmp_path, env=variables)
    assert str(environment) in report
    assert str(ROOT) not in report
    assert subprocess.run([environment / "bin" / "gantry", "nonsense"], env=variables, capture_output=True, check=False).returncode == 2


def package_of(environment):
    (package,) = environment.glob("lib/python3*/site-packages/gantry")
    return package


def test_is_for_all_that_it_can_be_for(wheel):
    """Every Python from 3.10 on, and systems as old as those that NumPy's wheels serve: auditwheel finds all else in the wheel."""
    assert wheel.name.endswith("-cp310-abi3-linux_x86_64.whl")
    said = " ".join(run([sys.executable, "-m", "auditwheel", "show", wheel]).split())
    assert 'is consistent with the following platform tag: "manylinux_2_27_x86_64"' in said
    assert wheel.stat().st_size < 40e6


def test_the_modules_tests_pass_with_it(environment, tmp_path):
    """The wheel's module is compiled for the stable ABI of Python, that of the build for this Python."""
    variables = {**clean_variables(tmp_path), "PYTHONPATH": str(PACKAGES), "GANTRY_BINARY": str(package_of(environment) / "bin" / "gantry")}
    tests = [ROOT / "python" / "tests" / f"{name}_test.py" for name in ("session", "device_tensor", "dlpack", "onnxruntime", "run_async")]
    said = run([environment / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *tests], cwd=ROOT,
               env=variables)
    assert re.search(r"\d\d+ passed", said), said


def test_a_provider_is_built_with_its_sdk(environment, tmp_path):
    variables = {**clean_variables(tmp_path), "PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}
    facts = json.loads(run(["gantry", "sdk", "--json"], env=variables))
    assert pathlib.Path(facts["include_dir"], "gantry", "provider.h").is_file()
    said = run(["gantry", "provider", "new", "my-npu"], cwd=tmp_path, env=variables)
    commands = [line for line in said.splitlines() if line.startswith("  ")]
    assert run(["sh", "-e"], input="\n".join(commands), cwd=tmp_path, env=variables).count("MY_NPU:0") == 1


def test_carries_what_it_needs(environment, tmp_path):
    """Every shared library but the C library and the compiler's is found inside the package, by what the package itself has built."""
    package = package_of(environment)
    system = re.compile(r"^(linux-vdso|libc|libm|libdl|librt|libpthread|libgcc_s)[-.]")
    files = [*package.glob("_core*.so"), *package.rglob("libgantry*.so*"), package / "bin" / "gantry"]
    assert len(files) >= 5
    for file in files:
        for name, path in re.findall(r"^\s*(\S+) => (.*?) \(0x", run(["ldd", file], env=clean_variables(tmp_path)), re.M):
            assert system.match(name) or path.startswith(str(package)), f"{file.name} takes {name} from {path}"
    licences = {file.name for file in (package / "lib" / "licences").iterdir()}
    assert {"libtbb12", "libicu72", "libopenblas-serial-dev", "libstdc++6"} <= licences


def test_says_what_it_carries(environment):
    (file,) = package_of(environment).parent.glob("gantry-*.dist-info/sboms/gantry.cdx.json")
    bill = json.loads(file.read_text(encoding="utf-8"))
    named = {component["name"] for component in bill["components"]}
    assert {"onnx", "onednn", "nanobind", "onetbb", "openblas", "icu", "protobuf", "boost1.74", "gcc-12"} <= named
    assert all(component["purl"].startswith("pkg:") and component["version"] for component in bill["components"])
