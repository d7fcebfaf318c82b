// SPDX-License-Identifier: Apache-2.0
// Matmuls by cuBLASLt, which is opened at run time: descriptions of matmuls, autotuning of the
// library's algorithms on the device at hand, and calls. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/variants.h"
#include "compile/code_cache.h"
#include "driver/shared_library.h"
#include "libraries/cublaslt_api.h"

namespace gantry::cuda {

class Device;
class Stream;

/// The activation of a matmul's epilogue. cuBLASLt has all of them but kGelu (by the error
/// function).
enum class MatmulActivation : uint8_t { kNone, kRelu, kGeluTanh, kGelu };

/// A batched matmul, y = activation(alpha a b + beta c + bias), of row-major matrices. a: [m, k],
/// b: [k, n], c and y: [m, n], bias: [n].
struct MatmulShape {
  uint32_t dtype = 0;         ///< gantry_dtype of all operands: a float type
  uint32_t result_dtype = 0;  ///< of c and y; 0: the same
  int64_t m = 0, n = 0, k = 0;
  bool a_is_transposed = false;  ///< stored as [k, m]
  bool b_is_transposed = false;  ///< stored as [n, k]
  int64_t batch = 1;
  int64_t a_batch_stride = 0, b_batch_stride = 0;  ///< in elements
  int64_t y_batch_stride = 0;                      ///< of c and y; 0: the matrices are dense
  /// Leading dimensions in elements, of a, of b, and of c and y; 0: dense.
  int64_t a_row = 0, b_row = 0, y_row = 0;
  double alpha = 1;
  double beta = 0;  ///< 0: c is not read
  bool has_bias = false;
  bool rounds_to_tf32 = false;  ///< f32 operands may be rounded to TF32
  MatmulActivation activation = MatmulActivation::kNone;

  /// Tuning key: the shape and everything else that the choice of an algorithm depends on.
  [[nodiscard]] std::string text() const;
  /// Keys of the families that the shape belongs to: one with m left out, one with n, one with k.
  [[nodiscard]] std::vector<std::string> families() const;
};

/// Alignment in bytes of every address of a matmul; algorithms are asked for with it.
constexpr uint32_t kBlasAlignment = 16;
/// Size of the workspace that algorithms may use.
constexpr uint64_t kBlasWorkspaceBytes = uint64_t{32} << 20;

/// Names of the library that a driver can run, newest first.
std::vector<std::string> blas_libraries(const Driver& driver);

class Blas {
 public:
  /// Opens the library for one device. Requires the device's context to be the thread's.
  Blas(const Device& device, const LibrarySearch& search, std::string cache_folder);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Whether the library has an algorithm for the shape. The answer is cached; the first "no" for a
  /// shape logs a warning. Alpha and beta do not matter.
  bool supports(const MatmulShape& shape);

  /// Enqueues a matmul on the stream. Requires supports(shape). The first run of each shape times
  /// the library's algorithms, which waits for the device, and caches the fastest in memory and on
  /// disk. Of a family of shapes (see MatmulShape::families) only the first kMostMatmulVariants are
  /// timed; later ones take the algorithm that the library ranks first. Pointers are device
  /// addresses, multiples of kBlasAlignment; `c` and `bias` may be null if the shape does not use
  /// them; y must not alias an input. DEVICE_ERROR.
  void run(const MatmulShape& shape, Stream& stream, const void* a, const void* b, const void* c,
           const void* bias, void* y, void* workspace);

 private:
  struct Matmul;
  struct Operands;

  std::string load(const LibrarySearch& search);
  Matmul& matmul_of(const MatmulShape& shape);
  int describe(const MatmulShape& shape, Matmul& matmul) const;
  int find_algorithms(const MatmulShape& shape, Matmul& matmul) const;
  void choose(Matmul& matmul, Stream& stream, const Operands& operands);
  [[nodiscard]] std::string key_of(const MatmulShape& shape) const;
  int call(const Matmul& matmul, const BlasAlgorithm& algorithm, Stream& stream,
           const Operands& operands) const;
  void require(int status, const char* what) const;

  const Device& device_;
  CodeCache cache_;
  BlasFunctions functions_;
  void* handle_ = nullptr;
  size_t version_ = 0;
  sdk::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Matmul>> matmuls_
      GANTRY_GUARDED_BY(mutex_);                 // by tuning key
  Variants variants_ GANTRY_GUARDED_BY(mutex_);  // of matmuls
  std::string reason_;                           // declared after the members that load() fills in
};

}  // namespace gantry::cuda
