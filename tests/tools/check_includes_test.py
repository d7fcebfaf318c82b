# SPDX-License-Identifier: Apache-2.0
"""tools/check_includes: includes and link lines that the table of docs/ARCHITECTURE.md does not allow are findings, and so are
includes that no compiler would find."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes"
GOOD = {
    "core/include/gantry/session.h": "#include <vector>\n",
    "core/base/mutex.h": "#include <gantry/sdk/mutex.h>\n",
    "core/base/value.h": '#include "base/mutex.h"\n',
    "core/graph/graph.h": '#include <gantry/session.h>\n\n#include "base/value.h"\nclass Graph {\n};\n',
    "core/run/frame.cc": '#include "run/frame.h"\n\n#include "graph/graph.h"\n#include "run/resources.h"\n',
    "core/run/frame.h": "class Graph;\nclass Resources;\nclass Frame {\n};\n",
    "core/run/resources.h": "class Resources {\n  class Frame;\n};\n",
    "core/run/context.h": '#include "run/frame.h"\n#include "run/resources.h"\nclass Context final : Resources {\n};\n',
    "core/onnx/messages/payload.h": "class Payload {\n};\n",
    "core/onnx/schema/schema.h": '#include "onnx/messages/payload.h"\n#include "onnx/schema/store.h"\n',
    "core/onnx/schema/store.h": "class Store {\n};\n",
    "core/onnx/importer.h": '#include "onnx/schema/schema.h"\nclass Importer {\n};\n',
    "core/CMakeLists.txt": "add_library(gantry_core SHARED run/frame.cc)\ntarget_link_libraries(gantry_core PRIVATE gantry_onnx)\n",
    "plugin_sdk/include/gantry/provider.h": "#include <stdint.h>\n",
    "plugin_sdk/cpp/gantry/sdk/mutex.h": "#include <mutex>\n",
    "plugin_sdk/CMakeLists.txt": "add_library(gantry_plugin_sdk INTERFACE)\n",
    "providers/highway/targets.h": "",
    "providers/highway/CMakeLists.txt": "add_library(gantry_highway STATIC targets.cc)\n",
    "providers/fast/simd.cc": '#define HWY_TARGET_INCLUDE "simd.cc"\n#include <gantry/provider.h>\n\n#include "targets.h"\n',
    "providers/fast/kernels/prelude.cu": "",
    "providers/fast/kernels/index.h": "",
    "providers/fast/kernels/add.cu": '#include "index.h"  // for the editor\n',
    "providers/fast/add.cc": '#include "texts.inc"\nauto source = kernel_source({"index.h"}, kernel_text("add.cu"));\n',
    "providers/fast/CMakeLists.txt": (
        "gantry_add_provider(fast MANIFEST fast.json SOURCES simd.cc LIBRARIES gantry_highway)\n"
        "file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/texts.inc CONTENT \"\")\n"
    ),
    "providers/slow/slow.cc": "#include <gantry/sdk/mutex.h>\n",
    "providers/slow/CMakeLists.txt": "gantry_add_provider(slow MANIFEST slow.json SOURCES slow.cc)\n",
    "interop/onnxruntime/objects/value.h": "#include <gantry/sdk/mutex.h>\nclass Value {\n};\n",
    "interop/onnxruntime/c_api/run.cc": '#include <gantry/session.h>\n\n#include "objects/value.h"\n',
    "interop/onnxruntime/c_api/CMakeLists.txt": "add_library(gantry_onnxruntime SHARED run.cc)\ntarget_link_libraries(gantry_onnxruntime PRIVATE gantry_core)\n",
    "interop/onnxruntime/custom_ops/op.h": "#include <gantry/sdk/mutex.h>\n",
    "tools/cli/main.cc": "#include <gantry/session.h>\n",
    "tools/cli/CMakeLists.txt": "add_executable(gantry main.cc)\ntarget_link_libraries(gantry PRIVATE gantry::core)\n",
    "tests/core/frame_test.cc": '#include "run/frame.h"\n',
}
SEES_BEFORE = "a folder of core sees only those before it"
KNOWS_HIGHER = "a lower type may not know a higher one"
# What is appended to a file -> the finding.
BAD = [
    ("core/run/frame.h", "class Context;", f"declares Context, whose header core/run/context.h includes this one: {KNOWS_HIGHER}"),
    ("core/base/value.h", "class Graph;", f"declares Graph, whose header core/graph/graph.h stands in a later folder: {KNOWS_HIGHER}"),
    ("core/base/value.h", "class Resources;", f"declares Resources, whose header core/run/resources.h stands in a later folder: {KNOWS_HIGHER}"),
    ("core/graph/graph.h", '#include "run/resources.h"', SEES_BEFORE),
    ("core/onnx/messages/payload.h", '#include "onnx/schema/store.h"', "a folder of core/onnx sees only those before it"),
    ("core/onnx/messages/payload.h", "class Store;", f"declares Store, whose header core/onnx/schema/store.h stands in a later folder: {KNOWS_HIGHER}"),
    ("core/onnx/schema/store.h", "class Importer;", f"declares Importer, whose header core/onnx/importer.h stands in a later folder: {KNOWS_HIGHER}"),
    ("core/run/frame.cc", "#include <gantry/sdk/mutex.h>", "core includes base/mutex.h in its place"),
    ("core/run/frame.cc", "#include <onnx/onnx.pb.h>", "the onnx library is reached through core/onnx only"),
    ("core/run/frame.cc", '#include "run/frames.h"', "expected a file of the repository that the compiler finds from here"),
    ("core/run/frame.cc", "#include <gantry/sessions.h>", "expected a file of the repository that the compiler finds from here"),
    ("core/run/frame.cc", "#include FRAME_HEADER", "expected a name in quotes or angle brackets"),
    ("core/include/gantry/session.h", "#include <gantry/provider.h>", "the public headers stand on each other only"),
    ("plugin_sdk/cpp/gantry/sdk/mutex.h", "#include <fmt/format.h>", "plugin_sdk/cpp stands on the standard library alone"),
    ("providers/slow/slow.cc", '#include "../fast/kernels/index.h"', "a provider sees plugin_sdk only"),
    ("providers/slow/slow.cc", "#include <gantry/session.h>", "a provider sees plugin_sdk only"),
    ("interop/onnxruntime/custom_ops/op.h", "#include <gantry/session.h>", "a provider sees plugin_sdk only"),
    ("interop/onnxruntime/objects/value.h", '#include "custom_ops/op.h"', "a folder of interop/onnxruntime sees only those before it"),
    ("providers/fast/kernels/add.cu", '#include "../../../core/base/value.h"', "a provider sees plugin_sdk only"),
    ("providers/fast/kernels/add.cu", '#include "indices.h"', "expected a file of the repository"),
    ("providers/fast/add.cc", 'auto other = kernel_text("sub.cu");', "expected a file of providers/fast/kernels, found none"),
    ("providers/fast/simd.cc", '#define HWY_TARGET_INCLUDE "other.cc"', "expected a file of the repository"),
    ("providers/slow/CMakeLists.txt", "target_link_libraries(gantry_provider_slow PRIVATE gantry_provider_fast)", "a provider sees plugin_sdk only"),
    ("providers/slow/CMakeLists.txt", "target_link_libraries(gantry_provider_slow PRIVATE gantry::core)", "a provider sees plugin_sdk only"),
    ("tools/cli/CMakeLists.txt", "target_link_libraries(gantry PRIVATE gantry_onnx)", "the onnx library is reached through core/onnx only"),
    ("tools/cli/CMakeLists.txt", "target_link_libraries(gantry PRIVATE gantry_highway)", "see the public headers only"),
]


def findings(folder, changes):
    """Of a tree of those files."""
    for name, text in {**GOOD, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", folder], check=True)
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_a_tree_that_keeps_the_rules(tmp_path):
    assert findings(tmp_path, {}) == []


@pytest.mark.parametrize(("name", "line", "reason"), BAD, ids=[f"{name}: {line}" for name, line, _ in BAD])
def test_what_is_not_allowed_is_found(tmp_path, name, line, reason):
    (finding,) = findings(tmp_path, {name: f"{GOOD[name]}{line}\n"})
    assert finding.startswith(name)
    assert reason in finding


# Folders, each with how its files include one another.
PLACES = {
    "core/run": "run/",
    "core/onnx": "onnx/",
    "core/include/gantry": "",
    "providers/fast": "",
    "providers/highway": "",
    "plugin_sdk/cpp/gantry/sdk": "",
    "tools/cli": "",
    "tools/checks": "",
    "python/src": "",
    "examples/providers/tiny": "",
}


@pytest.mark.parametrize(("folder", "prefix"), PLACES.items(), ids=PLACES)
def test_a_source_that_needs_what_stands_on_its_header_is_found(tmp_path, folder, prefix):
    changes = {
        f"{folder}/low.h": "",
        f"{folder}/low.cc": f'#include "{prefix}low.h"\n\n#include "{prefix}high.h"\n',
        f"{folder}/high.h": f'#include "{prefix}low.h"\n',
    }
    assert findings(tmp_path, changes) == [
        f"{folder}/high: needs itself, over {folder}/low: split what both sides use from what stands on it"
    ]


@pytest.mark.parametrize(("folder", "prefix"), PLACES.items(), ids=PLACES)
def test_a_header_that_declares_a_class_that_stands_on_it_is_found(tmp_path, folder, prefix):
    changes = {f"{folder}/low.h": "class High;\n", f"{folder}/high.h": f'#include "{prefix}low.h"\nclass High {{\n}};\n'}
    assert findings(tmp_path, changes) == [
        f"{folder}/low.h: declares High, whose header {folder}/high.h includes this one: {KNOWS_HIGHER}"
    ]


def test_a_circle_over_two_folders_of_tools_is_found(tmp_path):
    changes = {"tools/cli/low.h": '#include "../checks/high.h"\n', "tools/checks/high.h": '#include "low.h"\n'}
    assert findings(tmp_path, changes) == [
        "tools/checks/high: needs itself, over tools/cli/low: split what both sides use from what stands on it"
    ]
