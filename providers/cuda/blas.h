// SPDX-License-Identifier: Apache-2.0
// Products of matrices by cuBLASLt, opened at run time: what the library is asked for, which of its
// algorithms is fastest on the device at hand, and the call. Types and numbers are those of the
// library's binary interface.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "blas_api.h"
#include "code_cache.h"
#include "shared_library.h"
#include "variants.h"

namespace gantry::cuda {

class Device;
class Stream;

/// What is done to a product's elements last; all but kGelu (by the error function) the library can
/// do.
enum class ProductActivation : uint8_t { kNone, kRelu, kGeluTanh, kGelu };

/// y = activation(alpha a b + beta c + bias) of matrices whose rows lie one behind the other, for
/// each of a batch. a: [m, k], b: [k, n], c and y: [m, n], bias: [n].
struct ProductShape {
  uint32_t dtype = 0;         ///< gantry_dtype of all of them: a float type
  uint32_t result_dtype = 0;  ///< of c and y; 0: the same
  int64_t m = 0, n = 0, k = 0;
  bool a_is_transposed = false;  ///< lies in memory as [k, m]
  bool b_is_transposed = false;  ///< lies in memory as [n, k]
  int64_t batch = 1;
  int64_t a_batch_stride = 0, b_batch_stride = 0;  ///< in elements
  int64_t y_batch_stride = 0;                      ///< of c and y; 0: the matrices lie dense
  /// Elements from a row as it lies in memory to the next, 0: dense; of b, c and y likewise.
  int64_t a_row = 0, b_row = 0, y_row = 0;
  double alpha = 1;
  double beta = 0;  ///< 0: c is not read
  bool has_bias = false;
  bool rounds_to_tf32 = false;  ///< factors of f32 may be rounded to 10 bits of fraction
  ProductActivation activation = ProductActivation::kNone;

  /// Names the shape and all else that an algorithm is chosen by.
  [[nodiscard]] std::string text() const;
  /// Names what it has in common with shapes of another m, of another n, and of another k.
  [[nodiscard]] std::vector<std::string> families() const;
};

/// What the addresses of a product are multiples of; the library is told so.
constexpr uint32_t kBlasAlignment = 16;
/// Scratch memory that algorithms may use.
constexpr uint64_t kBlasWorkspaceBytes = uint64_t{32} << 20;

/// Names of the library for a driver, newest first.
std::vector<std::string> blas_libraries(const Driver& driver);

class Blas {
 public:
  /// The library for one device; the device's context is the thread's.
  Blas(const Device& device, const LibrarySearch& search, std::string cache_folder);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Whether the library has an algorithm for it, which is found out once, and warned of if not.
  /// Alpha and beta do not matter.
  bool supports(const ProductShape& shape);

  /// Runs a product on the stream. Requires supports(shape). The first of each shape tries
  /// algorithms, and waits for the device; its choice is kept, also on disk. Of shapes that have
  /// two of m, n and k in common only the first few are tried so, the others run by the algorithm
  /// that the library puts first. Pointers are of the device and multiples of kBlasAlignment; `c`
  /// and `bias` may be null if the shape says so; y is none of the others. DEVICE_ERROR.
  void run(const ProductShape& shape, Stream& stream, const void* a, const void* b, const void* c,
           const void* bias, void* y, void* workspace);

 private:
  struct Product;
  struct Operands;

  std::string load(const LibrarySearch& search);
  Product& product_of(const ProductShape& shape);
  int describe(const ProductShape& shape, Product& product) const;
  int find_algorithms(const ProductShape& shape, Product& product) const;
  void choose(Product& product, Stream& stream, const Operands& operands);
  [[nodiscard]] std::string key_of(const ProductShape& shape) const;
  int call(const Product& product, const BlasAlgorithm& algorithm, Stream& stream,
           const Operands& operands) const;
  void require(int status, const char* what) const;

  const Device& device_;
  CodeCache cache_;
  BlasFunctions functions_;
  void* handle_ = nullptr;
  size_t version_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Product>> products_;  // by the shape's text
  Variants variants_;                                         // of products
  std::string reason_;                                        // after what load() fills in
};

}  // namespace gantry::cuda
