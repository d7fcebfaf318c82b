// SPDX-License-Identifier: Apache-2.0
// The provider of the devices CUDA:0, CUDA:1, ...: what it needs is opened when the devices are
// asked for, so that it loads anywhere and says what is missing.
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "claims.h"
#include "compiler.h"
#include "device.h"
#include "early_plan.h"
#include "operation.h"
#include "options.h"
#include "slots.h"

namespace gantry::cuda {
namespace {

// Kernels that are compiled at a time.
constexpr unsigned kMostCompilations = 16;

class CudaProvider final : public sdk::Provider {
 public:
  explicit CudaProvider(const gantry_offer& offer)
      : Provider(offer, "cuda", all_kernels()),
        options_(offer.options),
        search_(options_.libraries, sdk::to_view(offer.library)) {
    fill_device_slots(api_);
    fill_stream_slots(api_);
    if (options_.capture) fill_capture_slots(api_);
    fill_reorder_slot(api_);
    api_.device_open = [](gantry_provider* self, uint32_t index, gantry_device** out) {
      return sdk::guard(of(self).host(), [&] { *out = of(self).open(index); });
    };
  }

  void devices(const gantry_device_sink& sink) override {
    if (!driver_) find();
    for (const DeviceFacts& facts : devices_) report(sink, facts);
    if (!devices_.empty()) return;
    // None, and why.
    DeviceFacts none;
    none.name = "NVIDIA GPU";
    none.reason = driver_->is_usable() ? "the driver finds no device" : driver_->reason();
    report(sink, none);
  }

  [[nodiscard]] double estimated_ns(const sdk::NodeView& node, uint32_t device) const override {
    return cuda::estimated_ns(node, device);
  }

  void claim(const gantry_claim_request& request) const override {
    Claims claims(host(), request, has_dnn(), Options(request.options).tf32);
    claims.claim_sets();
    // The rest as the rows say it.
    const gantry_claim_sink rest = claims.sink_of_rest();
    gantry_claim_request narrowed = request;
    narrowed.sink = &rest;
    Provider::claim(narrowed);
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    const bool is_set = args.tag >= kSetTag;  // rows have smaller numbers
    std::unique_ptr<sdk::Kernel> kernel =
        is_set ? compile_set(host(), args) : Provider::compile(args);
    auto& planned = static_cast<PlannedKernel&>(*kernel);
    planned.set_rounds_to_tf32(Options(args.options).tf32);
    foresee(args, planned);
    return kernel;
  }

 private:
  // What the claim's first run launches is compiled from now on.
  void foresee(const gantry_compile& args, const PlannedKernel& kernel) const {
    if (!queue_ || args.device >= devices_.size()) return;
    const DeviceFacts& facts = devices_[args.device];
    const EarlyDevice device = {facts.multiprocessors, has_blas(), has_dnn()};
    for (const Program* program : foreseen_programs(host(), args, kernel, programs_, device))
      queue_->ask(*program, facts.capability);
  }

  // Whether its library opens: a device starts it, when there is one.
  [[nodiscard]] bool has_dnn() const {
    std::call_once(dnn_once_, [&] {
      has_dnn_ = !options_.own_kernels && search_.open({kDnnLibrary}).is_open();
    });
    return has_dnn_;
  }
  [[nodiscard]] bool has_blas() const {
    std::call_once(blas_once_, [&] {
      has_blas_ = !options_.own_kernels && search_.open(blas_libraries(*driver_)).is_open();
    });
    return has_blas_;
  }

  static CudaProvider& of(gantry_provider* self) {
    return static_cast<CudaProvider&>(*reinterpret_cast<sdk::Provider*>(self));
  }

  void find() {
    driver_.emplace(search_);
    if (!driver_->is_usable()) return;
    devices_ = find_devices(*driver_);
    if (devices_.empty()) return;
    compiler_.emplace(search_, driver_->version(), options_.cache);
    queue_.emplace([this](const std::string& source,
                          int capability) { return compiler_->compile(source, capability); },
                   std::min(std::thread::hardware_concurrency(), kMostCompilations));
    for (DeviceFacts& facts : devices_) {
      if (facts.reason.empty()) facts.reason = compiler_->reason();
    }
  }

  void report(const gantry_device_sink& sink, const DeviceFacts& facts) const {
    const bool is_absent = devices_.empty();
    const std::string uid = facts.uuid.empty() ? "" : facts.pci + "/" + facts.uuid;
    const std::string name = facts.capability == 0
                                 ? facts.name
                                 : facts.name + ", compute capability " +
                                       std::to_string(facts.capability / 10) + "." +
                                       std::to_string(facts.capability % 10);
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = is_absent              ? GANTRY_DEVICE_ABSENT
                 : facts.reason.empty() ? GANTRY_DEVICE_READY
                                        : GANTRY_DEVICE_BLOCKED;
    info.type = sdk::to_str("CUDA");
    info.id = facts.id;
    info.flags = options_.capture ? GANTRY_DEVICE_CAPTURE : 0;
    info.uid = sdk::to_str(uid);
    info.name = sdk::to_str(name);
    info.reason = sdk::to_str(facts.reason);
    info.memory_bytes = facts.memory_bytes;
    sink.device(sink.self, &info);
  }

  gantry_device* open(uint32_t index) {
    if (index >= devices_.size() || !devices_[index].reason.empty()) {
      throw sdk::Error(GANTRY_UNAVAILABLE, "CUDA: asked to open device " + std::to_string(index) +
                                               ", which was not reported as ready");
    }
    const Services services{host(), *driver_, *queue_, programs_, search_, options_};
    auto device = std::make_unique<Device>(services, devices_[index]);
    return reinterpret_cast<gantry_device*>(device.release());
  }

  Options options_;
  LibrarySearch search_;
  std::optional<Driver> driver_;
  std::optional<Compiler> compiler_;
  std::vector<DeviceFacts> devices_;
  mutable Programs programs_;
  mutable std::optional<CompileQueue> queue_;  // ends first, as it compiles what is above
  mutable std::once_flag dnn_once_;
  mutable bool has_dnn_ = false;
  mutable std::once_flag blas_once_;
  mutable bool has_blas_ = false;
};

}  // namespace
}  // namespace gantry::cuda

GANTRY_DEFINE_PROVIDER(gantry::cuda::CudaProvider)
