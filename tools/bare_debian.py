# SPDX-License-Identifier: Apache-2.0
"""A new Debian that holds nothing else, in a folder of its own: where tools/wheel and tools/package try what they made."""

import os
import pathlib
import shutil
import subprocess
import tempfile

from workspace import BUILD, Failure, run, say


def output_of(*command: str) -> list:
    """The lines that it writes; none if it fails or is not there."""
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout.splitlines()
    except FileNotFoundError:
        return []


def package_source() -> str:
    """Where this machine takes Debian's packages from."""
    listing = output_of("apt-get", "indextargets", "--format", "$(SITE) $(REPO_URI)", "Created-By: Packages")
    sources = [line.split()[1] for line in listing if line.split()[1].rstrip("/").endswith("/debian")]
    if not sources:
        raise Failure("--try makes a Debian of its own and found no source of Debian's packages here (apt-get indextargets lists none).")
    return sources[0]


def fetching_options() -> str:
    """How this machine's apt fetches, for instance through which proxy."""
    lines = output_of("apt-config", "dump", "Acquire")
    return "".join(f"{line}\n" for line in lines if not line.startswith(("Acquire::IndexTargets", "Acquire::Changelogs")))


def try_there(suite: str, script: pathlib.Path, files: list, packages: list = ()) -> None:
    """Makes a Debian of that name with the packages, puts script and files beside each other into it, and runs the script there as root.

    The environment has what pip and the proxies need and nothing else of this one's. Throws if the script fails.
    """
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise Failure("--try needs root and debootstrap: apt-get install debootstrap.")
    include = ",".join(["ca-certificates", *packages])
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        say(f"try: a new Debian {suite}")
        run(f"try {suite} system", ["debootstrap", "--variant=minbase", f"--include={include}", suite, root, package_source()])
        for file in (script, *files):
            shutil.copy(file, root / "srv" / file.name)
        for name in ("resolv.conf", "hosts", "ssl/certs/ca-certificates.crt"):
            shutil.copy(pathlib.Path("/etc") / name, root / "etc" / name)
        (root / "etc" / "apt" / "apt.conf.d" / "fetching").write_text(fetching_options(), encoding="utf-8")
        passed_on = {name: text for name, text in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
        mounted = [root / "dev", root / "proc"]
        run(f"try {suite} mounts", ["mount", "--bind", "/dev", mounted[0]], ["mount", "-t", "proc", "proc", mounted[1]])
        try:
            run(f"try {suite}", ["chroot", root, "/usr/bin/env", "-i", "HOME=/root", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                 "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *(f"{name}={text}" for name, text in passed_on.items()),
                                 "sh", f"/srv/{script.name}"])
        finally:
            run(f"try {suite} mounts", ["umount", "-l", *mounted])
    say(f"try: passed on Debian {suite}; what it printed is in build/logs/try-{suite}.log")
