# SPDX-License-Identifier: Apache-2.0
"""The README's examples, as they stand there: compiled, run, and their output looked at."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"


def example(language: str) -> str:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 1, f"the README has {len(blocks)} examples in {language}, expected one"
    return blocks[0]


def run(command: list, **options) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, f"{command[0]} ended with status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_its_models_and_those_of_examples_come_with_the_quick_start():
    """Which leaves out other models, and Python packages that only tests need."""
    pages = [ROOT / "README.md", *(ROOT / "examples" / "applications").rglob("*.*")]
    names = {name for page in pages for name in re.findall(r"build/models/[\w./-]+", page.read_text(encoding="utf-8"))}
    listed = re.search(r"^QUICKSTART_MODELS = \((.*?)\)", (ROOT / "tools" / "setup").read_text(encoding="utf-8"), re.M)[1]
    models = (ROOT / "build" / "models").resolve()
    found = {(ROOT / name).resolve(strict=True).relative_to(models).parts[0] for name in names}
    assert found == {"onnx", "magika"} and found <= {"onnx", *re.findall(r'"([\w-]+)"', listed)}


def test_python_example():
    name, *shape, index = run([sys.executable, "-c", example("python")]).split()
    assert name == "softmaxout_1"
    assert "".join(shape) == "(1,1000,1,1)"
    assert 0 <= int(index) < 1000


def test_cpp_example(tmp_path):
    source = tmp_path / "example.cc"
    source.write_text(example("cpp"), encoding="utf-8")
    program = tmp_path / "example"
    run(["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "core" / "include", source, "-o", program, "-L",
         RELEASE / "lib", "-lgantry", f"-Wl,-rpath,{RELEASE / 'lib'}"])
    output = run([program])
    assert "softmaxout_1 has 1000 elements" in output
    assert re.search(r"ran on CPU:0 by cpu", output)


def test_command_line_example():
    environment = dict(os.environ, PATH=f"{RELEASE / 'bin'}:{os.environ['PATH']}")
    output = run(["sh", "-e", "-c", example("sh")], env=environment)
    assert "CPU:0" in output
    assert "softmaxout_1" in output
