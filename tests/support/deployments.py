# SPDX-License-Identifier: Apache-2.0
"""Users, modes of files, and mounts as deployments have them, for processes that tests start. What a system does not let a test make is a skip that says so."""

import contextlib
import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from sanitizer import PATIENCE

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user and give files away")


@dataclasses.dataclass(frozen=True)
class User:
    """Who runs a process; None: whoever runs the tests."""
    user: int | None = None
    group: int | None = None
    groups: tuple[int, ...] = ()

    def options(self):
        """Of subprocess.run."""
        return {} if self.user is None else {"user": self.user, "group": self.group, "extra_groups": list(self.groups)}


def run(command, who=None, env=None, statuses=(0,)):
    """What the process printed, (standard output, standard error); it must end with one of the statuses."""
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * PATIENCE, check=False, cwd="/",
                          env={**os.environ, **(env or {})}, **(who or User()).options())
    assert done.returncode in statuses, f"{command} ended with status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout, done.stderr


@contextlib.contextmanager
def open_folder():
    """A folder that every user can read; pytest's own are closed to all but the user of the tests."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gantry-deploy-")).resolve()
    try:
        folder.chmod(0o755)
        closed = next((above for above in folder.parents if not above.stat().st_mode & 0o001), None)
        if closed:
            pytest.skip(f"other users cannot read files below {closed}")
        yield folder
    finally:
        shutil.rmtree(folder)


def set_files(top, folder_mode, file_mode, owner=None):
    """Modes, and owner and group, of everything from `top` down. Files that can be executed stay so for all who may read them."""
    for path in [top, *top.rglob("*")]:
        if owner:
            os.chown(path, *owner, follow_symlinks=False)  # takes setgid away, so before chmod
        if not path.is_symlink():
            can_run = path.is_file() and path.stat().st_mode & 0o100
            path.chmod(folder_mode if path.is_dir() else file_mode | (0o111 if can_run else 0))


@functools.cache
def _own_mounts():
    """The command that runs another among mounts of its own, as root or as root of a user namespace; none: the system has neither."""
    for command in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        try:
            if subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0:
                return command
        except FileNotFoundError:
            return None
    return None


def among_own_mounts(script, *arguments, env=None):
    """Runs a shell script, whose mounts nobody else sees, and returns what run() does. Skips where the system refuses."""
    command = _own_mounts()
    if not command:
        pytest.skip("this system lets the tests mount nothing: neither as root nor in a user namespace")
    return run([*command, "sh", "-euc", script, "sh", *arguments], env=env)
