// SPDX-License-Identifier: Apache-2.0
#include "ep_host/kernel.h"

#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "custom_ops/library_call.h"
#include "ep_host/library.h"

namespace gantry::ort {
namespace {

/// The call's slots for the inputs and outputs of the fused node, which has each value once.
KernelPorts ports_of(const host::Node& fused, const gantry_compile& args, std::string label,
                     const Logger& logger) {
  KernelPorts ports;
  ports.label = std::move(label);
  ports.logger = logger;
  for (const host::NamedValue* input : fused.inputs) {
    const uint32_t* end = args.inputs + args.input_count;
    ports.inputs.push_back(
        static_cast<int>(std::find(args.inputs, end, input->index) - args.inputs));
  }
  for (const host::NamedValue* output : fused.outputs) {
    const uint32_t* end = args.outputs + args.output_count;
    const uint32_t* found = std::find(args.outputs, end, output->index);
    ports.outputs.push_back(found == end ? -1 : static_cast<int>(found - args.outputs));
    ports.output_types.push_back(output->type.tensor.dtype);
  }
  return ports;
}

constexpr uint32_t kSinceConcurrent = 24;  // the version that has Ep::is_concurrent

class EpKernel final : public sdk::Kernel {
 public:
  EpKernel(OwnedEp ep, KernelPorts ports) : ep_(std::move(ep)), ports_(std::move(ports)) {}
  ~EpKernel() override {
    if (state_) compute_->release_state(compute_, state_);
    if (compute_) ep_->release_compute_infos(ep_.get(), &compute_, 1);
  }
  EpKernel(const EpKernel&) = delete;
  EpKernel& operator=(const EpKernel&) = delete;

  void compile(const host::Graph& graph, const host::Node& fused) {
    const host::Graph* graphs[] = {&graph};
    const host::Node* nodes[] = {&fused};
    host::Node* contexts[] = {nullptr};
    expect_success(ep_->compile(ep_.get(), graphs, nodes, 1, &compute_, contexts));
    if (!compute_) throw ApiError(ErrorCode::kFail, "it compiled a graph to nothing");
    if (ep_->version >= kSinceConcurrent && ep_->is_concurrent)
      expect_success(ep_->is_concurrent(ep_.get(), &is_concurrent_));
    host::ComputeContext context{fused.name};
    expect_success(compute_->create_state(compute_, &context, &state_));
  }

  void run(sdk::Call& call) const override {
    std::optional<sdk::MutexLock> alone;
    if (!is_concurrent_) alone.emplace(mutex_);
    run_library(ports_.label, call, ports_, [&](RunContext& context) {
      expect_success(
          compute_->compute(compute_, state_, reinterpret_cast<host::KernelContext*>(&context)));
    });
  }

 private:
  OwnedEp ep_;
  KernelPorts ports_;
  ComputeInfo* compute_ = nullptr;
  void* state_ = nullptr;
  bool is_concurrent_ = true;
  mutable sdk::Mutex mutex_;  // held by a run where only one may go on
};

}  // namespace

OwnedEp make_ep(const host::EpDevice& device, const host::SessionSettings& settings,
                const Logger& logger) {
  const host::Device* devices[] = {device.device};
  const auto* metadata = reinterpret_cast<const host::KeyValues*>(&device.metadata);
  Ep* made = nullptr;
  expect_success(device.factory->create(device.factory, devices, &metadata, 1, &settings,
                                        reinterpret_cast<const host::Logger*>(&logger), &made));
  if (!made) throw ApiError(ErrorCode::kFail, device.name + " made no provider for the session");
  return {made, ReleaseEp{device.factory}};
}

host::GraphSupport support_of(Ep& ep, const host::Graph& graph) {
  host::GraphSupport support;
  expect_success(ep.get_capability(&ep, &graph, &support));
  return support;
}

std::unique_ptr<sdk::Kernel> make_kernel(OwnedEp ep, const gantry_host* host,
                                         const gantry_compile& args, bool drops_constants,
                                         const Logger& logger) {
  const host::Graph graph(host, *args.graph, {args.nodes, args.nodes + args.node_count});
  const std::string name = std::string(ep->get_name(ep.get())) + "_" + graph.nodes[0]->name;
  const std::unique_ptr<host::Node> fused = graph.fused(name, !drops_constants);
  const std::string who = ep->get_name(ep.get());
  auto kernel = std::make_unique<EpKernel>(
      std::move(ep),
      ports_of(*fused, args,
               who + ", from " + graph.nodes[0]->op_type + " \"" + graph.nodes[0]->name + "\" on",
               logger));
  call_library(who, [&] { kernel->compile(graph, *fused); });
  return kernel;
}

}  // namespace gantry::ort
