# SPDX-License-Identifier: Apache-2.0
"""The Debian packages as a configured tree describes them, without building it; `tools/package --try` builds and installs them."""

import json
import pathlib
import re
import sys

import nanobind
import pytest
from installed_sdk import BUILD, ROOT, run

DEBIAN = ROOT / "cmake" / "debian"
PACKAGES = {"gantry": "gantry", "sdk": "gantry-dev", "python": "python3-gantry"}  # by component
MAINTAINER = "A. Packager <packager@example.org>"
VERSION = re.search(r"project\(gantry VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
COPYRIGHT = " ".join((DEBIAN / "copyright").read_text(encoding="utf-8").split())
# Of these Debian packages, which have shared libraries too, the static library or the headers are compiled in.
COMPILED_IN = {"libhwy-dev", "libopenblas-serial-dev", "libstb-dev"}


@pytest.fixture(scope="module", name="tree")
def configure(tmp_path_factory):
    tree = tmp_path_factory.mktemp("debian")
    query = tree / ".cmake" / "api" / "v1" / "query"
    query.mkdir(parents=True)
    (query / "codemodel-v2").touch()
    run("cmake", "--preset", "debian", "-B", tree, f"-DGANTRY_MAINTAINER={MAINTAINER}", folder=ROOT)
    return tree


@pytest.fixture(scope="module", name="installers")
def read_installers(tree):
    """What CMake would install, by its file API."""
    found = []
    for file in sorted((tree / ".cmake" / "api" / "v1" / "reply").glob("directory-*.json")):
        found += json.loads(file.read_text(encoding="utf-8")).get("installers", [])
    return found


@pytest.fixture(scope="module", name="files")
def list_files(installers):
    """The files of each package and, where CMake names nothing more, their folders, below the prefix."""
    files = {package: [] for package in PACKAGES.values()}
    for installer in installers:
        for path in installer.get("paths", []):
            name = path["to"] if isinstance(path, dict) else pathlib.PurePath(path).name
            files[PACKAGES[installer["component"]]].append(f"{installer['destination']}/{name}")
    return files


def setting(tree, name):
    text = (tree / "CPackConfig.cmake").read_text(encoding="utf-8")
    return re.search(rf'^set\(CPACK_{name} "(.*?)"\)$', text, re.M | re.S)[1]


def test_everything_is_in_one_of_three_packages(tree, installers):
    assert {installer["component"] for installer in installers} == set(PACKAGES)
    assert {component: setting(tree, f"DEBIAN_{component.upper()}_PACKAGE_NAME") for component in PACKAGES} == PACKAGES


def test_control_fields(tree):
    assert setting(tree, "PACKAGE_VERSION") == VERSION
    assert setting(tree, "PACKAGE_CONTACT") == MAINTAINER
    for component in PACKAGES:
        summary, *text = setting(tree, f"DEBIAN_{component.upper()}_DESCRIPTION").splitlines()
        assert 0 < len(summary) < 80
        assert text
        assert max(map(len, text)) < 80
    for component in ("SDK", "PYTHON"):  # what is compiled against the library belongs to its version
        assert f"gantry (= {VERSION})" in setting(tree, f"DEBIAN_{component}_PACKAGE_DEPENDS").split(", ")
    # The module of the stable ABI is the wheel's; this one is for Debian's Python alone, and for the ABI of its NumPy.
    assert re.search(r"python3 \(>= 3\.(\d+)~\), python3 \(<< 3\.\d+~\), .*python3-numpy-abi9", setting(tree, "DEBIAN_PYTHON_PACKAGE_DEPENDS"))
    assert (tree / "package" / "shlibs").read_text(encoding="utf-8") == f"libgantry {'.'.join(VERSION.split('.')[:2])} gantry (>= {VERSION})\n"


def test_no_file_is_in_two_packages(files):
    owned = [(path, package) for package, paths in files.items() for path in paths]
    for path, package in owned:
        others = [other for there, other in owned if other != package and (there == path or there.startswith(f"{path}/"))]
        assert not others, f"{path} of {package} is in {others} too"


def test_what_each_package_has(files):
    of = {package: {path.replace("lib/x86_64-linux-gnu/", "lib/") for path in paths} for package, paths in files.items()}
    soname = f"libgantry.so.{'.'.join(VERSION.split('.')[:2])}"
    assert {"bin/gantry", f"lib/{soname}", "lib/gantry/gantry-probe", "lib/gantry/gantry-worker", "share/man/man1/gantry.1.gz"} <= of["gantry"]
    assert {f"lib/gantry/providers.d/{name}.json" for name in ("cpu", "cuda", "sim", "x86")} <= of["gantry"]
    assert {f"lib/gantry/providers.d/libgantry_{name}.so" for name in ("cpu", "cuda", "sim", "x86")} <= of["gantry"]
    assert [path for path in of["gantry"] if path.endswith((".h", ".cmake", ".pc", "/libgantry.so"))] == []
    assert {"include/gantry", "include/gantry/provider.h", "lib/libgantry.so", "lib/pkgconfig/gantry.pc", "lib/cmake/gantry/gantryConfig.cmake",
            "lib/pkgconfig/gantry-sdk.pc", "lib/cmake/gantry_sdk/gantry_sdkConfig.cmake", "share/gantry_sdk/skeleton/skeleton.cc"} <= of["gantry-dev"]
    modules = sorted(path for path in of["python3-gantry"] if not path.startswith("share/doc/"))
    assert re.fullmatch(r"(lib/python3/dist-packages/gantry) \1/_core\.cpython-3\d+-x86_64-linux-gnu\.so", " ".join(modules))
    for package, paths in of.items():
        assert {f"share/doc/{package}/copyright", f"share/doc/{package}/changelog.gz"} <= paths


def holders(text):
    """Of the first "Copyright:" of a file of Debian's form, which is that of the library itself; without addresses."""
    lines = re.search(r"^Copyright:((?:.|\n(?=\s))*)", text, re.M)[1].splitlines()
    return [re.sub(r",? *<?\S+@\S+", "", line).strip() for line in lines if line.strip()]


def has_shared_library(package):
    return re.search(r"\.so$", run("dpkg", "-L", package), re.M) is not None


def compiled_in():
    setup = (ROOT / "tools" / "setup").read_text(encoding="utf-8")
    listed = re.search(r'^DEBIAN_PACKAGES = """(.*?)"""', setup, re.M | re.S)[1].split()
    packages = {package for package in listed if package.startswith(("lib", "nlohmann")) and package.endswith("-dev")}
    assert COMPILED_IN <= packages
    return sorted(package for package in packages if package in COMPILED_IN or not has_shared_library(package))


def test_the_copyright_file_names_what_debian_packages_bring():
    packages = compiled_in()
    assert {"libcli11-dev", "nlohmann-json3-dev", "libvalijson-dev"} <= set(packages)
    for package in packages:
        if package == "libboost-dev":  # whose licence asks for no notice in compiled form
            assert "Boost" in COPYRIGHT
            continue
        for holder in holders(pathlib.Path("/usr/share/doc", package, "copyright").read_text(encoding="utf-8")):
            assert holder in COPYRIGHT, f"{package}: {holder}"


def test_the_copyright_file_names_what_set_up_brings():
    licence = (ROOT / "build" / "deps" / "onednn" / "licences" / "onednn").read_text(encoding="utf-8")
    onednn = re.findall(r"^ {3}Copyright (\d{4}\S* .*)$", licence, re.M)
    assert len(onednn) > 5
    header = next(pathlib.Path(nanobind.include_dir()).parent.rglob("robin_hash.h")).read_text(encoding="utf-8")
    robin_map = re.findall(r"Copyright \(c\) (\d{4} .*?) <", header)
    assert len(robin_map) == 1
    for notice in [*onednn, *robin_map, "ONNX", "XByak", "2022 Wenzel Jakob"]:
        assert notice in COPYRIGHT


def test_the_manual_page_has_every_command():
    command = BUILD / "bin" / "gantry"
    page = run(sys.executable, DEBIAN / "manual.py", command, VERSION)
    assert page.startswith(f'.TH GANTRY 1 "" "gantry {VERSION}"')
    said = run(command, "--help")
    names = re.findall(r"^  (\w+) ", said[said.index("Subcommands:"):], re.M)
    assert len(names) > 8
    for name in names:
        assert re.search(rf"^\.SS gantry {name}\b", page, re.M), name


@pytest.mark.parametrize("script", [DEBIAN / "postinst", DEBIAN / "prerm", ROOT / "tests" / "support" / "try_packages.sh"], ids=lambda file: file.name)
def test_the_scripts_are_understood(script):
    run("sh", "-n", script)
