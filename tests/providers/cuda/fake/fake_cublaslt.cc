// SPDX-License-Identifier: Apache-2.0
// A fake libcublasLt: column-major matmuls in double on the fake driver's streams, as the interface
// defines them. It offers two algorithms, which compute the same.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "enqueue.h"
#include "numbers.h"

using namespace gantry::test;  // NOLINT(google-build-using-namespace): all of it is its own

namespace {

struct Layout {
  int type;
  int64_t rows, columns, leading;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct Product {
  int transpose_a = 0, transpose_b = 0, epilogue = 1;
  int compute, scale_type;
  const void* bias = nullptr;
};

constexpr int kOk = 0;
constexpr int kInvalid = 7;
constexpr int kRelu = 2;
constexpr int kBias = 4;
constexpr int kGelu = 32;
constexpr int kUnsupported = 15;
constexpr int kComputeTf32 = 77;

// The alignments that the caller promises to the heuristic; the default is 256 bytes.
struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = 7;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};  // of A, B, C, D
};

// Rounded to TF32's 10 bits of fraction.
double to_tf32(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

Number number_of(int type) {
  return type == 0   ? Number::kFloat
         : type == 1 ? Number::kDouble
         : type == 2 ? Number::kHalf
                     : Number::kBfloat;
}

struct Work {
  Product product;
  Layout a, b, c, d;
  const void *a_data, *b_data, *c_data;
  void* d_data;
  double alpha, beta;

  // Operand `layout` of batch entry n as [inner, outer] numbers, of which each is read many times.
  [[nodiscard]] std::vector<double> factors(const void* data, const Layout& layout,
                                            bool is_inner_first, int64_t n, int64_t inner,
                                            int64_t outer) const {
    std::vector<double> result;
    result.reserve(static_cast<size_t>(inner * outer));
    for (int64_t k = 0; k < inner; ++k) {
      for (int64_t i = 0; i < outer; ++i) {
        const int64_t at = is_inner_first ? i * layout.leading + k : k * layout.leading + i;
        const double exact = read(data, number_of(layout.type), n * layout.stride + at);
        result.push_back(product.compute == kComputeTf32 ? to_tf32(exact) : exact);
      }
    }
    return result;
  }

  void run() const {
    const int64_t inner = product.transpose_a != 0 ? a.rows : a.columns;
    const auto rows = static_cast<size_t>(d.rows);
    std::vector<double> sums(rows);
    for (int64_t n = 0; n < d.batch; ++n) {
      const auto left = factors(a_data, a, product.transpose_a != 0, n, inner, d.rows);
      const auto right = factors(b_data, b, product.transpose_b == 0, n, inner, d.columns);
      for (int64_t column = 0; column < d.columns; ++column) {
        std::fill(sums.begin(), sums.end(), 0);
        for (int64_t k = 0; k < inner; ++k) {
          const double factor = right[static_cast<size_t>(k * d.columns + column)];
          const double* of_rows = left.data() + k * d.rows;
          for (size_t row = 0; row < rows; ++row) sums[row] += of_rows[row] * factor;
        }
        for (int64_t row = 0; row < d.rows; ++row) {
          double sum = sums[static_cast<size_t>(row)];
          sum *= alpha;
          const int64_t at = column * d.leading + row;
          if (beta != 0) sum += beta * read(c_data, number_of(c.type), n * c.stride + at);
          if ((product.epilogue & kBias) != 0) sum += read(product.bias, number_of(d.type), row);
          if ((product.epilogue & kRelu) != 0 && sum < 0) sum = 0;
          if ((product.epilogue & kGelu) != 0) {
            sum = 0.5 * sum *
                  (1 + std::tanh(0.79788456080286536 * (sum + 0.044715 * sum * sum * sum)));
          }
          write(d_data, number_of(d.type), n * d.stride + at, sum);
        }
      }
    }
  }
};

template <class T>
int set(T& member, const void* value, size_t size) {
  if (size != sizeof(member)) return kInvalid;
  std::memcpy(&member, value, size);
  return kOk;
}

int algorithms_tried = 0;

// The supported types of the library's documentation: f32 accumulation except for double, and no
// epilogue for double.
int check(const Product& product, const Layout& a, const Layout& b, const Layout& d) {
  const bool is_double = product.compute == 70;
  if (product.scale_type != (is_double ? 1 : 0)) return kInvalid;
  if ((a.type == 1) != is_double || a.type != b.type || (d.type != a.type && d.type != 0))
    return kUnsupported;
  if (product.compute == kComputeTf32 && a.type != 0) return kUnsupported;
  if (is_double && product.epilogue != 1) return kUnsupported;
  if ((product.epilogue & kBias) != 0 && !product.bias) return kUnsupported;
  const int64_t inner = product.transpose_a != 0 ? a.rows : a.columns;
  const int64_t other = product.transpose_b != 0 ? b.columns : b.rows;
  return inner == other && a.batch == d.batch && b.batch == d.batch ? kOk : kInvalid;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int gantry_fake_matmuls() { return algorithms_tried; }

EXPORT int cublasLtCreate(void** handle) {
  static int handles;
  *handle = &handles;
  return kOk;
}
EXPORT int cublasLtDestroy(void*) {
  if (driver_has_ended()) std::abort();  // because the real library would crash
  return kOk;
}
EXPORT size_t cublasLtGetVersion() { return 130000; }
EXPORT const char* cublasLtGetStatusName(int) { return "CUBLAS_STATUS_OF_THE_TESTS"; }
EXPORT int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t leading) {
  *layout = new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading};
  return kOk;
}
EXPORT int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return kOk;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                            size_t size) {
  auto& to = *static_cast<Layout*>(layout);
  if (attribute == 5) return set(to.batch, value, size);
  return attribute == 6 ? set(to.stride, value, size) : kInvalid;
}
EXPORT int cublasLtMatmulDescCreate(void** product, int compute, int scale_type) {
  if (compute != 68 && compute != 70 && compute != kComputeTf32) return kInvalid;
  *product = new Product{0, 0, 1, compute, scale_type};
  return kOk;
}
EXPORT int cublasLtMatmulDescDestroy(void* product) {
  delete static_cast<Product*>(product);
  return kOk;
}
EXPORT int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value,
                                          size_t size) {
  auto& to = *static_cast<Product*>(product);
  if (attribute == 3) return set(to.transpose_a, value, size);
  if (attribute == 4) return set(to.transpose_b, value, size);
  if (attribute == 7) return set(to.epilogue, value, size);
  return attribute == 8 ? set(to.bias, value, size) : kInvalid;
}
EXPORT int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new Preference;
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<Preference*>(preference);
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                                size_t size) {
  auto& to = *static_cast<Preference*>(preference);
  if (attribute == 1) return set(to.workspace_bytes, value, size);
  if (attribute == 3) return set(to.reductions, value, size);
  if (attribute < 5 || attribute > 8) return kInvalid;
  return set(to.alignments.at(static_cast<size_t>(attribute) - 5), value, size);
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void* product, void* a, void* b, void*, void* d,
                                          void* preference, int most, void* results, int* count) {
  *count = 0;
  if (const int status = check(*static_cast<Product*>(product), *static_cast<Layout*>(a),
                               *static_cast<Layout*>(b), *static_cast<Layout*>(d));
      status != kOk)
    return status;
  const auto& wanted = *static_cast<Preference*>(preference);
  // An algorithm stores the promised alignments, which are checked here.
  uint64_t promised = 256;
  for (const uint32_t one : wanted.alignments) promised = std::min<uint64_t>(promised, one);
  struct Result {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  };
  *count = most < 2 ? most : 2;
  for (int i = 0; i < *count; ++i) {
    static_cast<Result*>(results)[i] = {
        {uint64_t(i) + 1, promised, wanted.workspace_bytes}, 0, 0, 1, {}};
  }
  ++algorithms_tried;
  return kOk;
}
EXPORT int cublasLtMatmul(void*, void* product, const void* alpha, const void* a, void* a_layout,
                          const void* b, void* b_layout, const void* beta, const void* c,
                          void* c_layout, void* d, void* d_layout, const uint64_t* algorithm,
                          void* workspace, size_t workspace_bytes, void* stream) {
  if (!algorithm || algorithm[0] == 0 || !workspace || workspace_bytes < algorithm[2] ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kInvalid;
  for (const void* one : {a, b, c, static_cast<const void*>(d),
                          static_cast<const void*>(static_cast<Product*>(product)->bias)}) {
    if (reinterpret_cast<uintptr_t>(one) % algorithm[1] != 0) return kInvalid;
  }
  const auto& description = *static_cast<Product*>(product);
  const auto scale = [&](const void* value) {
    return read(value, number_of(description.scale_type), 0);
  };
  auto work = std::make_shared<Work>(
      Work{description, *static_cast<Layout*>(a_layout), *static_cast<Layout*>(b_layout),
           *static_cast<Layout*>(c_layout), *static_cast<Layout*>(d_layout), a, b, c, d,
           scale(alpha), scale(beta)});
  if (const int status = check(description, work->a, work->b, work->d); status != kOk)
    return status;
  enqueue(stream, work);
  return kOk;
}
// NOLINTEND(readability-identifier-naming)
