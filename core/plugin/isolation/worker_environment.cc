// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/worker_environment.h"

#include <algorithm>

#include "base/names.h"

namespace gantry {
namespace {

constexpr const char* kNames[] = {
    "PATH", "HOME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "XDG_CACHE_HOME",
    // The C library and its loader; sanitizers.
    "LD_*", "MALLOC_*", "GLIBC_TUNABLES", "?SAN_OPTIONS", "UBSAN_OPTIONS",
    // gantry and the libraries of its providers.
    "GANTRY_*", "OMP_*", "GOMP_*", "KMP_*", "TBB_*", "MKL_*", "OPENBLAS_*", "ONEDNN_*", "DNNL_*",
    "CUDA_*", "CUDNN_*", "CUBLAS*", "NVIDIA_*", "NVRTC_*"};

}  // namespace

bool is_for_sandbox(std::string_view name, const std::vector<std::string>& more) {
  const auto meets = [&](std::string_view pattern) { return matches_pattern(pattern, name); };
  return std::any_of(std::begin(kNames), std::end(kNames), meets) ||
         std::any_of(more.begin(), more.end(), meets);
}

}  // namespace gantry
