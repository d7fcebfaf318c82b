# SPDX-License-Identifier: Apache-2.0
"""Execution providers, as ONNX Runtime names them, and the devices of gantry that they stand for."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gantry
from gantry.errors import InvalidArgumentError
from gantry.onnxruntime.devices import OrtEpDevice, OrtHardwareDevice, OrtHardwareDeviceType
from gantry.onnxruntime.plugins import PLUGIN_TYPE, are_registered, find_plugin, plugin_devices
from gantry.onnxruntime.warning import warn

__all__ = ["get_all_providers", "get_available_providers", "get_device", "get_ep_devices"]

_SUFFIX = "ExecutionProvider"
HOST = "CPU" + _SUFFIX


@dataclasses.dataclass(frozen=True)
class Choice:
    """A provider that a session uses. device: "TYPE:id". plugin_options: of a plugin execution provider, else None."""

    name: str
    device: str
    plugin_options: dict[str, str] | None = None


def provider_of(device: str) -> str:
    """ "CUDAExecutionProvider" of "CUDA:1"."""
    return device.split(":", maxsplit=1)[0] + _SUFFIX


def _ready_devices() -> list[gantry.Device]:
    """Simulated ones left out, since programs pass lists of providers on unchanged; "SIMExecutionProvider" is accepted by name. Of several providers that
    serve a device the first one's row, which owns its memory."""
    rows: dict[tuple[str, int], gantry.Device] = {}
    for row in gantry.devices():
        if row.state == "ready" and not row.stand_in:
            rows.setdefault((row.type, row.id), row)
    return list(rows.values())


def get_available_providers() -> list[str]:
    """A name for each type of device that is ready, "CPUExecutionProvider" last. Plugin execution providers are among get_ep_devices() alone."""
    names = dict.fromkeys(provider_of(row.type) for row in _ready_devices() if row.type != PLUGIN_TYPE)
    return sorted(names, key=lambda name: name == HOST)


get_all_providers = get_available_providers


def get_device() -> str:
    """ "GPU" if a CUDA device is ready, else "CPU"."""
    return "GPU" if "CUDA" + _SUFFIX in get_available_providers() else "CPU"


def get_ep_devices() -> list[OrtEpDevice]:
    """Every device that is ready, those of registered libraries included. gantry's own devices other than the CPU are of the type GPU."""
    found = []
    for row in _ready_devices():
        if row.type == PLUGIN_TYPE:
            continue
        kind = OrtHardwareDeviceType.CPU if row.type == "CPU" else OrtHardwareDeviceType.GPU
        hardware = OrtHardwareDevice(kind, 0, "", row.id, {"name": row.name, "uid": row.uid})
        found.append(OrtEpDevice(provider_of(row.type), "", {}, {"device_id": str(row.id)}, hardware))
    for plugin in plugin_devices():
        hardware = OrtHardwareDevice(OrtHardwareDeviceType[plugin.kind], 0, "", plugin.id, {"name": plugin.name, "uid": plugin.uid})
        found.append(OrtEpDevice(plugin.ep_name, "", {}, {"device_id": str(plugin.id)}, hardware))
    return found


def requested(providers: Any, provider_options: Any) -> list[tuple[str, dict[str, Any]]]:
    """(name, options) of each requested provider, in order."""
    if providers is None:
        return []
    if isinstance(providers, str):
        providers = [providers]
    if not isinstance(providers, Sequence):
        raise InvalidArgumentError(f"providers: expected a list of names or of (name, options), found a {type(providers).__name__}")
    if provider_options is not None and len(provider_options) != len(providers):
        raise InvalidArgumentError(f"provider_options: expected one dict for each of the {len(providers)} providers, found "
                                   f"{len(provider_options)}")
    rows = []
    for index, item in enumerate(providers):
        name, options = (item, {}) if isinstance(item, str) else tuple(item) if isinstance(item, (tuple, list)) and len(item) == 2 else (None, {})
        if not isinstance(name, str) or not isinstance(options, Mapping):
            raise InvalidArgumentError(f"providers[{index}]: expected a name or (name, options), found {item!r}")
        rows.append((name, {**options, **(provider_options[index] if provider_options else {})}))
    return rows


def choose(name: str, options: Mapping[str, Any], is_quiet: bool) -> Choice | None:
    """What a requested provider stands for; None, and a warning, if nothing. A registered library's provider comes before gantry's own of that name."""
    own = {key: value for key, value in options.items() if key != "device_id"}
    device = f"{name.removesuffix(_SUFFIX)}:{options.get('device_id', 0)}"
    is_own = name.endswith(_SUFFIX) and gantry.supports_device(device)
    if are_registered() or not is_own:
        plugin = find_plugin(name, options.get("device_id"))
        if plugin:
            return Choice(name, f"{PLUGIN_TYPE}:{plugin.id}", {key: str(value) for key, value in own.items()})
    if own and not is_quiet:
        warn(f"{name}: no effect of the options {', '.join(sorted(own))}; gantry's own go into the configuration")
    if is_own:
        return Choice(name, device)
    warn(f"{name}: no device {device} is ready; available providers: {', '.join(get_available_providers())}")
    return None
