# SPDX-License-Identifier: Apache-2.0
"""Scripts of tools import many modules only when they need them: each import of the repository's own finds its module and the name in it."""

import ast
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "tools", ROOT / "tools" / "bench", ROOT / "tests" / "support"]  # that scripts put in front of the path


def scripts():
    names = subprocess.run(["git", "ls-files", "tools", "tests/support"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in names:
        path = ROOT / name
        is_script = path.is_file() and not path.suffix and path.read_bytes().startswith(b"#!/usr/bin/env python3")
        if path.suffix == ".py" or is_script:
            yield name


def own_module(name, importer):
    """The file of a module of the repository; None: it is installed."""
    for folder in [importer.parent, *FOLDERS]:
        path = folder.joinpath(*name.split("."))
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
        if (folder / name.split(".")[0]).is_dir() and (folder / name.split(".")[0] / "__init__.py").is_file():
            return folder / "missing"
    return None


def names_in(file):
    """What a module defines or imports at its top level, conditions included; beside it, the modules of its package."""
    found = {path.stem for path in file.parent.glob("*.py")} if file.name == "__init__.py" else set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return found


@pytest.mark.parametrize("name", list(scripts()))
def test_each_import_of_our_own_is_there(name):
    path = ROOT / name
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            continue
        module = own_module(node.module, path)
        if module is None:
            continue
        where = f"{name}:{node.lineno}: from {node.module} import"
        assert module.name != "missing", f"{where}: there is no such module"
        missing = {alias.name for alias in node.names if alias.name != "*"} - names_in(module)
        assert not missing, f"{where}: it has no {', '.join(sorted(missing))}"
