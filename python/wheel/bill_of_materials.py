# SPDX-License-Identifier: Apache-2.0
"""Writes what the wheel holds of others as a CycloneDX document: FILE VERSION PACKAGE_URL... PACKAGE...

FILE is written for gantry VERSION. A PACKAGE_URL (pkg:...) is one component; a PACKAGE is an installed Debian package, of which its source
package is the component. One document for one set of packages: no time, no random number.
"""

import json
import pathlib
import re
import subprocess
import sys
import urllib.parse


def debian_components(packages: list) -> list:
    form = "${source:Package} ${source:Version}\n"
    listing = subprocess.run(["dpkg-query", "--show", f"--showformat={form}", *packages], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, check=True).stdout
    sources = sorted({tuple(line.split()) for line in listing.splitlines()})
    return [component(f"pkg:deb/debian/{name}@{urllib.parse.quote(version)}?arch=source", name, version) for name, version in sources]


def named_component(url: str) -> dict:
    name, version = re.fullmatch(r"pkg:(?:[\w.-]+/)+([\w.-]+)@([\w.-]+)", url).groups()
    return component(url, name, version)


def component(url: str, name: str, version: str) -> dict:
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}


def main(file: pathlib.Path, version: str, parts: list) -> None:
    components = [named_component(part) for part in parts if part.startswith("pkg:")]
    components += debian_components([part for part in parts if not part.startswith("pkg:")])
    gantry = f"pkg:pypi/gantry@{version}"
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component(gantry, "gantry", version), "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": gantry, "dependsOn": [part["bom-ref"] for part in components]}],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
