// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "stream.h"

namespace gantry::cuda {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr int kTimedRuns = 5;

int type_of(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_DOUBLE:
      return kBlasDouble;
    case GANTRY_FLOAT16:
      return kBlasHalf;
    case GANTRY_BFLOAT16:
      return kBlasBfloat;
    default:
      return kBlasFloat;
  }
}

}  // namespace

std::string ProductShape::text() const {
  std::string text = std::to_string(dtype) + (a_is_transposed ? "T" : "N") +
                     (b_is_transposed ? "T" : "N") + (has_bias ? "b" : "") + (has_relu ? "r" : "") +
                     (beta != 0 ? "c" : "") + (alpha != 1 ? "a" : "");
  if (result_dtype != 0 && result_dtype != dtype) text += "y" + std::to_string(result_dtype);
  for (const int64_t number : {m, n, k, batch, a_batch_stride, b_batch_stride})
    text += "," + std::to_string(number);
  return text;
}

struct Blas::Functions {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  size_t (*version)() = nullptr;
  const char* (*status_name)(int) = nullptr;
  int (*layout_create)(void**, int, uint64_t, uint64_t, int64_t) = nullptr;
  int (*layout_destroy)(void*) = nullptr;
  int (*layout_set)(void*, int, const void*, size_t) = nullptr;
  int (*product_create)(void**, int, int) = nullptr;
  int (*product_destroy)(void*) = nullptr;
  int (*product_set)(void*, int, const void*, size_t) = nullptr;
  int (*preference_create)(void**) = nullptr;
  int (*preference_destroy)(void*) = nullptr;
  int (*preference_set)(void*, int, const void*, size_t) = nullptr;
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, BlasHeuristic*,
                   int*) = nullptr;
  int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                  const void*, void*, void*, void*, const BlasAlgorithm*, void*, size_t,
                  StreamHandle) = nullptr;
};

// What the library wants to know of a product. Its matrices have their columns one behind the
// other, so it is told of the transposed product, y' = b' a', whose matrices lie as ours do.
struct Blas::Product {
  explicit Product(const Functions& table) : functions(table) {}
  ~Product() {
    for (void* layout : {left, right, result}) {
      if (layout) functions.layout_destroy(layout);
    }
    if (description) functions.product_destroy(description);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const Functions& functions;
  void* description = nullptr;
  void* left = nullptr;    // b
  void* right = nullptr;   // a
  void* result = nullptr;  // c and y
  bool is_double = false;
  bool has_bias = false;
  double alpha = 1;
  double beta = 0;
  BlasAlgorithm algorithm;
};

struct Blas::Operands {
  const void* a;
  const void* b;
  const void* c;
  const void* bias;
  void* y;
  void* workspace;
};

Blas::Blas(const Device& device, const LibrarySearch& search, bool uses_tf32,
           std::string cache_folder)
    : device_(device),
      uses_tf32_(uses_tf32),
      cache_(std::move(cache_folder)),
      functions_(std::make_unique<Functions>()),
      reason_(load(search)) {}

Blas::~Blas() {
  products_.clear();
  if (handle_) functions_->destroy(handle_);
}

std::string Blas::load(const LibrarySearch& search) {
  std::vector<std::string> names;
  for (int major = std::max(12, device_.driver.version() / 1000); major >= 12; --major)
    names.push_back("libcublasLt.so." + std::to_string(major));
  const SharedLibrary library = search.open(names);
  if (!library.is_open()) return "cuBLASLt cannot be opened: " + library.reason();
  Functions& f = *functions_;
  const bool is_whole = library.find("cublasLtCreate", f.create) &&
                        library.find("cublasLtDestroy", f.destroy) &&
                        library.find("cublasLtGetVersion", f.version) &&
                        library.find("cublasLtGetStatusName", f.status_name) &&
                        library.find("cublasLtMatrixLayoutCreate", f.layout_create) &&
                        library.find("cublasLtMatrixLayoutDestroy", f.layout_destroy) &&
                        library.find("cublasLtMatrixLayoutSetAttribute", f.layout_set) &&
                        library.find("cublasLtMatmulDescCreate", f.product_create) &&
                        library.find("cublasLtMatmulDescDestroy", f.product_destroy) &&
                        library.find("cublasLtMatmulDescSetAttribute", f.product_set) &&
                        library.find("cublasLtMatmulPreferenceCreate", f.preference_create) &&
                        library.find("cublasLtMatmulPreferenceDestroy", f.preference_destroy) &&
                        library.find("cublasLtMatmulPreferenceSetAttribute", f.preference_set) &&
                        library.find("cublasLtMatmulAlgoGetHeuristic", f.heuristic) &&
                        library.find("cublasLtMatmul", f.multiply);
  if (!is_whole) return library.path() + " is not the cuBLASLt that is expected under this name";
  version_ = f.version();
  const int status = f.create(&handle_);
  if (status != 0) {
    handle_ = nullptr;
    return std::string("cuBLASLt does not start: ") + f.status_name(status);
  }
  return {};
}

void Blas::require(int status, const char* what) const {
  if (status == 0) return;
  throw sdk::Error(GANTRY_DEVICE_ERROR,
                   device_.name() + ": cuBLASLt, " + what + ": " + functions_->status_name(status));
}

void Blas::run(const ProductShape& shape, Stream& stream, const void* a, const void* b,
               const void* c, const void* bias, void* y, void* workspace) {
  const Operands operands{a, b, c, bias, y, workspace};
  Product& product = product_of(shape, stream, operands);
  require(call(product, product.algorithm, stream, operands), "a product");
}

Blas::Product& Blas::product_of(const ProductShape& shape, Stream& stream,
                                const Operands& operands) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The factors alpha and beta are the product's own, though no algorithm is chosen by them.
  std::unique_ptr<Product>& found = products_[shape.text() + "|" + std::to_string(shape.alpha) +
                                              "|" + std::to_string(shape.beta)];
  if (found) return *found;
  const Functions& f = *functions_;
  auto product = std::make_unique<Product>(f);
  product->is_double = shape.dtype == GANTRY_DOUBLE;
  product->has_bias = shape.has_bias;
  product->alpha = shape.alpha;
  product->beta = shape.beta;
  const int type = type_of(shape.dtype);
  const int result = shape.result_dtype == 0 ? type : type_of(shape.result_dtype);
  const int compute = product->is_double                          ? kCompute64
                      : shape.dtype == GANTRY_FLOAT && uses_tf32_ ? kComputeTf32
                                                                  : kCompute32;
  require(f.product_create(&product->description, compute,
                           product->is_double ? kBlasDouble : kBlasFloat),
          "describing a product");
  const auto set = [&](int attribute, int value) {
    require(f.product_set(product->description, attribute, &value, sizeof(value)),
            "describing a product");
  };
  set(kProductTransposeA, shape.b_is_transposed ? 1 : 0);
  set(kProductTransposeB, shape.a_is_transposed ? 1 : 0);
  const int epilogue = (shape.has_bias ? kEpilogueBias : 0) | (shape.has_relu ? kEpilogueRelu : 0);
  if (epilogue != 0) set(kProductEpilogue, epilogue);
  const auto layout = [&](void*& out, int64_t rows, int64_t columns, int64_t stride, int element) {
    require(f.layout_create(&out, element, static_cast<uint64_t>(rows),
                            static_cast<uint64_t>(columns), rows),
            "describing a matrix");
    if (shape.batch == 1) return;
    const auto count = static_cast<int32_t>(shape.batch);
    require(f.layout_set(out, kLayoutBatchCount, &count, sizeof(count)), "describing a batch");
    require(f.layout_set(out, kLayoutBatchStride, &stride, sizeof(stride)), "describing a batch");
  };
  layout(product->left, shape.b_is_transposed ? shape.k : shape.n,
         shape.b_is_transposed ? shape.n : shape.k, shape.b_batch_stride, type);
  layout(product->right, shape.a_is_transposed ? shape.m : shape.k,
         shape.a_is_transposed ? shape.k : shape.m, shape.a_batch_stride, type);
  layout(product->result, shape.n, shape.m, shape.m * shape.n, result);
  choose(shape, *product, stream, operands);
  found = std::move(product);
  return *found;
}

void Blas::choose(const ProductShape& shape, Product& product, Stream& stream,
                  const Operands& operands) {
  const std::string key =
      CodeCache::key_of("cublaslt-1|" + std::to_string(version_) + "|" + device_.facts.name +
                        (uses_tf32_ ? "|tf32|" : "|") + shape.text());
  std::string kept;
  if (cache_.load(key, kept) && kept.size() == sizeof(product.algorithm)) {
    std::memcpy(&product.algorithm, kept.data(), kept.size());
    return;
  }
  const Functions& f = *functions_;
  void* preference = nullptr;
  require(f.preference_create(&preference), "asking for algorithms");
  const uint64_t most = kBlasWorkspaceBytes;
  std::array<BlasHeuristic, kMostAlgorithms> offered{};
  int count = 0;
  int status = f.preference_set(preference, kPreferenceWorkspace, &most, sizeof(most));
  if (status == 0) {
    status = f.heuristic(handle_, product.description, product.left, product.right, product.result,
                         product.result, preference, kMostAlgorithms, offered.data(), &count);
  }
  f.preference_destroy(preference);
  require(status, "asking for algorithms");
  float best = std::numeric_limits<float>::infinity();
  for (int i = 0; i < count; ++i) {
    const BlasHeuristic& one = offered[static_cast<size_t>(i)];
    if (one.state != 0) continue;
    const float time = time_of(product, one.algorithm, stream, operands);
    if (time >= best) continue;
    best = time;
    product.algorithm = one.algorithm;
  }
  if (best == std::numeric_limits<float>::infinity()) {
    throw sdk::Error(GANTRY_UNSUPPORTED,
                     device_.name() + ": cuBLASLt has no algorithm for " + shape.text());
  }
  const char* bytes = reinterpret_cast<const char*>(&product.algorithm);
  cache_.store(key, std::string(bytes, sizeof(product.algorithm)));
}

// Milliseconds; infinite: it does not run.
float Blas::time_of(const Product& product, const BlasAlgorithm& algorithm, Stream& stream,
                    const Operands& operands) const {
  const Driver& driver = device_.driver;
  EventHandle begin = nullptr;
  EventHandle end = nullptr;
  float time = std::numeric_limits<float>::infinity();
  if (driver.event_create(&begin, 0) == kSuccess && driver.event_create(&end, 0) == kSuccess &&
      call(product, algorithm, stream, operands) == 0) {
    driver.event_record(begin, stream.handle());
    for (int run = 0; run < kTimedRuns; ++run) call(product, algorithm, stream, operands);
    driver.event_record(end, stream.handle());
    if (driver.event_synchronize(end) != kSuccess ||
        driver.event_elapsed(&time, begin, end) != kSuccess)
      time = std::numeric_limits<float>::infinity();
  }
  if (begin) driver.event_destroy(begin);
  if (end) driver.event_destroy(end);
  return time;
}

int Blas::call(const Product& product, const BlasAlgorithm& algorithm, Stream& stream,
               const Operands& operands) const {
  if (product.has_bias) {
    const int status = functions_->product_set(product.description, kProductBias, &operands.bias,
                                               sizeof(operands.bias));
    if (status != 0) return status;
  }
  const auto alpha = static_cast<float>(product.alpha);
  const auto beta = static_cast<float>(product.beta);
  const void* factors[] = {&alpha, &beta};
  if (product.is_double) {
    factors[0] = &product.alpha;
    factors[1] = &product.beta;
  }
  return functions_->multiply(
      handle_, product.description, factors[0], operands.b, product.left, operands.a, product.right,
      factors[1], operands.c ? operands.c : operands.y, product.result, operands.y, product.result,
      &algorithm, operands.workspace, kBlasWorkspaceBytes, stream.handle());
}

}  // namespace gantry::cuda
