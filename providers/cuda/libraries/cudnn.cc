// SPDX-License-Identifier: Apache-2.0
#include "libraries/cudnn.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

#include "autotune/timing.h"
#include "driver/stream.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kMostConfigs = 24;  // per mode of the heuristics; many of them round f32 operands
constexpr size_t kMostPlans = 6;
constexpr int kMostVariants = 4;  // that are timed; timing one builds all of its plans
constexpr int kAnyConfig = -1;
constexpr uint64_t kMostWorkspaceBytes = uint64_t{256} << 20;

}  // namespace

// The graph with its execution plans. Immutable once the fastest plan is chosen.
struct Dnn::Convolution {
  Convolution(const DnnFunctions& functions, const ConvShape& known, void* handle)
      : shape(known), graph(functions, shape, handle) {}

  const ConvShape shape;
  const ConvGraph graph;
  std::vector<DnnDescriptor> configs;
  std::vector<DnnDescriptor> plans;  // execution plans
  std::vector<int> config_indices;   // of the plans, among all engine configurations
  uint64_t workspace_bytes = 0;
  size_t most_plans = kMostPlans;  // limit of built plans
  size_t chosen = 0;
  bool is_chosen = false;
};

Dnn::Dnn(const Device& device, const LibrarySearch& search, std::string cache_folder)
    : device_(device),
      cache_(std::move(cache_folder)),
      variants_(kMostVariants),
      reason_(load(search)) {}

Dnn::~Dnn() {
  convolutions_.clear();
  if (handle_) functions_.destroy(handle_);
}

std::string Dnn::load(const LibrarySearch& search) {
  const SharedLibrary library = search.open({kDnnLibrary});
  if (!library.is_open()) return "cuDNN cannot be opened: " + library.reason();
  if (const char* missing = functions_.find_in(library)) {
    return library.path() +
           " is not the cuDNN that is expected under this name: it has no function " + missing;
  }
  version_ = functions_.version();
  const int status = functions_.create(&handle_);
  if (status == 0) return {};
  handle_ = nullptr;
  return std::string("cuDNN does not start: ") + functions_.error_string(status);
}

void Dnn::require(int status, const char* what) const {
  if (status == 0) return;
  throw sdk::Error(GANTRY_DEVICE_ERROR,
                   device_.name() + ": cuDNN, " + what + ": " + functions_.error_string(status));
}

bool Dnn::supports(const ConvShape& shape, uint64_t& out_workspace_bytes) {
  const sdk::MutexLock lock(mutex_);
  const Convolution& convolution = convolution_of(shape);
  out_workspace_bytes = convolution.workspace_bytes;
  return !convolution.plans.empty();
}

Dnn::Convolution& Dnn::convolution_of(const ConvShape& shape) {
  std::unique_ptr<Convolution>& found = convolutions_[shape.text()];
  if (found) return *found;
  auto convolution = std::make_unique<Convolution>(functions_, shape, handle_);
  if (convolution->graph.status() == 0) {
    // Building a plan can take a tenth of a second, so if the disk cache has a choice only that
    // plan is built.
    std::string stored;
    int number = 0;
    if (cache_.load(key_of(shape), stored) &&
        std::from_chars(stored.data(), stored.data() + stored.size(), number).ec == std::errc()) {
      find_plans(*convolution, number);
      convolution->is_chosen = !convolution->plans.empty();
    }
    if (convolution->plans.empty()) {
      if (!variants_.is_one_of_the_first({shape.family()})) convolution->most_plans = 1;
      find_plans(*convolution, kAnyConfig);
    }
  }
  found = std::move(convolution);
  return *found;
}

// Engine configurations have the same order for the same library version and device.
std::string Dnn::key_of(const ConvShape& shape) const {
  return CodeCache::key_of("cudnn-2|" + std::to_string(version_) + "|" + device_.info.name + "|" +
                           shape.text());
}

void Dnn::find_plans(Convolution& convolution, int only) const {
  add_plans(convolution, kDnnModeA, 0, only);
  if (convolution.plans.empty())
    add_plans(convolution, kDnnModeFallback, static_cast<int>(kMostConfigs), only);
}

// Accepts an engine by its numerical notes: it must be deterministic, must not use 16-bit operands
// for f32, and TF32 only if that is allowed.
bool Dnn::may_use(const ConvShape& shape, const DnnDescriptor& config) const {
  DnnDescriptor engine(functions_, kDnnEngine);
  void* handle = engine.handle();
  if (config.get(kConfigEngine, kDnnDescriptorType, 1, &handle) != 1) return false;
  std::array<int, 10> notes{};  // the number of note kinds
  // A newer library may report more kinds.
  const int64_t count = std::min<int64_t>(
      engine.get(kEngineNotes, kDnnNoteType, notes.size(), notes.data()), notes.size());
  for (int64_t i = 0; i < count; ++i) {
    const int note = notes.at(static_cast<size_t>(i));
    if (note == kNoteNondeterministic) return false;
    if (shape.dtype != GANTRY_FLOAT) continue;
    if (note == kNoteDownConvert || (note == kNoteTensorCore && !shape.rounds_to_tf32))
      return false;
  }
  return true;
}

// `first`: index of the mode's first configuration; `only`: index of the wanted one, or kAnyConfig.
void Dnn::add_plans(Convolution& convolution, DnnHeuristicsMode mode, int first, int only) const {
  DnnDescriptor heuristics(functions_, kDnnHeuristics);
  heuristics.set(kHeuristicsGraph, convolution.graph.graph());
  heuristics.set(kHeuristicsMode, kDnnHeuristicsModeType, int{mode});
  if (heuristics.finalize() != 0) return;
  std::vector<DnnDescriptor> configs;
  std::vector<void*> handles;
  for (int64_t i = 0; i < kMostConfigs; ++i)
    handles.push_back(configs.emplace_back(functions_, kDnnEngineConfig).handle());
  const int64_t count =
      heuristics.get(kHeuristicsResults, kDnnDescriptorType, kMostConfigs, handles.data());
  for (int64_t i = 0; i < count && convolution.plans.size() < convolution.most_plans; ++i) {
    const int number = first + static_cast<int>(i);
    DnnDescriptor& config = configs[static_cast<size_t>(i)];
    if (only != kAnyConfig && number != only) continue;
    if (!may_use(convolution.shape, config)) continue;
    DnnDescriptor plan(functions_, kDnnPlan);
    plan.set(kPlanHandle, kDnnHandleType, handle_);
    plan.set(kPlanConfig, config);
    if (plan.finalize() != 0)
      continue;  // the heuristic offered it, but this device or these shapes are unsupported
    int64_t workspace = 0;
    plan.get(kPlanWorkspace, kDnnInt64, 1, &workspace);
    if (workspace < 0 || static_cast<uint64_t>(workspace) > kMostWorkspaceBytes) continue;
    convolution.workspace_bytes =
        std::max(convolution.workspace_bytes, static_cast<uint64_t>(workspace));
    convolution.configs.push_back(std::move(config));
    convolution.plans.push_back(std::move(plan));
    convolution.config_indices.push_back(number);
  }
}

void Dnn::run(const ConvShape& shape, Stream& stream, const ConvOperands& operands) {
  const sdk::MutexLock lock(mutex_);
  Convolution& convolution = convolution_of(shape);
  if (!convolution.is_chosen) choose(convolution, stream, operands);
  require(call(convolution, convolution.chosen, stream, operands), "a convolution");
}

void Dnn::choose(Convolution& convolution, Stream& stream, const ConvOperands& operands) {
  const size_t count = convolution.plans.size();
  if (convolution.most_plans == 1) {
    convolution.is_chosen = true;
    return;
  }
  std::vector<float> times;
  for (size_t plan = 0; plan < count; ++plan)
    times.push_back(time_of(stream, [&] { return call(convolution, plan, stream, operands); }));
  const auto best = std::min_element(times.begin(), times.end());
  convolution.chosen = static_cast<size_t>(best - times.begin());
  log_times(device_, "cuDNN's " + convolution.shape.text(), times);
  if (*best == std::numeric_limits<float>::infinity()) {
    throw sdk::Error(GANTRY_DEVICE_ERROR, device_.name() + ": none of cuDNN's " +
                                              std::to_string(count) + " plans runs for " +
                                              convolution.shape.text() +
                                              "; the provider's option own_kernels avoids them");
  }
  convolution.is_chosen = true;
  const int number = convolution.config_indices[convolution.chosen];
  cache_.store(key_of(convolution.shape), std::to_string(number));
}

int Dnn::call(const Convolution& convolution, size_t plan, Stream& stream,
              const ConvOperands& operands) const {
  if (const int status = functions_.set_stream(handle_, stream.handle()); status != 0)
    return status;
  std::vector<const void*> addresses;
  for (const int64_t id : convolution.graph.ids()) {
    addresses.push_back(id == kIdX      ? operands.x
                        : id == kIdW    ? operands.w
                        : id == kIdY    ? operands.y
                        : id == kIdBias ? operands.bias
                                        : operands.addend);
  }
  DnnDescriptor pack(functions_, kDnnVariantPack);
  pack.set(kPackIds, kDnnInt64, convolution.graph.ids());
  pack.set(kPackAddresses, kDnnPointer, addresses);
  pack.set(kPackWorkspace, kDnnPointer, operands.workspace);
  if (const int status = pack.finalize(); status != 0) return status;
  return functions_.execute(handle_, convolution.plans[plan].handle(), pack.handle());
}

}  // namespace gantry::cuda
