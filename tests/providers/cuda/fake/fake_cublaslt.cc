// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcublasLt: products by the letter of its interface, columns one behind the
// other, in double, on the stand-in driver's streams. It offers two algorithms and runs both the
// same way.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

struct Layout {
  int type;
  int64_t rows, columns, leading;
  int32_t batch = 1;
  int64_t stride = 0;
};

struct Product {
  int transpose_a = 0, transpose_b = 0, epilogue = 1;
  int scale_type;
  const void* bias = nullptr;
};

constexpr int kOk = 0;
constexpr int kInvalid = 7;
constexpr int kRelu = 2;
constexpr int kBias = 4;

// Floats of 16 bits: a sign, 5 bits of exponent, 10 of fraction.
double widened(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double size = exponent == 0   ? std::ldexp(fraction, -24)
                      : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                      : fraction == 0 ? HUGE_VAL
                                      : std::nan("");
  return (bits & 0x8000) != 0 ? -size : size;
}

uint16_t narrowed(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  const int exponent = std::max(size > 0 ? std::ilogb(size) : -14, -14);
  const auto fraction = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A fraction that is rounded up to 2048 carries into the exponent by itself.
  const int bits = fraction < 1024 ? fraction : (exponent + 14) * 1024 + fraction;
  return static_cast<uint16_t>(sign | bits);
}

double read(const void* data, int type, int64_t at) {
  switch (type) {
    case 0:
      return static_cast<const float*>(data)[at];
    case 1:
      return static_cast<const double*>(data)[at];
    case 2:
      return widened(static_cast<const uint16_t*>(data)[at]);
    default: {
      const uint32_t bits = uint32_t{static_cast<const uint16_t*>(data)[at]} << 16;
      float wide = 0;
      std::memcpy(&wide, &bits, 4);
      return wide;
    }
  }
}

void write(void* data, int type, int64_t at, double value) {
  if (type == 0) static_cast<float*>(data)[at] = static_cast<float>(value);
  if (type == 1) static_cast<double*>(data)[at] = value;
  if (type == 2) static_cast<uint16_t*>(data)[at] = narrowed(value);
  if (type == 14) {
    const auto wide = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &wide, 4);
    static_cast<uint16_t*>(data)[at] =
        static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

struct Work {
  Product product;
  Layout a, b, c, d;
  const void *a_data, *b_data, *c_data;
  void* d_data;
  double alpha, beta;

  void run() const {
    const int64_t inner = product.transpose_a != 0 ? a.rows : a.columns;
    for (int64_t n = 0; n < d.batch; ++n) {
      for (int64_t column = 0; column < d.columns; ++column) {
        for (int64_t row = 0; row < d.rows; ++row) {
          double sum = 0;
          for (int64_t k = 0; k < inner; ++k) {
            const int64_t left =
                product.transpose_a != 0 ? row * a.leading + k : k * a.leading + row;
            const int64_t right =
                product.transpose_b != 0 ? k * b.leading + column : column * b.leading + k;
            sum += read(a_data, a.type, n * a.stride + left) *
                   read(b_data, b.type, n * b.stride + right);
          }
          sum *= alpha;
          const int64_t at = column * d.leading + row;
          if (beta != 0) sum += beta * read(c_data, c.type, n * c.stride + at);
          if ((product.epilogue & kBias) != 0) sum += read(product.bias, d.type, row);
          if ((product.epilogue & kRelu) != 0 && sum < 0) sum = 0;
          write(d_data, d.type, n * d.stride + at, sum);
        }
      }
    }
  }
};

// Of the stand-in driver that stands beside.
using Enqueue = void (*)(void* stream, void (*work)(void*), std::shared_ptr<void>* argument);
Enqueue find_enqueue() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&find_enqueue), &self) == 0) throw std::runtime_error("lost");
  std::string path = self.dli_fname;
  path = path.substr(0, path.rfind('/')) + "/libcuda.so.1";
  void* driver = dlopen(path.c_str(), RTLD_NOW);
  return reinterpret_cast<Enqueue>(dlsym(driver, "gantry_fake_enqueue"));
}

template <class T>
int set(T& member, const void* value, size_t size) {
  if (size != sizeof(member)) return kInvalid;
  std::memcpy(&member, value, size);
  return kOk;
}

int algorithms_tried = 0;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int gantry_fake_products() { return algorithms_tried; }

EXPORT int cublasLtCreate(void** handle) {
  static int handles;
  *handle = &handles;
  return kOk;
}
EXPORT int cublasLtDestroy(void*) { return kOk; }
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
  if (compute != 68 && compute != 70 && compute != 77) return kInvalid;
  *product = new Product{0, 0, 1, scale_type};
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
  *preference = new int(0);
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<int*>(preference);
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, size_t size) {
  return attribute == 1 && size == 8 ? kOk : kInvalid;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int most,
                                          void* results, int* count) {
  struct Result {
    uint64_t algorithm[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  };
  *count = most < 2 ? most : 2;
  for (int i = 0; i < *count; ++i)
    static_cast<Result*>(results)[i] = {{uint64_t(i) + 1}, 0, 0, 1, {}};
  ++algorithms_tried;
  return kOk;
}
EXPORT int cublasLtMatmul(void*, void* product, const void* alpha, const void* a, void* a_layout,
                          const void* b, void* b_layout, const void* beta, const void* c,
                          void* c_layout, void* d, void* d_layout, const uint64_t* algorithm,
                          void* workspace, size_t, void* stream) {
  if (!algorithm || algorithm[0] == 0 || !workspace) return kInvalid;
  const auto& description = *static_cast<Product*>(product);
  const auto scale = [&](const void* value) { return read(value, description.scale_type, 0); };
  auto work = std::make_shared<Work>(
      Work{description, *static_cast<Layout*>(a_layout), *static_cast<Layout*>(b_layout),
           *static_cast<Layout*>(c_layout), *static_cast<Layout*>(d_layout), a, b, c, d,
           scale(alpha), scale(beta)});
  const int64_t inner = description.transpose_a != 0 ? work->a.rows : work->a.columns;
  const int64_t other = description.transpose_b != 0 ? work->b.columns : work->b.rows;
  if (inner != other || work->a.batch != work->d.batch) return kInvalid;
  static const Enqueue enqueue = find_enqueue();
  std::shared_ptr<void> argument = work;
  enqueue(
      stream, [](void* one) { static_cast<Work*>(one)->run(); }, &argument);
  return kOk;
}
// NOLINTEND(readability-identifier-naming)
