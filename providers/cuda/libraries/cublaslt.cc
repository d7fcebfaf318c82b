// SPDX-License-Identifier: Apache-2.0
#include "libraries/cublaslt.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "autotune/timing.h"
#include "driver/stream.h"

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

std::string MatmulShape::text() const {
  std::string text = std::to_string(dtype) + (a_is_transposed ? "T" : "N") +
                     (b_is_transposed ? "T" : "N") + (has_bias ? "b" : "") +
                     (activation == MatmulActivation::kRelu       ? "r"
                      : activation == MatmulActivation::kGeluTanh ? "g"
                                                                  : "") +
                     (beta != 0 ? "c" : "") + (alpha != 1 ? "a" : "") + (rounds_to_tf32 ? "t" : "");
  if (result_dtype != 0 && result_dtype != dtype) text += "y" + std::to_string(result_dtype);
  for (const int64_t number :
       {m, n, k, batch, a_batch_stride, b_batch_stride, y_batch_stride, a_row, b_row, y_row})
    text += "," + std::to_string(number);
  return text;
}

std::vector<std::string> MatmulShape::families() const {
  MatmulShape family;
  family.dtype = dtype;
  family.result_dtype = result_dtype;
  family.a_is_transposed = a_is_transposed;
  family.b_is_transposed = b_is_transposed;
  family.has_bias = has_bias;
  family.activation = activation;
  std::vector<std::string> families;
  for (int64_t MatmulShape::*const open : {&MatmulShape::m, &MatmulShape::n, &MatmulShape::k}) {
    family.m = m;
    family.n = n;
    family.k = k;
    family.*open = 0;
    families.push_back(family.text());
  }
  return families;
}

// A matmul as cuBLASLt describes it. Its matrices are column-major, so it gets the transposed
// matmul, y' = b' a', whose matrices have the layout of ours.
struct Blas::Matmul {
  explicit Matmul(const BlasFunctions& table) : functions(table) {}
  ~Matmul() {
    for (void* layout : {left, right, result}) {
      if (layout) functions.layout_destroy(layout);
    }
    if (description) functions.matmul_destroy(description);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  const BlasFunctions& functions;
  std::string text;  // of the shape
  std::string key;   // of the algorithm in the disk cache
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
  // Held while the description has the bias of a call, and while an algorithm is chosen.
  sdk::Mutex mutex;
  BlasAlgorithm algorithm GANTRY_GUARDED_BY(mutex);
  bool is_chosen GANTRY_GUARDED_BY(mutex) = false;
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
      variants_(kMostMatmulVariants),
      reason_(load(search)) {}

Blas::~Blas() {
  matmuls_.clear();
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

bool Blas::supports(const MatmulShape& shape) { return !matmul_of(shape).offered.empty(); }

void Blas::run(const MatmulShape& shape, Stream& stream, const void* a, const void* b,
               const void* c, const void* bias, void* y, void* workspace) {
  const Operands operands{a, b, c, bias, y, workspace};
  Matmul& matmul = matmul_of(shape);
  const sdk::MutexLock lock(matmul.mutex);
  if (!matmul.is_chosen) choose(matmul, stream, operands);
  require(call(matmul, matmul.algorithm, stream, operands), "a matmul");
}

Blas::Matmul& Blas::matmul_of(const MatmulShape& shape) {
  const sdk::MutexLock lock(mutex_);
  // alpha and beta are part of the matmul, though not of the tuning key. Their bits are taken,
  // because a decimal text would round them.
  std::unique_ptr<Matmul>& found =
      matmuls_[shape.text() + "|" + std::to_string(std::bit_cast<uint64_t>(shape.alpha)) + "|" +
               std::to_string(std::bit_cast<uint64_t>(shape.beta))];
  if (found) return *found;
  auto matmul = std::make_unique<Matmul>(functions_);
  matmul->text = shape.text();
  matmul->key = key_of(shape);
  matmul->is_worth_timing = variants_.is_one_of_the_first(shape.families());
  int status = describe(shape, *matmul);
  if (status == 0) status = find_algorithms(shape, *matmul);
  if (matmul->offered.empty()) {
    const std::string text = device_.name() + ": cuBLASLt has no algorithm for the matmul " +
                             matmul->text + " (" + functions_.status_name(status) +
                             "), so the provider's own kernel computes it";
    device_.host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  }
  found = std::move(matmul);
  return *found;
}

std::string Blas::key_of(const MatmulShape& shape) const {
  return CodeCache::key_of("cublaslt-2|" + std::to_string(version_) + "|" + device_.info.name +
                           "|" + shape.text());
}

// Returns the status of the first failure, or 0.
int Blas::describe(const MatmulShape& shape, Matmul& matmul) const {
  const BlasFunctions& f = functions_;
  matmul.is_double = shape.dtype == GANTRY_DOUBLE;
  matmul.has_bias = shape.has_bias;
  matmul.alpha = shape.alpha;
  matmul.beta = shape.beta;
  const int type = type_of(shape.dtype);
  const int result = shape.result_dtype == 0 ? type : type_of(shape.result_dtype);
  const int compute = matmul.is_double                                      ? kCompute64
                      : shape.dtype == GANTRY_FLOAT && shape.rounds_to_tf32 ? kComputeTf32
                                                                            : kCompute32;
  int status =
      f.matmul_create(&matmul.description, compute, matmul.is_double ? kBlasDouble : kBlasFloat);
  const auto set = [&](int attribute, const auto& value) {
    if (status == 0) status = f.matmul_set(matmul.description, attribute, &value, sizeof(value));
  };
  set(kMatmulTransposeA, shape.b_is_transposed ? 1 : 0);
  set(kMatmulTransposeB, shape.a_is_transposed ? 1 : 0);
  const int epilogue = (shape.has_bias ? kEpilogueBias : 0) |
                       (shape.activation == MatmulActivation::kRelu       ? kEpilogueRelu
                        : shape.activation == MatmulActivation::kGeluTanh ? kEpilogueGelu
                                                                          : 0);
  if (epilogue != 0) set(kMatmulEpilogue, epilogue);
  // The heuristic reads the alignment of the bias from its address; this one has the alignment that
  // is guaranteed.
  if (shape.has_bias) set(kMatmulBias, uint64_t{kBlasAlignment});
  // Our rows are the library's columns.
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
  layout(matmul.left, shape.b_is_transposed ? shape.k : shape.n,
         shape.b_is_transposed ? shape.n : shape.k, shape.b_row, shape.b_batch_stride, type);
  layout(matmul.right, shape.a_is_transposed ? shape.m : shape.k,
         shape.a_is_transposed ? shape.k : shape.m, shape.a_row, shape.a_batch_stride, type);
  layout(matmul.result, shape.n, shape.m, shape.y_row,
         shape.y_batch_stride == 0 ? shape.m * shape.n : shape.y_batch_stride, result);
  return status;
}

int Blas::find_algorithms(const MatmulShape& shape, Matmul& matmul) const {
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
  // 16-bit results: partial sums are not rounded before they are added.
  const bool is_half = shape.dtype == GANTRY_FLOAT16 || shape.dtype == GANTRY_BFLOAT16;
  if (is_half) prefer(kPreferenceReduction, kReduceWide);
  std::array<BlasHeuristic, kMostAlgorithms> offered{};
  int count = 0;
  if (status == 0) {
    status = f.heuristic(handle_, matmul.description, matmul.left, matmul.right, matmul.result,
                         matmul.result, preference, kMostAlgorithms, offered.data(), &count);
  }
  if (preference) f.preference_destroy(preference);
  if (status != 0) return status;
  for (int i = 0; i < count; ++i) {
    const BlasHeuristic& one = offered.at(static_cast<size_t>(i));
    if (one.state == 0) matmul.offered.push_back(one.algorithm);
  }
  return matmul.offered.empty() ? kBlasUnsupported : 0;
}

void Blas::choose(Matmul& matmul, Stream& stream, const Operands& operands)
    GANTRY_REQUIRES(matmul.mutex) {
  std::string stored;
  if (cache_.load(matmul.key, stored) && stored.size() == sizeof(matmul.algorithm)) {
    std::memcpy(&matmul.algorithm, stored.data(), stored.size());
    // Another version of the library may refuse the algorithm.
    matmul.is_chosen = call(matmul, matmul.algorithm, stream, operands) == 0;
    if (matmul.is_chosen) return;
  }
  std::vector<float> times;
  for (const BlasAlgorithm& one : matmul.offered) {
    if (!matmul.is_worth_timing) {
      matmul.algorithm = one;
      matmul.is_chosen = call(matmul, one, stream, operands) == 0;
      if (matmul.is_chosen) return;
      continue;
    }
    times.push_back(time_of(stream, [&] { return call(matmul, one, stream, operands); }));
  }
  const auto best = std::min_element(times.begin(), times.end());
  if (best != times.end()) log_times(device_, "cuBLASLt's " + matmul.text, times);
  if (best == times.end() || *best == std::numeric_limits<float>::infinity()) {
    throw sdk::Error(GANTRY_DEVICE_ERROR, device_.name() + ": none of cuBLASLt's " +
                                              std::to_string(matmul.offered.size()) +
                                              " algorithms runs for the matmul " + matmul.text +
                                              "; the provider's option own_kernels avoids them");
  }
  matmul.algorithm = matmul.offered[static_cast<size_t>(best - times.begin())];
  matmul.is_chosen = true;
  const char* bytes = reinterpret_cast<const char*>(&matmul.algorithm);
  cache_.store(matmul.key, std::string(bytes, sizeof(matmul.algorithm)));
}

int Blas::call(const Matmul& matmul, const BlasAlgorithm& algorithm, Stream& stream,
               const Operands& operands) const {
  if (matmul.has_bias) {
    const int status = functions_.matmul_set(matmul.description, kMatmulBias, &operands.bias,
                                             sizeof(operands.bias));
    if (status != 0) return status;
  }
  const auto alpha = static_cast<float>(matmul.alpha);
  const auto beta = static_cast<float>(matmul.beta);
  const void* factors[] = {&alpha, &beta};
  if (matmul.is_double) {
    factors[0] = &matmul.alpha;
    factors[1] = &matmul.beta;
  }
  return functions_.multiply(
      handle_, matmul.description, factors[0], operands.b, matmul.left, operands.a, matmul.right,
      factors[1], operands.c ? operands.c : operands.y, matmul.result, operands.y, matmul.result,
      &algorithm, operands.workspace, kBlasWorkspaceBytes, stream.handle());
}

}  // namespace gantry::cuda
