// SPDX-License-Identifier: Apache-2.0
#include "blas.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "stream.h"
#include "timing.h"

namespace gantry::cuda {
namespace {

constexpr int kMostAlgorithms = 8;

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

std::vector<std::string> blas_libraries(const Driver& driver) {
  std::vector<std::string> names;
  for (int major = std::max(12, driver.version() / 1000); major >= 12; --major)
    names.push_back("libcublasLt.so." + std::to_string(major));
  return names;
}

std::string ProductShape::text() const {
  std::string text = std::to_string(dtype) + (a_is_transposed ? "T" : "N") +
                     (b_is_transposed ? "T" : "N") + (has_bias ? "b" : "") +
                     (activation == ProductActivation::kRelu       ? "r"
                      : activation == ProductActivation::kGeluTanh ? "g"
                                                                   : "") +
                     (beta != 0 ? "c" : "") + (alpha != 1 ? "a" : "") + (rounds_to_tf32 ? "t" : "");
  if (result_dtype != 0 && result_dtype != dtype) text += "y" + std::to_string(result_dtype);
  for (const int64_t number :
       {m, n, k, batch, a_batch_stride, b_batch_stride, y_batch_stride, a_row, b_row, y_row})
    text += "," + std::to_string(number);
  return text;
}

std::vector<std::string> ProductShape::families() const {
  ProductShape family;
  family.dtype = dtype;
  family.result_dtype = result_dtype;
  family.a_is_transposed = a_is_transposed;
  family.b_is_transposed = b_is_transposed;
  family.has_bias = has_bias;
  family.activation = activation;
  std::vector<std::string> families;
  for (int64_t ProductShape::*const open : {&ProductShape::m, &ProductShape::n, &ProductShape::k}) {
    family.m = m;
    family.n = n;
    family.k = k;
    family.*open = 0;
    families.push_back(family.text());
  }
  return families;
}

// What the library wants to know of a product. Its matrices have their columns one behind the
// other, so it is told of the transposed product, y' = b' a', whose matrices lie as ours do.
struct Blas::Product {
  explicit Product(const BlasFunctions& table) : functions(table) {}
  ~Product() {
    for (void* layout : {left, right, result}) {
      if (layout) functions.layout_destroy(layout);
    }
    if (description) functions.product_destroy(description);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  const BlasFunctions& functions;
  std::string text;  // of the shape
  std::string key;   // of the choice on disk
  void* description = nullptr;
  void* left = nullptr;    // b
  void* right = nullptr;   // a
  void* result = nullptr;  // c and y
  bool is_double = false;
  bool has_bias = false;
  double alpha = 1;
  double beta = 0;
  std::vector<BlasAlgorithm> offered;
  bool is_worth_timing = true;
  // The description holds the bias of one call at a time, and the choice is made once.
  std::mutex mutex;
  BlasAlgorithm algorithm;
  bool is_chosen = false;
};

struct Blas::Operands {
  const void* a;
  const void* b;
  const void* c;
  const void* bias;
  void* y;
  void* workspace;
};

Blas::Blas(const Device& device, const LibrarySearch& search, std::string cache_folder)
    : device_(device),
      cache_(std::move(cache_folder)),
      variants_(kMostProductVariants),
      reason_(load(search)) {}

Blas::~Blas() {
  products_.clear();
  if (handle_) functions_.destroy(handle_);
}

std::string Blas::load(const LibrarySearch& search) {
  const SharedLibrary library = search.open(blas_libraries(device_.driver));
  if (!library.is_open()) return "cuBLASLt cannot be opened: " + library.reason();
  if (const char* missing = functions_.find_in(library)) {
    return library.path() +
           " is not the cuBLASLt that is expected under this name: it has no function " + missing;
  }
  version_ = functions_.version();
  const int status = functions_.create(&handle_);
  if (status != 0) {
    handle_ = nullptr;
    return std::string("cuBLASLt does not start: ") + functions_.status_name(status);
  }
  return {};
}

void Blas::require(int status, const char* what) const {
  if (status == 0) return;
  throw sdk::Error(GANTRY_DEVICE_ERROR,
                   device_.name() + ": cuBLASLt, " + what + ": " + functions_.status_name(status));
}

bool Blas::supports(const ProductShape& shape) { return !product_of(shape).offered.empty(); }

void Blas::run(const ProductShape& shape, Stream& stream, const void* a, const void* b,
               const void* c, const void* bias, void* y, void* workspace) {
  const Operands operands{a, b, c, bias, y, workspace};
  Product& product = product_of(shape);
  const std::lock_guard<std::mutex> lock(product.mutex);
  if (!product.is_chosen) choose(product, stream, operands);
  require(call(product, product.algorithm, stream, operands), "a product");
}

Blas::Product& Blas::product_of(const ProductShape& shape) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The factors alpha and beta are the product's own, though no algorithm is chosen by them. Their
  // bits, as small ones differ in digits that a text would leave out.
  std::unique_ptr<Product>& found =
      products_[shape.text() + "|" + std::to_string(std::bit_cast<uint64_t>(shape.alpha)) + "|" +
                std::to_string(std::bit_cast<uint64_t>(shape.beta))];
  if (found) return *found;
  auto product = std::make_unique<Product>(functions_);
  product->text = shape.text();
  product->key = key_of(shape);
  product->is_worth_timing = variants_.is_one_of_the_first(shape.families());
  int status = describe(shape, *product);
  if (status == 0) status = find_algorithms(shape, *product);
  if (product->offered.empty()) {
    const std::string text = device_.name() + ": cuBLASLt has no algorithm for the product " +
                             product->text + " (" + functions_.status_name(status) +
                             "), it goes to the provider's own kernel";
    device_.host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  }
  found = std::move(product);
  return *found;
}

std::string Blas::key_of(const ProductShape& shape) const {
  return CodeCache::key_of("cublaslt-2|" + std::to_string(version_) + "|" + device_.facts.name +
                           "|" + shape.text());
}

// Answers the status of what failed first, or 0.
int Blas::describe(const ProductShape& shape, Product& product) const {
  const BlasFunctions& f = functions_;
  product.is_double = shape.dtype == GANTRY_DOUBLE;
  product.has_bias = shape.has_bias;
  product.alpha = shape.alpha;
  product.beta = shape.beta;
  const int type = type_of(shape.dtype);
  const int result = shape.result_dtype == 0 ? type : type_of(shape.result_dtype);
  const int compute = product.is_double                                     ? kCompute64
                      : shape.dtype == GANTRY_FLOAT && shape.rounds_to_tf32 ? kComputeTf32
                                                                            : kCompute32;
  int status =
      f.product_create(&product.description, compute, product.is_double ? kBlasDouble : kBlasFloat);
  const auto set = [&](int attribute, const auto& value) {
    if (status == 0) status = f.product_set(product.description, attribute, &value, sizeof(value));
  };
  set(kProductTransposeA, shape.b_is_transposed ? 1 : 0);
  set(kProductTransposeB, shape.a_is_transposed ? 1 : 0);
  const int epilogue = (shape.has_bias ? kEpilogueBias : 0) |
                       (shape.activation == ProductActivation::kRelu       ? kEpilogueRelu
                        : shape.activation == ProductActivation::kGeluTanh ? kEpilogueGelu
                                                                           : 0);
  if (epilogue != 0) set(kProductEpilogue, epilogue);
  // Algorithms are offered by what the bias is aligned to, for which this address stands.
  if (shape.has_bias) set(kProductBias, uint64_t{kBlasAlignment});
  // Rows of ours are columns of the library's.
  const auto layout = [&](void*& out, int64_t rows, int64_t columns, int64_t from_row_to_row,
                          int64_t stride, int element) {
    if (status != 0) return;
    status =
        f.layout_create(&out, element, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                        from_row_to_row == 0 ? rows : from_row_to_row);
    if (shape.batch == 1 || status != 0) return;
    const auto count = static_cast<int32_t>(shape.batch);
    status = f.layout_set(out, kLayoutBatchCount, &count, sizeof(count));
    if (status == 0) status = f.layout_set(out, kLayoutBatchStride, &stride, sizeof(stride));
  };
  layout(product.left, shape.b_is_transposed ? shape.k : shape.n,
         shape.b_is_transposed ? shape.n : shape.k, shape.b_row, shape.b_batch_stride, type);
  layout(product.right, shape.a_is_transposed ? shape.m : shape.k,
         shape.a_is_transposed ? shape.k : shape.m, shape.a_row, shape.a_batch_stride, type);
  layout(product.result, shape.n, shape.m, shape.y_row,
         shape.y_batch_stride == 0 ? shape.m * shape.n : shape.y_batch_stride, result);
  return status;
}

int Blas::find_algorithms(const ProductShape& shape, Product& product) const {
  const BlasFunctions& f = functions_;
  void* preference = nullptr;
  int status = f.preference_create(&preference);
  const auto prefer = [&](int attribute, const auto& value) {
    if (status == 0) status = f.preference_set(preference, attribute, &value, sizeof(value));
  };
  prefer(kPreferenceWorkspace, kBlasWorkspaceBytes);
  for (const int matrix :
       {kPreferenceAlignmentA, kPreferenceAlignmentB, kPreferenceAlignmentC, kPreferenceAlignmentD})
    prefer(matrix, kBlasAlignment);
  // Of 16-bit results no part is rounded before all are added.
  const bool is_half = shape.dtype == GANTRY_FLOAT16 || shape.dtype == GANTRY_BFLOAT16;
  if (is_half) prefer(kPreferenceReduction, kReduceWide);
  std::array<BlasHeuristic, kMostAlgorithms> offered{};
  int count = 0;
  if (status == 0) {
    status = f.heuristic(handle_, product.description, product.left, product.right, product.result,
                         product.result, preference, kMostAlgorithms, offered.data(), &count);
  }
  if (preference) f.preference_destroy(preference);
  if (status != 0) return status;
  for (int i = 0; i < count; ++i) {
    const BlasHeuristic& one = offered.at(static_cast<size_t>(i));
    if (one.state == 0) product.offered.push_back(one.algorithm);
  }
  return product.offered.empty() ? kBlasUnsupported : 0;
}

void Blas::choose(Product& product, Stream& stream, const Operands& operands) {
  std::string kept;
  if (cache_.load(product.key, kept) && kept.size() == sizeof(product.algorithm)) {
    std::memcpy(&product.algorithm, kept.data(), kept.size());
    // A driver of another version may not take it any more.
    product.is_chosen = call(product, product.algorithm, stream, operands) == 0;
    if (product.is_chosen) return;
  }
  std::vector<float> times;
  for (const BlasAlgorithm& one : product.offered) {
    if (!product.is_worth_timing) {
      product.algorithm = one;
      product.is_chosen = call(product, one, stream, operands) == 0;
      if (product.is_chosen) return;
      continue;
    }
    times.push_back(time_of(stream, [&] { return call(product, one, stream, operands); }));
  }
  const auto best = std::min_element(times.begin(), times.end());
  if (best != times.end()) tell_times(device_, "cuBLASLt's " + product.text, times);
  if (best == times.end() || *best == std::numeric_limits<float>::infinity()) {
    throw sdk::Error(GANTRY_DEVICE_ERROR, device_.name() + ": none of cuBLASLt's " +
                                              std::to_string(product.offered.size()) +
                                              " algorithms runs for the product " + product.text +
                                              "; the provider's option own_kernels avoids them");
  }
  product.algorithm = product.offered[static_cast<size_t>(best - times.begin())];
  product.is_chosen = true;
  const char* bytes = reinterpret_cast<const char*>(&product.algorithm);
  cache_.store(product.key, std::string(bytes, sizeof(product.algorithm)));
}

int Blas::call(const Product& product, const BlasAlgorithm& algorithm, Stream& stream,
               const Operands& operands) const {
  if (product.has_bias) {
    const int status = functions_.product_set(product.description, kProductBias, &operands.bias,
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
  return functions_.multiply(
      handle_, product.description, factors[0], operands.b, product.left, operands.a, product.right,
      factors[1], operands.c ? operands.c : operands.y, product.result, operands.y, product.result,
      &algorithm, operands.workspace, kBlasWorkspaceBytes, stream.handle());
}

}  // namespace gantry::cuda
