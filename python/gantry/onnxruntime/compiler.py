# SPDX-License-Identifier: Apache-2.0
"""ModelCompiler: writes a model as a session would run it. gantry keeps compiled kernels in a cache of its own, so the model has none."""

import enum
import os
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import gantry
from gantry.errors import InvalidArgumentError, UnavailableError, UnsupportedError
from gantry.onnxruntime.options import GraphOptimizationLevel, SessionOptions

__all__ = ["ModelCompiler", "OrtCompileApiFlags"]

_CHUNK_BYTES = 1 << 20


class OrtCompileApiFlags(enum.IntFlag):
    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class ModelCompiler:
    """Writes a model by gantry.write_optimized: no node becomes an EPContext node, so that every runtime loads what was written.

    embed_compiled_data_into_model: no effect. external_initializers_file_path: a file beside the written model for tensors of more than
    external_initializers_size_threshold bytes. flags: ERROR_IF_NO_NODES_COMPILED fails always. get_initializer_location_func: UnsupportedError.

    >>> ModelCompiler(SessionOptions(), "model.onnx").compile_to_file("model_ctx.onnx")
    """

    def __init__(
        self,
        sess_options: SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = OrtCompileApiFlags.NONE,
        graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: Callable[..., Any] | None = None,
    ) -> None:
        if not isinstance(input_model_path_or_bytes, (str, os.PathLike, bytes)):
            raise TypeError(f"ModelCompiler: expected a path or bytes, found a {type(input_model_path_or_bytes).__name__}")
        if not input_model_path_or_bytes:
            raise InvalidArgumentError("ModelCompiler: expected a model, found an empty path or no bytes")
        if get_initializer_location_func is not None:
            raise UnsupportedError("ModelCompiler: get_initializer_location_func; give external_initializers_file_path instead")
        self._model = input_model_path_or_bytes
        self._options = sess_options
        self._level = graph_optimization_level
        self._flags = OrtCompileApiFlags(flags)
        self._external_file = os.fspath(external_initializers_file_path or "")
        self._external_bytes = external_initializers_size_threshold

    def compile_to_file(self, output_model_path: str | os.PathLike[str] | None = None) -> None:
        """Writes the model; None: beside the one that was given, as NAME_ctx.onnx.

        Raises what gantry.write_optimized does; InvalidArgumentError: the file exists and flags forbid it, or there is no name for it.
        """
        if output_model_path is None and isinstance(self._model, bytes):
            raise InvalidArgumentError("compile_to_file: expected a path for the model, since it was given as bytes")
        source = pathlib.Path(os.fspath(self._model) if not isinstance(self._model, bytes) else "")
        target = pathlib.Path(output_model_path) if output_model_path is not None else source.with_name(f"{source.stem}_ctx.onnx")
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and target.exists():
            raise InvalidArgumentError(f"compile_to_file: {target} exists")
        self._write(target, self._external_name(target))

    def compile_to_bytes(self) -> bytes:
        """The model's bytes. Raises what compile_to_file does; InvalidArgumentError: external_initializers_file_path was given."""
        if self._external_file:
            raise InvalidArgumentError("compile_to_bytes: external_initializers_file_path lies beside a file, and here is none")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.onnx"
            self._write(file, "")
            return file.read_bytes()

    def compile_to_stream(self, write_function: Callable[[bytes], None]) -> None:
        """Gives the model's bytes to write_function, part by part. Raises what compile_to_bytes does."""
        content = self.compile_to_bytes()
        for begin in range(0, len(content), _CHUNK_BYTES):
            write_function(content[begin : begin + _CHUNK_BYTES])

    def _external_name(self, target: pathlib.Path) -> str:
        """The name of the external file, which write_optimized puts beside the model."""
        file = pathlib.Path(self._external_file)
        if file.parent not in (pathlib.Path(), target.parent) and file.parent.resolve() != target.parent.resolve():
            raise InvalidArgumentError(f"external_initializers_file_path: expected a file beside {target}, found {file}")
        return file.name

    def _write(self, file: pathlib.Path, external_file: str) -> None:
        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise UnavailableError("ModelCompiler: ERROR_IF_NO_NODES_COMPILED: gantry writes no EPContext nodes")
        config = self._options.config_at(self._level)
        gantry.write_optimized(self._model, file, config=config, initializers=self._options.initializers(), external_file=external_file,
                               external_bytes=self._external_bytes)
