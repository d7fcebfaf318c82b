# SPDX-License-Identifier: Apache-2.0
"""Libraries of plugin execution providers, which gantry's provider ort_ep runs on devices ORT:n (docs/onnxruntime-plugins.md)."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import gantry
from gantry.errors import Error, InvalidArgumentError, NotFoundError, UnavailableError

__all__ = ["register_execution_provider_library", "unregister_execution_provider_library"]

PLUGIN_TYPE = "ORT"
_PROVIDER = "ort_ep"
_libraries: dict[str, str] = {}  # paths by the names of their registrations


@dataclasses.dataclass(frozen=True)
class PluginDevice:
    """A device ORT:`id` of an execution provider. kind: "CPU", "GPU" or "NPU"."""

    ep_name: str
    kind: str
    id: int
    name: str
    uid: str


def register_execution_provider_library(registration_name: str, library_path: str | os.PathLike[str]) -> None:
    """Opens a library of plugin execution providers. get_ep_devices() has its devices, and sessions take its providers by their names.

    Before the first session that uses such a device: from then on the process keeps the libraries that it has. Raises InvalidArgumentError: the name
    is taken; NotFoundError: no such file; UnavailableError: too late; Error: it is no such library, or fails.

    >>> register_execution_provider_library("openvino", onnxruntime_ep_openvino.get_library_path())
    """
    if registration_name in _libraries:
        raise InvalidArgumentError(f'execution provider library "{registration_name}": expected a name of its own; it is registered, with {_libraries[registration_name]}')
    path = os.path.abspath(library_path)
    if not os.path.isfile(path):
        raise NotFoundError(f'execution provider library "{registration_name}": {path} is no file')
    if _open_rows():
        raise UnavailableError(f'execution provider library "{registration_name}": expected to be registered before the first session on a device of such a library, '
                               "as the process keeps those that were opened then")
    _libraries[registration_name] = path
    try:
        for row in _rows():
            if row.state == "blocked" and row.name == path:
                raise Error(f'execution provider library "{registration_name}": {row.reason}')
    except BaseException:
        del _libraries[registration_name]
        raise


def unregister_execution_provider_library(registration_name: str) -> None:
    """Takes a registration back. If a session has used a device of such a library, the libraries stay open as long as the process.

    InvalidArgumentError: there is none of this name.
    """
    if registration_name not in _libraries:
        raise InvalidArgumentError(f'execution provider library "{registration_name}": it is not registered; registered are {", ".join(sorted(_libraries)) or "none"}')
    del _libraries[registration_name]


def are_registered() -> bool:
    """Whether there are libraries, those that a configuration names left out."""
    return bool(_libraries)


def config(ep_options: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, Any]:
    """gantry's configuration that opens the registered libraries. ep_options: by the name of the execution provider."""
    options: dict[str, Any] = {"libraries": list(_libraries.values())} if _libraries else {}
    if ep_options:
        options["ep_options"] = {name: dict(own) for name, own in ep_options.items()}
    return {"options": {_PROVIDER: options}}


def plugin_devices() -> list[PluginDevice]:
    """What is ready, in the order of the libraries."""
    devices = []
    for row in _rows():
        if row.state == "ready":
            ep_name, kind, _ = row.uid.rsplit("/", 2)
            devices.append(PluginDevice(ep_name, kind, row.id, row.name, row.uid))
    return devices


def find_plugin(ep_name: str, device_id: Any) -> PluginDevice | None:
    """The device ORT:device_id if it is of this execution provider; without a number the first one; None: there is none."""
    return next((device for device in plugin_devices() if device.ep_name == ep_name and (device_id is None or str(device_id) == str(device.id))), None)


def _open_rows() -> list[gantry.Device]:
    """Those with which the process keeps the provider open."""
    return [row for row in gantry.devices() if row.type == PLUGIN_TYPE]


def _rows() -> list[gantry.Device]:
    rows = _open_rows()
    if rows or not _libraries:
        return rows
    return [row for row in gantry.devices({"providers": config()}) if row.type == PLUGIN_TYPE]
