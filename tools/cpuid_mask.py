# SPDX-License-Identifier: Apache-2.0
"""Runs processes as if the CPU had fewer instruction sets, at full speed: gantry and its peers choose their kernels by what CPUID
answers, and an auditor of the dynamic linker (cpuid_mask.c) answers for it.

    environment("AVX2")    variables for such a process; its children are masked too

Not masked are programs that are linked statically, and what reads /proc/cpuinfo. An instruction that the other CPU lacks still runs:
that such are not used at all shows an emulator only (tools/test --emulate).
"""

import bisect
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess

from workspace import BUILD, PYTHON, ROOT, VENV, Failure

EAX, EBX, ECX, EDX = range(4)

# Of each feature the leaf, subleaf, register and bit (Intel SDM, volume 2, CPUID; AMD APM, volume 3, appendix E).
FEATURES = {
    "AVX512F": (7, 0, EBX, 16), "AVX512DQ": (7, 0, EBX, 17), "AVX512_IFMA": (7, 0, EBX, 21), "AVX512CD": (7, 0, EBX, 28),
    "AVX512BW": (7, 0, EBX, 30), "AVX512VL": (7, 0, EBX, 31),
    "AVX512_VBMI": (7, 0, ECX, 1), "AVX512_VBMI2": (7, 0, ECX, 6), "GFNI": (7, 0, ECX, 8), "VAES": (7, 0, ECX, 9),
    "VPCLMULQDQ": (7, 0, ECX, 10), "AVX512_VNNI": (7, 0, ECX, 11), "AVX512_BITALG": (7, 0, ECX, 12), "AVX512_VPOPCNTDQ": (7, 0, ECX, 14),
    "AVX512_VP2INTERSECT": (7, 0, EDX, 8), "AMX_BF16": (7, 0, EDX, 22), "AVX512_FP16": (7, 0, EDX, 23), "AMX_TILE": (7, 0, EDX, 24),
    "AMX_INT8": (7, 0, EDX, 25),
    "AVX_VNNI": (7, 1, EAX, 4), "AVX512_BF16": (7, 1, EAX, 5), "AMX_FP16": (7, 1, EAX, 21), "AVX_IFMA": (7, 1, EAX, 23),
    "AVX_VNNI_INT8": (7, 1, EDX, 4), "AVX_NE_CONVERT": (7, 1, EDX, 5), "AMX_COMPLEX": (7, 1, EDX, 8), "AVX_VNNI_INT16": (7, 1, EDX, 10),
    "AVX10": (7, 1, EDX, 19),
}

_NEWEST = ("AMX_TILE", "AMX_INT8", "AMX_BF16", "AMX_FP16", "AMX_COMPLEX", "AVX512_FP16", "AVX_IFMA", "AVX_VNNI_INT8", "AVX_VNNI_INT16",
           "AVX_NE_CONVERT", "AVX10")
_BF16 = (*_NEWEST, "AVX512_BF16", "AVX_VNNI", "AVX512_VP2INTERSECT")
_VNNI = (*_BF16, "AVX512_VNNI", "AVX512_VBMI", "AVX512_VBMI2", "AVX512_BITALG", "AVX512_VPOPCNTDQ", "AVX512_IFMA", "GFNI", "VAES", "VPCLMULQDQ")
_AVX512 = (*_VNNI, "AVX512F", "AVX512DQ", "AVX512CD", "AVX512BW", "AVX512VL")

# Levels by their names in ONEDNN_MAX_CPU_ISA, in falling order: the CPU that has just that, as QEMU names it, and what it lacks.
LEVELS = {
    "AVX512_CORE_BF16": ("Cooperlake", (*_NEWEST, "AVX_VNNI")),
    "AVX512_CORE_VNNI": ("Cascadelake-Server", _BF16),
    "AVX512_CORE": ("Skylake-Server", _VNNI),
    "AVX2_VNNI": ("SierraForest", tuple(name for name in _AVX512 if name != "AVX_VNNI")),
    "AVX2": ("Haswell", _AVX512),
}

# Packages of the environment that compute, and plugins of theirs for other devices than the CPU.
PACKAGES = ("numpy", "numpy.libs", "onnx", "onnxruntime", "openvino")
OTHER_DEVICES = ("gpu", "npu")
SYSTEM_LIBRARIES = ("libgcc_s.so.1", "libstdc++.so.6", "libgomp.so.1", "libtbb.so.12")
CODE = b"\x0f\xa2"
LONGEST = 17  # that instruction and the longest that could hold its bytes
PT_LOAD, PT_GNU_EH_FRAME, PF_X = 1, 0x6474E550, 1
ENCODINGS = b"\x03\x3b"  # of its count and table: unsigned, and pairs of signed offsets from its start, 4 bytes each
FOLDER = BUILD / "cpuid_mask"


def level_of(name: str) -> str:
    """The level with that name, or of the CPU with that name."""
    for level, (cpu, _) in LEVELS.items():
        if name in (level, cpu):
            return level
    raise Failure(f"there is no level or CPU \"{name}\"; there is {', '.join(f'{level} ({cpu})' for level, (cpu, _) in LEVELS.items())}")


def masks(level: str) -> dict:
    """Of each leaf and subleaf the bits that are kept, by register."""
    kept = {}
    for leaf, subleaf, register, bit in (FEATURES[name] for name in LEVELS[level][1]):
        kept.setdefault((leaf, subleaf), [0xFFFFFFFF] * 4)[register] &= ~(1 << bit)
    return kept


def objects() -> list:
    """The files whose code may ask: of the environment, the build, Python itself and the compiler's run-time."""
    packages = next((VENV / "lib").glob("python*")) / "site-packages"
    folders = [*(packages / name for name in PACKAGES), BUILD / "release"]
    found = {path.resolve() for folder in folders for path in folder.rglob("*") if is_loadable(path)}
    found = {path for path in found if not any(f"_{device}_" in path.name for device in OTHER_DEVICES)}
    found.add(PYTHON.resolve())
    found |= {path.resolve() for name in SYSTEM_LIBRARIES for path in pathlib.Path("/lib/x86_64-linux-gnu").glob(name)}
    return sorted(found)


def is_loadable(path: pathlib.Path) -> bool:
    """Whether that is a library or a program for x86-64, by its name and then by its header."""
    if not (".so" in path.name or os.access(path, os.X_OK)) or not path.is_file():
        return False
    with open(path, "rb") as file:
        header = file.read(20)
    return header[:4] == b"\x7fELF" and header[18:] == b"\x3e\x00"


def segments(data: bytes, kind: int) -> list:
    """Offset, address, size and flags of the segments of that kind (ELF-64, program headers)."""
    table, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * index) for index in range(count)]
    return [(offset, address, length, flags) for found, flags, offset, address, _, length in headers if found == kind]


def function_starts(data: bytes) -> list:
    """Rising addresses: the table of the frames' header (Linux Standard Base, section .eh_frame_hdr), as all compilers write it."""
    for offset, address, _, _ in segments(data, PT_GNU_EH_FRAME):
        if data[offset + 2:offset + 4] == ENCODINGS:
            count, = struct.unpack_from("<I", data, offset + 8)
            return [address + start for start, _ in struct.iter_unpack("<ii", data[offset + 12:offset + 12 + 8 * count])]
    return []


def instructions(path: pathlib.Path) -> list:
    """The addresses of its CPUID instructions, hexadecimal. The same two bytes inside other instructions are none, so each function that
    has them is disassembled: to do so with the whole file would take half a minute for the largest."""
    data = path.read_bytes()
    functions = function_starts(data)
    parts = {}  # the last place of the two bytes in a function, by the function's start
    for offset, address, length, flags in segments(data, PT_LOAD):
        if not flags & PF_X:
            continue
        starts = [address, *(start for start in functions if address < start < address + length)]
        place = data.find(CODE, offset, offset + length)
        while place >= 0:
            found = address + place - offset
            parts[starts[bisect.bisect_right(starts, found) - 1]] = found
            place = data.find(CODE, place + 1, offset + length)
    return [address for start, last in parts.items() for address in disassemble(path, start, last)]


def disassemble(path: pathlib.Path, start: int, last: int) -> list:
    """The addresses of the CPUID instructions from an instruction's start to `last`."""
    command = ["objdump", "--disassemble", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={last + LONGEST}", str(path)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as disassembler:  # line by line, if it is much
        lines = [line for line in disassembler.stdout if "\tcpuid" in line]
    if disassembler.returncode != 0:
        raise Failure(f"{' '.join(command)} ended with status {disassembler.returncode}")
    addresses = (line.partition(":")[0].strip() for line in lines)
    return [address for address in addresses if int(address, 16) <= last]


def instructions_of(files: list) -> dict:
    """Of each file its CPUID instructions. What was found is kept, by size and time of change."""
    kept_at = FOLDER / "instructions.json"
    kept = json.loads(kept_at.read_text(encoding="utf-8")) if kept_at.exists() else {}
    keys = {path: f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files}
    new = [path for path in files if keys[path] not in kept]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        kept.update(zip((keys[path] for path in new), pool.map(instructions, new)))
    put(kept_at, lambda path: path.write_text(json.dumps(kept), encoding="utf-8"))
    return {path: kept[keys[path]] for path in files}


def put(path: pathlib.Path, write):
    """Makes the file at once: processes that start meanwhile find the old one or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    write(new)
    new.replace(path)


def write_list(level: str, files: list, path: pathlib.Path):
    """What cpuid_mask.c reads."""
    lines = [f"mask {leaf:x} {subleaf:x} " + " ".join(f"{bits:x}" for bits in registers) for (leaf, subleaf), registers in masks(level).items()]
    for file, addresses in instructions_of(files).items():
        if addresses:
            lines += [f"object {file}", *(f"at {address}" for address in addresses)]
    put(path, lambda new: new.write_text("\n".join(lines) + "\n", encoding="utf-8"))


def environment(name: str, files=None) -> dict:
    """Variables of a process that is to see that level, or the CPU of that name. `files`: those whose code is masked, all if left out."""
    level = level_of(name)
    FOLDER.mkdir(parents=True, exist_ok=True)
    library, found = FOLDER / f"{level}.so", FOLDER / f"{level}.txt"  # which finds its list by its name
    command = ["gcc", "-O2", "-shared", "-fPIC", ROOT / "tools" / "cpuid_mask.c", "-o"]
    put(library, lambda new: subprocess.run([*command, new], stdin=subprocess.DEVNULL, check=True))
    write_list(level, objects() if files is None else files, found)
    return {"LD_AUDIT": str(library)}
