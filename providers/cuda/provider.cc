// SPDX-License-Identifier: Apache-2.0
// The provider of the devices CUDA:0, CUDA:1, ... NVIDIA's libraries are opened when the devices
// are enumerated, so the provider loads on any machine and reports what is missing.
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "compile/nvrtc_compiler.h"
#include "driver/options.h"
#include "driver/slots.h"
#include "fuse/claims.h"
#include "operators/all_kernels.h"
#include "plan/early_plan.h"
#include "plan/execution_device.h"
#include "plan/operation.h"

namespace gantry::cuda {
namespace {

// Limit of compilations at the same time.
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
    for (const DeviceInfo& info : devices_) report(sink, info);
    if (!devices_.empty()) return;
    // Reports that there is no device, and why.
    DeviceInfo none;
    none.name = "NVIDIA GPU";
    none.reason = driver_->is_usable() ? "the driver finds no device" : driver_->reason();
    report(sink, none);
  }

  [[nodiscard]] double estimated_ns(const sdk::NodeView& node, uint32_t device) const override {
    return cuda::estimated_ns(node, device);
  }

  void claim(const gantry_claim_request& request) const override {
    Claims claims(host(), request, all_fusions(), {has_dnn(), Options(request.options).tf32});
    claims.claim_fusions();
    // The rest by the kernel rows.
    const gantry_claim_sink rest = claims.sink_of_rest();
    gantry_claim_request narrowed = request;
    narrowed.sink = &rest;
    Provider::claim(narrowed);
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    std::unique_ptr<sdk::Kernel> kernel =
        is_fusion(args.tag) ? compile_claim(host(), args, all_fusions()) : Provider::compile(args);
    auto& planned = static_cast<PlannedKernel&>(*kernel);
    planned.set_rounds_to_tf32(Options(args.options).tf32);
    prefetch(args, planned);
    return kernel;
  }

 private:
  // Starts compiling the kernels that the claim's first run is expected to launch.
  void prefetch(const gantry_compile& args, const PlannedKernel& kernel) const {
    if (!queue_ || args.device >= devices_.size()) return;
    const DeviceInfo& info = devices_[args.device];
    const EarlyDevice device = {info.multiprocessors, has_blas(), has_dnn()};
    for (const Program* program : expected_programs(host(), args, kernel, programs_, device))
      queue_->ask(*program, info.capability);
  }

  // Whether the library can be opened. A device initialises it.
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
    for (DeviceInfo& info : devices_) {
      if (info.reason.empty()) info.reason = compiler_->reason();
    }
  }

  void report(const gantry_device_sink& sink, const DeviceInfo& device) const {
    const bool is_absent = devices_.empty();
    const std::string uid = device.uuid.empty() ? "" : device.pci + "/" + device.uuid;
    const std::string name = device.capability == 0
                                 ? device.name
                                 : device.name + ", compute capability " +
                                       std::to_string(device.capability / 10) + "." +
                                       std::to_string(device.capability % 10);
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = is_absent               ? GANTRY_DEVICE_ABSENT
                 : device.reason.empty() ? GANTRY_DEVICE_READY
                                         : GANTRY_DEVICE_BLOCKED;
    info.type = sdk::to_str("CUDA");
    info.id = device.id;
    info.flags = options_.capture ? GANTRY_DEVICE_CAPTURE : 0;
    info.uid = sdk::to_str(uid);
    info.name = sdk::to_str(name);
    info.reason = sdk::to_str(device.reason);
    info.memory_bytes = device.memory_bytes;
    sink.device(sink.self, &info);
  }

  gantry_device* open(uint32_t index) {
    if (index >= devices_.size() || !devices_[index].reason.empty()) {
      throw sdk::Error(GANTRY_UNAVAILABLE, "CUDA: asked to open device " + std::to_string(index) +
                                               ", which was not reported as ready");
    }
    const Services services{host(), *driver_, *queue_, programs_, search_, options_};
    std::unique_ptr<Device> device = std::make_unique<ExecutionDevice>(services, devices_[index]);
    return reinterpret_cast<gantry_device*>(device.release());
  }

  Options options_;
  LibrarySearch search_;
  std::optional<Driver> driver_;
  std::optional<Compiler> compiler_;
  std::vector<DeviceInfo> devices_;
  mutable Programs programs_;
  mutable std::optional<CompileQueue>
      queue_;  // destroyed first, because its threads use the members above
  mutable std::once_flag dnn_once_;
  mutable bool has_dnn_ = false;
  mutable std::once_flag blas_once_;
  mutable bool has_blas_ = false;
};

}  // namespace
}  // namespace gantry::cuda

GANTRY_DEFINE_PROVIDER(gantry::cuda::CudaProvider)
