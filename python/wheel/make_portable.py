# SPDX-License-Identifier: Apache-2.0
"""Makes the programs and libraries in a folder run elsewhere: FOLDER COMPAT OLD=NEW...

*With other libraries in the process.* Each library OLD that the files need lies in the folder as NEW, a name that nobody else uses. What its
symbols are versions of gets names of its own too where others may define the same (CXX_VERSIONS), and no symbol is one for the whole process
(GNU_UNIQUE).

*With an older C library than they were linked with.* A symbol of which the C library FLOOR has an older version, or none, is asked for without
a version: the dynamic linker then takes what there is. Its file needs the library COMPAT, in the folder, which defines those that FLOOR lacks
(glibc_compat.c). docs/decisions/0015-wheel.md says why.
"""

import dataclasses
import pathlib
import struct
import subprocess
import sys

from elftools.elf.elffile import ELFFile

FLOOR = (2, 27)
PARTS = ("libpthread.so.0", "libdl.so.2")  # of an older C library; from 2.34 on they are there, and empty
CXX_VERSIONS = {"GLIBCXX_": "GANTRYX_", "CXXABI_": "GANTRY_"}  # new names have the length of the old
UNVERSIONED = 1  # VER_NDX_GLOBAL
GLOBAL, GNU_UNIQUE = 1, 10  # STB_...


def is_newer(version: str) -> bool:
    """Of a version of the C library: whether FLOOR lacks it. GLIBC_PRIVATE and GLIBC_ABI_... count as newer: no other release has the same."""
    library, _, number = version.partition("_")
    if library != "GLIBC":
        return False
    parts = number.split(".")
    return not all(part.isdigit() for part in parts) or tuple(map(int, parts)) > FLOOR


def elf_hash(name: bytes) -> int:
    """The hash of a version's name (System V ABI)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


@dataclasses.dataclass
class Version:
    name: str
    index: int  # by which the file's symbols refer to it
    hash_at: int  # offset in the file
    name_at: int  # offset in the file, of the offset in the table of strings


class VersionedFile:
    """The versions that an ELF file needs (.gnu.version_r) and defines (.gnu.version_d), and which of its symbols has which (.gnu.version).
    Layouts: the Linux Standard Base, "Symbol Versioning"."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.data = bytearray(path.read_bytes())
        with path.open("rb") as file:
            sections = {section.name: section for section in ELFFile(file).iter_sections()}
            self.symbols = [(symbol.name, symbol["st_shndx"] == "SHN_UNDEF") for symbol in sections[".dynsym"].iter_symbols()]
        self.start = {name: section["sh_offset"] for name, section in sections.items()}
        self.needed = list(self._needed())
        self.defined = list(self._defined())

    def _version(self, index: int, hash_at: int, name_at: int) -> Version:
        begin = self.start[".dynstr"] + struct.unpack_from("<I", self.data, name_at)[0]
        return Version(self.data[begin:self.data.index(0, begin)].decode(), index, hash_at, name_at)

    def _needed(self):
        at = self.start.get(".gnu.version_r")
        while at is not None:
            _, count, _, first, following = struct.unpack_from("<HHIII", self.data, at)
            entry = at + first
            for _ in range(count):
                _, _, index, _, next_entry = struct.unpack_from("<IHHII", self.data, entry)
                yield self._version(index, entry, entry + 8)
                entry += next_entry
            at = at + following if following else None

    def _defined(self):
        at = self.start.get(".gnu.version_d")
        while at is not None:
            _, _, index, _, _, first, following = struct.unpack_from("<HHHHIII", self.data, at)
            yield self._version(index, at + 8, at + first)
            at = at + following if following else None

    def has_newer(self) -> bool:
        return any(is_newer(version.name) for version in self.needed)

    def newer_symbols(self) -> dict:
        """The undefined symbols of versions above FLOOR: name and offset of the index of its version."""
        newer = {version.index for version in self.needed if is_newer(version.name)}
        return {name: at for name, is_undefined, at in self._symbols() if is_undefined and self._index(at) in newer}

    def old_symbols(self) -> set:
        """What it defines in a version that FLOOR has, or in none."""
        newer = {version.index for version in self.defined if is_newer(version.name)}
        return {name for name, is_undefined, at in self._symbols() if not is_undefined and self._index(at) not in newer}

    def _symbols(self):
        for position, (name, is_undefined) in enumerate(self.symbols):
            yield name, is_undefined, self.start[".gnu.version"] + 2 * position if ".gnu.version" in self.start else None

    def _index(self, at: int | None) -> int:
        return UNVERSIONED if at is None else struct.unpack_from("<H", self.data, at)[0] & 0x7FFF  # without the bit that hides it

    def forget_newer(self) -> None:
        """Takes the versions above FLOOR from their symbols, and from the file: their entries name the architecture's first version instead,
        the oldest that a file names, which every part of every C library has."""
        for at in self.newer_symbols().values():
            struct.pack_into("<H", self.data, at, UNVERSIONED)
        old = [version for version in self.needed if version.name.startswith("GLIBC_") and not is_newer(version.name)]
        base = min(old, key=lambda version: [int(part) for part in version.name[len("GLIBC_"):].split(".")], default=None)
        for version in self.needed:
            if is_newer(version.name):
                if base is None or version.name.startswith("GLIBC_ABI"):
                    raise SystemExit(f"{self.path}: it needs {version.name}, for which nothing older stands.")
                for target, source in ((version.hash_at, base.hash_at), (version.name_at, base.name_at)):
                    self.data[target:target + 4] = self.data[source:source + 4]

    def rename_cxx_versions(self) -> None:
        for version in (*self.needed, *self.defined):
            for prefix, own in CXX_VERSIONS.items():
                if version.name.startswith(prefix):
                    name = version.name.replace(prefix, own).encode()
                    begin = self.start[".dynstr"] + struct.unpack_from("<I", self.data, version.name_at)[0]
                    self.data[begin:begin + len(name)] = name
                    struct.pack_into("<I", self.data, version.hash_at, elf_hash(name))

    def share_no_symbol(self) -> None:
        """Symbols with the binding GNU_UNIQUE become ordinary global ones. An Elf64_Sym has 24 bytes, the fifth for binding (high half) and type."""
        for position in range(len(self.symbols)):
            at = self.start[".dynsym"] + 24 * position + 4
            if self.data[at] >> 4 == GNU_UNIQUE:
                self.data[at] = GLOBAL << 4 | self.data[at] & 0xF

    def write(self) -> None:
        self.path.write_bytes(self.data)


def this_c_library() -> set:
    """What the C library of this process defines in versions that FLOOR has."""
    lines = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = {line.split()[-1] for line in lines if line.endswith(("/libc.so.6", "/libm.so.6"))}
    return set().union(*(VersionedFile(pathlib.Path(path)).old_symbols() for path in paths))


def patch(path: pathlib.Path, *options: str) -> None:
    subprocess.run(["patchelf", *options, path], stdin=subprocess.DEVNULL, check=True)


def is_elf(path: pathlib.Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def main(folder: pathlib.Path, compat_name: str, renamed: dict) -> None:
    files = {path.name: path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and is_elf(path)}
    old = this_c_library()
    supplied = VersionedFile(files[compat_name]).old_symbols()
    new_names = [option for old_name, name in renamed.items() for option in ("--replace-needed", old_name, name)]
    for name in renamed.values():
        patch(files[name], "--set-soname", name)
    for name, path in files.items():
        patch(path, *new_names)
        file = VersionedFile(path)
        if missing := sorted(file.newer_symbols().keys() - old - supplied):
            floor = ".".join(map(str, FLOOR))
            raise SystemExit(f"{path}: it needs {', '.join(missing)}, which glibc {floor} lacks and {compat_name} does not define. "
                             "Add it to python/wheel/glibc_compat.c.")
        if file.has_newer():
            for library in PARTS if name == compat_name else [compat_name]:
                patch(path, "--add-needed", library)
            file = VersionedFile(path)
            file.forget_newer()
        file.rename_cxx_versions()
        file.share_no_symbol()
        file.write()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], dict(pair.split("=") for pair in sys.argv[3:]))
