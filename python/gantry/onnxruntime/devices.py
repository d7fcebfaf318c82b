# SPDX-License-Identifier: Apache-2.0
"""Devices as ONNX Runtime describes them, and its allocators, of which gantry has none to choose from."""

import dataclasses
import enum
import warnings
from typing import Any

from gantry.errors import InvalidArgumentError

__all__ = [
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
]

# ONNX Runtime's numbers of device types, and gantry's names of them. Other types of gantry's have none, and get that of a GPU.
_HOST, _GPU = 0, 1
_TYPES = {_HOST: "cpu", _GPU: "cuda", 3: "npu", 4: "dml"}


class NamedNumber(enum.IntEnum):
    """An enumeration of ONNX Runtime's: a number whose text is its name."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class OrtDevice:
    """A device of gantry by a type's name and a number: "cuda" and 1 is CUDA:1. Taken wherever a device_type is.

    >>> ortvalue = OrtValue.ortvalue_from_numpy(x, OrtDevice.make("cuda", 1))
    """

    def __init__(self, device_type: int, *numbers: int) -> None:
        """As OrtDevice(OrtDevice.cuda(), OrtDevice.default_memory(), device_id), the form of ONNX Runtime's C++ module."""
        if device_type not in _TYPES:
            numbers_of = ", ".join(f"{number} ({name})" for number, name in _TYPES.items())
            raise InvalidArgumentError(f"OrtDevice: expected a device type of {numbers_of}, found {device_type!r}; OrtDevice.make(name, device_id) takes any name")
        self.name: str = _TYPES[device_type]
        self._id: int = numbers[-1] if len(numbers) > 1 else 0

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> "OrtDevice":
        device = OrtDevice(_HOST)
        device.name, device._id = ort_device_name.lower(), device_id
        return device

    @staticmethod
    def cpu() -> int:
        return _HOST

    @staticmethod
    def cuda() -> int:
        return _GPU

    @staticmethod
    def npu() -> int:
        return 3

    @staticmethod
    def dml() -> int:
        return 4

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_id(self) -> int:
        return self._id

    def device_type(self) -> int:
        return next((number for number, name in _TYPES.items() if name == self.name), _GPU)

    def device_mem_type(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"OrtDevice({self.name}:{self._id})"


class OrtExecutionProviderDevicePolicy(NamedNumber):
    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtHardwareDeviceType(NamedNumber):
    CPU = 0
    GPU = 1
    NPU = 2


@dataclasses.dataclass(frozen=True)
class OrtHardwareDevice:
    """A device: `device_id` its number in gantry, `metadata` its name and identity."""

    type: OrtHardwareDeviceType
    vendor_id: int
    vendor: str
    device_id: int
    metadata: dict[str, str]


@dataclasses.dataclass(frozen=True)
class OrtEpDevice:
    """A device with the provider that InferenceSession's `providers` names it by."""

    ep_name: str
    ep_vendor: str
    ep_metadata: dict[str, str]
    ep_options: dict[str, str]
    device: OrtHardwareDevice


class OrtAllocatorType(NamedNumber):
    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(NamedNumber):
    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


@dataclasses.dataclass(frozen=True)
class OrtMemoryInfo:
    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType


class OrtArenaCfg:
    """The settings of an arena, of which gantry has none: it plans the memory of each session.

    >>> OrtArenaCfg({"max_mem": 1 << 30}); OrtArenaCfg(1 << 30, 0, -1, -1)
    """

    _NAMES = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk", "initial_growth_chunk_size_bytes",
              "max_power_of_two_extend_bytes")

    def __init__(self, *settings: Any) -> None:
        given = settings[0] if len(settings) == 1 and isinstance(settings[0], dict) else dict(zip(self._NAMES, settings, strict=False))
        if unknown := sorted(set(given) - set(self._NAMES)):
            raise InvalidArgumentError(f"OrtArenaCfg: expected {', '.join(self._NAMES)}, found {', '.join(unknown)}")
        for name in self._NAMES:
            setattr(self, name, int(given.get(name, 0 if name == "max_mem" else -1)))


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None = None) -> None:
    """Has no effect and warns if an arena was described: each session plans its own memory (session.memory_limit_bytes bounds it)."""
    if arena_cfg is not None:
        warnings.warn("gantry.onnxruntime: create_and_register_allocator has no effect; the configuration's session.memory_limit_bytes bounds the "
                      "memory of a session", UserWarning, stacklevel=2)


def create_and_register_allocator_v2(provider_type: str, mem_info: OrtMemoryInfo, options: dict[str, str], arena_cfg: OrtArenaCfg | None = None) -> None:
    """As create_and_register_allocator."""
    create_and_register_allocator(mem_info, arena_cfg)
