// SPDX-License-Identifier: Apache-2.0
// NVRTC, opened at run time, with a disk cache: CUDA C++ in, machine code for an architecture out.
// Any number of threads at once, because every call has an NVRTC program of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/shared_library.h"

namespace gantry::cuda {

#define GANTRY_CUDA_COMPILER_FUNCTIONS(X)                                            \
  X(error_string, nvrtcGetErrorString, const char*, (int))                           \
  X(version, nvrtcVersion, int, (int*, int*))                                        \
  X(architecture_count, nvrtcGetNumSupportedArchs, int, (int*))                      \
  X(architectures, nvrtcGetSupportedArchs, int, (int*))                              \
  X(create, nvrtcCreateProgram, int,                                                 \
    (void**, const char*, const char*, int, const char* const*, const char* const*)) \
  X(destroy, nvrtcDestroyProgram, int, (void**))                                     \
  X(compile, nvrtcCompileProgram, int, (void*, int, const char* const*))             \
  X(code_size, nvrtcGetCUBINSize, int, (void*, size_t*))                             \
  X(code, nvrtcGetCUBIN, int, (void*, char*))                                        \
  X(ptx_size, nvrtcGetPTXSize, int, (void*, size_t*))                                \
  X(ptx, nvrtcGetPTX, int, (void*, char*))                                           \
  X(log_size, nvrtcGetProgramLogSize, int, (void*, size_t*))                         \
  X(log, nvrtcGetProgramLog, int, (void*, char*))

/// The library's functions; 0 is success.
struct CompilerFunctions {
  GANTRY_CUDA_COMPILER_FUNCTIONS(GANTRY_CUDA_MEMBER)
  /// Looks all of them up; returns the exported name of the first that the library lacks, or null.
  [[nodiscard]] const char* find_in(const SharedLibrary& library) {
    const char* missing = nullptr;
    GANTRY_CUDA_COMPILER_FUNCTIONS(GANTRY_CUDA_FIND)
    return missing;
  }
};

class Compiler {
 public:
  /// `driver_version`: the driver cannot load code of a newer compiler. `cache_folder`: empty:
  /// caching is off.
  Compiler(const LibrarySearch& search, int driver_version, std::string cache_folder);

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable, in one sentence without a final stop; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Compiles a source for a compute capability (10 * major + minor), or takes it from the cache.
  /// The code is what cuModuleLoadData takes: a cubin, or PTX for devices newer than the compiler.
  /// UNAVAILABLE: no compiler. INTERNAL: the source has an error.
  [[nodiscard]] std::string compile(const std::string& source, int capability) const;

 private:
  std::string load(const LibrarySearch& search, int driver_version);
  [[nodiscard]] std::string architecture_option(int capability) const;
  [[nodiscard]] std::string run(const std::string& source,
                                const std::vector<std::string>& options) const;
  [[nodiscard]] std::string text_of(void* program, int (*size)(void*, size_t*),
                                    int (*get)(void*, char*)) const;

  std::string cache_folder_;
  CompilerFunctions functions_;
  std::string version_;             // "13.0"
  std::vector<int> architectures_;  // ascending
  std::string reason_;              // declared after the members that load() fills in
};

}  // namespace gantry::cuda
