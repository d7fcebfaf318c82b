# SPDX-License-Identifier: Apache-2.0
"""examples/applications, each as a reader runs it."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import subprocess
import sys

import pytest
from model_files import light_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "applications"
BUILD = pathlib.Path(os.environ.get("GANTRY_BINARY", ROOT / "build" / "release" / "bin" / "gantry")).parents[1]
CONTENTS = {
    "script.py": b"import os\n\n\ndef main():\n    for name in sorted(os.listdir('.')):\n        print(name, os.path.getsize(name))\n\n\nmain()\n" * 5,
    "table.json": json.dumps([{"name": f"row {i}", "value": i, "tags": ["a", "b"]} for i in range(100)]).encode(),
    "folder/page.html": b"<!DOCTYPE html>\n<html><head><title>A page</title></head><body><p>Some text.</p></body></html>\n" * 3,
}


def run(script, *arguments):
    done = subprocess.run([sys.executable, FOLDER / script, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(name="files")
def write_files(tmp_path):
    for name, content in CONTENTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def test_any_model_is_run():
    said = run("run.py", light_file("squeezenet"))
    assert said[0] == "input   data_0: float32[1, 3, 224, 224]"
    assert [line.split()[0] for line in said[1:3]] == ["first", "second"]
    assert said[3] == "output  softmaxout_1: float32[1, 1000, 1, 1]"
    assert sum(int(line.split()[1]) for line in said[4:]) > 20


def test_open_extents_are_given_by_name():
    model = ROOT / "build" / "models" / "rapidocr" / "rapidocr" / "models" / "PP-OCRv6_rec_small.onnx"
    said = run("run.py", model, "--dim", "DynamicDimension.1=160")
    assert "input   x: float32[1, 3, 48, 160]" in said
    assert "output  fetch_name_0: float32[1, 20, 18710]" in said


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_files_are_told_apart(files, batch):
    said = [line.split() for line in run("file_types.py", files, "--batch", str(batch))]
    assert [(label, name) for label, _, name in said] == [("html", "folder/page.html"), ("python", "script.py"), ("json", "table.json")]


def test_a_folder_that_is_not_there(tmp_path):
    done = subprocess.run([sys.executable, FOLDER / "file_types.py", tmp_path / "none"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "none is no folder" in done.stderr


@pytest.fixture(name="port")
def start_server():
    with subprocess.Popen([sys.executable, FOLDER / "server.py", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        yield int(server.stdout.readline().rsplit(":", 1)[1])
        server.terminate()


def post(port, content, headers=None):
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    connection.request("POST", "/", content, headers or {})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_a_server_answers_many_clients(port):
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda content: post(port, content), [*CONTENTS.values()] * 8))
    assert [(status, answer["type"]) for status, answer in answers] == [(200, "python"), (200, "json"), (200, "html")] * 8


def test_a_server_says_what_it_does_not_take(port):
    status, answer = post(port, None, {"Content-Length": "99999999"})
    assert status == 413
    assert "16777216 bytes, found \"99999999\"" in answer["error"]
    assert post(port, CONTENTS["table.json"])[1]["type"] == "json"


def test_the_program_is_built_with_what_is_installed(tmp_path):
    def do(*command):
        done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    for step in (["cmake", "--install", BUILD, "--component", "gantry", "--prefix", tmp_path / "gantry"],
                 ["cmake", "-S", FOLDER / "program", "-B", "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'gantry'}"], ["cmake", "--build", "build"]):
        status, said = do(*step)
        assert status == 0, said
    status, said = do("build/program", light_file("squeezenet"))
    assert (status, said.splitlines()[0]) == (0, "softmaxout_1 has 1000 elements")
    assert do("build/program", "none.onnx")[0] == 1
    assert do("build/program") == (2, "program: expected a model's file name\n")
