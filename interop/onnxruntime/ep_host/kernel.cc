// SPDX-License-Identifier: Apache-2.0
#include "ep_host/kernel.h"

#include <algorithm>
#include <semaphore>
#include <utility>

#include "custom_ops/library_call.h"
#include "ep_host/library.h"

namespace gantry::ort {
namespace {

/// The call's slots for the inputs and outputs of the fused node, which has each value once.
KernelPorts ports_of(const SeenNode& fused, const gantry_compile& args, std::string label,
                     const Logger& logger) {
  KernelPorts ports;
  ports.label = std::move(label);
  ports.logger = logger;
  for (const SeenValue* input : fused.inputs) {
    const uint32_t* end = args.inputs + args.input_count;
    ports.inputs.push_back(
        static_cast<int>(std::find(args.inputs, end, input->index) - args.inputs));
  }
  for (const SeenValue* output : fused.outputs) {
    const uint32_t* end = args.outputs + args.output_count;
    const uint32_t* found = std::find(args.outputs, end, output->index);
    ports.outputs.push_back(found == end ? -1 : static_cast<int>(found - args.outputs));
    ports.output_types.push_back(output->type.tensor.dtype);
  }
  return ports;
}

constexpr uint32_t kSinceConcurrent = 24;  // the version that has Ep::is_concurrent

/// Of runs of which only one may go on.
class Turn {
 public:
  explicit Turn(std::binary_semaphore* one) : one_(one) {
    if (one_) one_->acquire();
  }
  ~Turn() {
    if (one_) one_->release();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::binary_semaphore* one_;
};

class EpKernel final : public sdk::Kernel {
 public:
  EpKernel(OwnedEp ep, KernelPorts ports) : ep_(std::move(ep)), ports_(std::move(ports)) {}
  ~EpKernel() override {
    if (state_) compute_->release_state(compute_, state_);
    if (compute_) ep_->release_compute_infos(ep_.get(), &compute_, 1);
  }
  EpKernel(const EpKernel&) = delete;
  EpKernel& operator=(const EpKernel&) = delete;

  void compile(const SeenGraph& graph, const SeenNode& fused) {
    const auto* graphs = opaque<const host::Graph>(&graph);
    const auto* nodes = opaque<const host::Node>(&fused);
    host::Node* contexts = nullptr;
    expect_success(ep_->compile(ep_.get(), &graphs, &nodes, 1, &compute_, &contexts));
    if (!compute_) throw ApiError(ErrorCode::kFail, "it compiled a graph to nothing");
    if (ep_->version >= kSinceConcurrent && ep_->is_concurrent)
      expect_success(ep_->is_concurrent(ep_.get(), &is_concurrent_));
    FusedName context{fused.name};
    expect_success(
        compute_->create_state(compute_, opaque<host::ComputeContext>(&context), &state_));
  }

  void run(sdk::Call& call) const override {
    const Turn turn(is_concurrent_ ? nullptr : &one_run_);
    run_library(ports_.label, call, ports_, [&](RunContext& context) {
      expect_success(compute_->compute(compute_, state_, opaque<host::KernelContext>(&context)));
    });
  }

 private:
  OwnedEp ep_;
  KernelPorts ports_;
  ComputeInfo* compute_ = nullptr;
  void* state_ = nullptr;
  bool is_concurrent_ = true;
  mutable std::binary_semaphore one_run_{1};
};

}  // namespace

OwnedEp make_ep(const OfferedDevice& device, const SessionEntries& settings, const Logger& logger) {
  const auto* machine = opaque<const host::Device>(device.device);
  const auto* metadata = opaque<const host::KeyValues>(&device.metadata);
  Ep* made = nullptr;
  expect_success(device.factory->create(device.factory, &machine, &metadata, 1,
                                        opaque<const host::Settings>(&settings),
                                        opaque<const host::Logger>(&logger), &made));
  if (!made) throw ApiError(ErrorCode::kFail, device.name + " made no provider for the session");
  return {made, ReleaseEp{device.factory}};
}

SupportedParts support_of(Ep& ep, const SeenGraph& graph) {
  SupportedParts support;
  expect_success(ep.get_capability(&ep, opaque<const host::Graph>(&graph),
                                   opaque<host::GraphSupport>(&support)));
  return support;
}

std::unique_ptr<sdk::Kernel> make_kernel(OwnedEp ep, const gantry_host* host,
                                         const gantry_compile& args, bool drops_constants,
                                         const Logger& logger) {
  const SeenGraph graph(host, *args.graph, {args.nodes, args.nodes + args.node_count});
  const std::string name = std::string(ep->get_name(ep.get())) + "_" + graph.nodes[0]->name;
  const std::unique_ptr<SeenNode> fused = graph.fused(name, !drops_constants);
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
