// SPDX-License-Identifier: Apache-2.0
// Holds the promise that a run of a known shape with bound outputs allocates nothing in core or
// provider: this executable's malloc and operator new count, and everything in the process calls
// them. What oneDNN and TBB allocate for themselves, a table of a primitive's arguments above all,
// is counted apart.
#include <gantry/gantry.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "onnx/messages/proto.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GANTRY_COUNTS_ALLOCATIONS 0  // the sanitizer's malloc stands in the same place
#else
#define GANTRY_COUNTS_ALLOCATIONS 1
#endif

namespace {

std::atomic<bool> is_counting = false;
std::atomic<uint64_t> allocations = 0;
std::atomic<uint64_t> allocations_of_libraries = 0;

bool is_librarys(const void* caller) {
  Dl_info info = {};
  if (dladdr(caller, &info) == 0) return false;
  const std::string_view file = info.dli_fname;
  // The dynamic linker's: what a worker has of its own, made when it first takes part in a run.
  return file.find("onednn_dnnl") != std::string_view::npos ||
         file.find("libtbb") != std::string_view::npos ||
         file.find("ld-linux") != std::string_view::npos;
}

[[maybe_unused]] void note(const void* caller) {
  if (!is_counting.load(std::memory_order_relaxed)) return;
  ++(is_librarys(caller) ? allocations_of_libraries : allocations);
}

}  // namespace

#if GANTRY_COUNTS_ALLOCATIONS

// glibc's own, under the names by which it lets others replace malloc.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

__attribute__((visibility("default"))) void* malloc(size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  note(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* block, size_t size) {
  note(__builtin_return_address(0));
  return __libc_realloc(block, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** block, size_t alignment,
                                                          size_t size) {
  note(__builtin_return_address(0));
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}
}

// The other forms of new call these; deletion frees.
__attribute__((visibility("default"))) void* operator new(size_t size) {
  note(__builtin_return_address(0));
  if (void* block = __libc_malloc(size)) return block;
  throw std::bad_alloc();
}
__attribute__((visibility("default"))) void* operator new(size_t size, std::align_val_t alignment) {
  note(__builtin_return_address(0));
  if (void* block = __libc_memalign(static_cast<size_t>(alignment), size)) return block;
  throw std::bad_alloc();
}

#endif

namespace gantry {
namespace {

/// A small model in the making, float32 throughout.
class ModelBuilder {
 public:
  ModelBuilder() {
    model_.set_ir_version(10);
    model_.add_opset_import()->set_version(21);
    model_.mutable_graph()->set_name("allocation_test");
  }
  /// An extent of -1 gets the name "n".
  void input(const std::string& name, const std::vector<int64_t>& shape) {
    describe(*model_.mutable_graph()->add_input(), name, shape);
  }
  void output(const std::string& name, const std::vector<int64_t>& shape) {
    describe(*model_.mutable_graph()->add_output(), name, shape);
  }
  void weight(const std::string& name, const std::vector<int64_t>& shape) {
    onnx::TensorProto& tensor = constant(name, shape, onnx::TensorProto::FLOAT);
    for (int64_t i = 0; i < element_count(shape); ++i) {
      tensor.add_float_data(static_cast<float>(i % 7) / 7 - 0.4f);
    }
  }
  void integers(const std::string& name, const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor =
        constant(name, {static_cast<int64_t>(values.size())}, onnx::TensorProto::INT64);
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  onnx::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op_type);
    node.set_name(outputs.front());
    for (const std::string& name : inputs) node.add_input(name);
    for (const std::string& name : outputs) node.add_output(name);
    return node;
  }
  [[nodiscard]] std::string bytes() const { return model_.SerializeAsString(); }

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name,
                       const std::vector<int64_t>& shape) {
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : shape) {
      auto& dim = *type.mutable_shape()->add_dim();
      if (extent < 0) {
        dim.set_dim_param("n");
      } else {
        dim.set_dim_value(extent);
      }
    }
  }
  onnx::TensorProto& constant(const std::string& name, const std::vector<int64_t>& shape,
                              onnx::TensorProto::DataType type) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int64_t extent : shape) tensor.add_dims(extent);
    return tensor;
  }

  onnx::ModelProto model_;
};

void set_ints(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

/// A small image classifier with shape arithmetic: convolution, pooling, a Reshape to a computed
/// shape, a matrix product, a softmax. x: [n, 3, 8, 8] -> y: [n, 10].
std::string classifier() {
  ModelBuilder model;
  model.input("x", {-1, 3, 8, 8});
  model.output("y", {-1, 10});
  model.weight("filters", {4, 3, 3, 3});
  model.weight("matrix", {64, 10});
  model.weight("bias", {10});
  model.integers("first", {0});
  model.integers("rest", {-1});
  set_ints(model.node("Conv", {"x", "filters"}, {"convolved"}), "pads", {1, 1, 1, 1});
  model.node("Relu", {"convolved"}, {"positive"});
  onnx::NodeProto& pool = model.node("MaxPool", {"positive"}, {"pooled"});
  set_ints(pool, "kernel_shape", {2, 2});
  set_ints(pool, "strides", {2, 2});
  model.node("Shape", {"pooled"}, {"shape"});
  model.node("Gather", {"shape", "first"}, {"batch"});
  onnx::NodeProto& concat = model.node("Concat", {"batch", "rest"}, {"flat_shape"});
  onnx::AttributeProto& axis = *concat.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(0);
  model.node("Reshape", {"pooled", "flat_shape"}, {"flat"});
  model.node("MatMul", {"flat", "matrix"}, {"product"});
  model.node("Add", {"product", "bias"}, {"scores"});
  model.node("Softmax", {"scores"}, {"y"});
  return model.bytes();
}

/// What the kernels of `x86` are many of: convolutions of several kinds, element-wise nodes in
/// sets, attention. x: [1, 16, 16, 16] -> y: [1, 16, 16].
std::string kernels_of_x86() {
  ModelBuilder model;
  model.input("x", {1, 16, 16, 16});
  model.output("y", {1, 16, 16});
  model.weight("filters", {16, 16, 3, 3});
  model.weight("depthwise", {16, 1, 3, 3});
  model.weight("matrix", {256, 16});
  model.integers("rows", {1, 16, 256});
  set_ints(model.node("Conv", {"x", "filters"}, {"a"}), "pads", {1, 1, 1, 1});
  model.node("Relu", {"a"}, {"b"});
  onnx::NodeProto& conv = model.node("Conv", {"b", "depthwise"}, {"c"});
  set_ints(conv, "pads", {1, 1, 1, 1});
  onnx::AttributeProto& group = *conv.add_attribute();
  group.set_name("group");
  group.set_type(onnx::AttributeProto::INT);
  group.set_i(16);
  model.node("Add", {"c", "x"}, {"d"});
  model.node("Tanh", {"d"}, {"e"});
  model.node("Mul", {"e", "c"}, {"f"});
  model.node("Reshape", {"f", "rows"}, {"g"});
  model.node("MatMul", {"g", "matrix"}, {"h"});
  model.node("Gelu", {"h"}, {"query"});
  set_ints(model.node("Transpose", {"h"}, {"key"}), "perm", {0, 2, 1});
  model.node("MatMul", {"query", "key"}, {"scores"});
  model.node("Softmax", {"scores"}, {"weights"});
  model.node("MatMul", {"weights", "h"}, {"y"});
  return model.bytes();
}

constexpr const char* kSkipped = "a sanitizer has the place of malloc";

/// Allocations of that many runs, without those of the libraries.
void begin_counting() {
  allocations = 0;
  allocations_of_libraries = 0;
  is_counting = true;
}

// A provider may go on for a while with what it began when it compiled, beside the first runs. Runs
// come between this and counting, so that workers that slept are awake again.
void await_rest() {
  constexpr std::chrono::milliseconds kRest{30};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    begin_counting();
    std::this_thread::sleep_for(kRest);
    is_counting = false;
  } while (allocations + allocations_of_libraries > 0 && std::chrono::steady_clock::now() < end);
}

uint64_t count(Binding& binding, int runs) {
  begin_counting();
  for (int i = 0; i < runs; ++i) binding.run();
  is_counting = false;
  return allocations;
}

class Allocation : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!GANTRY_COUNTS_ALLOCATIONS) GTEST_SKIP() << kSkipped;
  }
  static SessionOptions with_threads(int threads) {
    SessionOptions options;
    options.config_json = R"({"session": {"threads": )" + std::to_string(threads) + "}}";
    return options;
  }
};

TEST(AllocationCounter, CountsWhatCallsMalloc) {
  if (!GANTRY_COUNTS_ALLOCATIONS) GTEST_SKIP() << kSkipped;
  allocations = 0;
  is_counting = true;
  std::free(std::malloc(1));
  delete new volatile int(0);
  std::free(std::aligned_alloc(64, 64));
  is_counting = false;
  EXPECT_EQ(allocations, 3u);
}

void run_classifier(const RuntimeOptions& options, const SessionOptions& session_options) {
  const std::string bytes = classifier();
  Runtime runtime(options);
  Session session(runtime, {std::as_bytes(std::span(bytes)), {}}, session_options);
  Binding binding(session);
  binding.input("x", Tensor(DType::kFloat, {2, 3, 8, 8}));
  const Tensor y(DType::kFloat, {2, 10});
  binding.output("y", y);
  await_rest();
  for (int i = 0; i < 3; ++i) binding.run();  // the plan is made from what the first runs ask for
  EXPECT_EQ(count(binding, 20), 0u);
  const auto row = y.elements<float>().first(10);
  EXPECT_FLOAT_EQ(std::accumulate(row.begin(), row.end(), 0.0f), 1.0f) << "the runs computed";
}

TEST_P(Allocation, NoneInARunOfAKnownShapeWithBoundOutputs) {
  run_classifier({}, with_threads(GetParam()));
  EXPECT_GT(allocations_of_libraries, 0u) << "oneDNN had a part in it";
}

TEST_P(Allocation, NoneByTheKernelsOfOnednn) {
  const std::string bytes = kernels_of_x86();
  Runtime runtime({.config_json = R"({"providers": {"options": {"x86": {"winograd": "4x4"}}}})"});
  Session session(runtime, {std::as_bytes(std::span(bytes)), {}}, with_threads(GetParam()));
  Binding binding(session);
  binding.input("x", Tensor(DType::kFloat, {1, 16, 16, 16}));
  binding.output("y", Tensor(DType::kFloat, {1, 16, 16}));
  await_rest();
  for (int i = 0; i < 3; ++i) binding.run();
  EXPECT_EQ(count(binding, 20), 0u);
}

TEST_P(Allocation, NoneAtAllWithoutOnednn) {
  run_classifier({.config_json = R"({"providers": {"disable": ["x86"]}})"},
                 with_threads(GetParam()));
  EXPECT_EQ(allocations_of_libraries, 0u);
}

TEST_P(Allocation, NoneWhenKnownShapesAlternate) {
  const std::string bytes = classifier();
  Runtime runtime;
  Session session(runtime, {std::as_bytes(std::span(bytes)), {}}, with_threads(GetParam()));
  Binding small(session);
  small.input("x", Tensor(DType::kFloat, {1, 3, 8, 8}));
  small.output("y", Tensor(DType::kFloat, {1, 10}));
  Binding large(session);
  large.input("x", Tensor(DType::kFloat, {5, 3, 8, 8}));
  large.output("y", Tensor(DType::kFloat, {5, 10}));
  await_rest();
  for (int i = 0; i < 3; ++i) {
    small.run();
    large.run();
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(count(small, 1), 0u);
    EXPECT_EQ(count(large, 1), 0u);
  }
}

TEST_P(Allocation, NoneForAnInputThatKeepsTheModelsValue) {
  ModelBuilder model;
  model.input("x", {-1, 4});
  model.input("bias", {4});
  model.output("y", {-1, 4});
  model.weight("bias", {4});
  model.node("Add", {"x", "bias"}, {"y"});
  const std::string bytes = model.bytes();
  Runtime runtime;
  Session session(runtime, {std::as_bytes(std::span(bytes)), {}}, with_threads(GetParam()));
  Binding binding(session);
  Tensor x(DType::kFloat, {2, 4});
  binding.input("x", x);
  const Tensor y(DType::kFloat, {2, 4});
  binding.output("y", y);
  await_rest();
  for (int i = 0; i < 3; ++i) binding.run();
  EXPECT_EQ(count(binding, 20), 0u);
  EXPECT_FLOAT_EQ(y.elements<float>()[5], 1.0f / 7 - 0.4f);
  binding.input("bias", Tensor({4}, std::vector<float>{1, 2, 3, 4}));
  binding.run();
  EXPECT_FLOAT_EQ(y.elements<float>()[5], 2);
}

// Copies, queued kernels, events, waits and a captured segment, too; the accelerator is the
// simulated one.
TEST_P(Allocation, NoneOnADeviceWithStreams) {
  ModelBuilder model;
  model.input("x", {-1, 4});
  model.output("y", {-1, 4});
  model.weight("w", {4, 4});
  model.node("MatMul", {"x", "w"}, {"product"});
  model.node("Add", {"product", "x"}, {"sum"});
  model.node("Tanh", {"sum"}, {"bent"});  // on the CPU, between two of the device
  model.node("Relu", {"bent"}, {"y"});
  const std::string bytes = model.bytes();
  Runtime runtime;
  SessionOptions options = with_threads(GetParam());
  options.config_json.insert(
      1, R"("placement": {"prefer": ["SIM:0", "SIM:1", "CPU"], "fallback": "allow",
                          "rules": [{"op_type": "Relu", "device": "SIM:1"}]}, )");
  Session session(runtime, {std::as_bytes(std::span(bytes)), {}}, options);
  EXPECT_EQ(session.placement().copies, 4U);
  Binding binding(session);
  binding.input("x", Tensor({2, 4}, std::vector<float>(8, 1)));
  const Tensor y(DType::kFloat, {2, 4});
  binding.output("y", y);
  await_rest();
  for (int i = 0; i < 4; ++i) binding.run();
  EXPECT_EQ(count(binding, 20), 0u);
}

INSTANTIATE_TEST_SUITE_P(Threads, Allocation, ::testing::Values(1, 2));

}  // namespace
}  // namespace gantry
