// SPDX-License-Identifier: Apache-2.0
// A provider that runs subgraphs with OpenVINO: it claims the largest sets of nodes that OpenVINO
// computes as ONNX specifies, receives each as an ONNX model from the host, and runs it in host
// memory.
#include <gantry/sdk/provider.h>

#include "claims.h"
#include "kernel.h"

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

class OpenVinoProvider : public sdk::Provider {
 public:
  explicit OpenVinoProvider(const gantry_offer& offer)
      : Provider(offer, "openvino", {}), options_(Options().with(sdk::to_view(offer.options))) {
    try {
      engine_ = std::make_unique<Engine>(Library::open(options_.library));
    } catch (const sdk::Error& error) {  // a machine without OpenVINO is no error
      reason_ = error.what();
    }
  }

  void devices(const gantry_device_sink& sink) override {
    const std::string name = engine_ ? "OpenVINO " + engine_->library().version() : "OpenVINO";
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = engine_ ? GANTRY_DEVICE_READY : GANTRY_DEVICE_ABSENT;
    info.type = sdk::to_str("OPENVINO");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str(name);
    info.reason = sdk::to_str(reason_);
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    const gantry_graph& graph = *request.graph;
    const Options options = options_.with(sdk::to_view(request.options));
    std::vector<std::string> reasons;
    if (!engine_) {
      reasons.assign(graph.node_count, reason_);
    } else if (!host()->fragment_model || !host()->fragment_weight) {
      reasons.assign(graph.node_count, "this host gives no fragment as a model");
    } else {
      reasons = refusals(host(), graph, options.narrow_int64);
    }
    for (uint32_t i = 0; i < graph.node_count; ++i) {
      if (!reasons[i].empty()) request.sink->refuse(request.sink->self, i, sdk::to_str(reasons[i]));
    }
    for (const std::vector<uint32_t>& nodes : convex_sets(graph, reasons)) {
      const std::vector<gantry_port> inputs = input_ports(graph, nodes);
      gantry_claim claim = {};
      claim.size = sizeof(claim);
      claim.flags = GANTRY_CLAIM_DIVISIBLE;
      claim.nodes = nodes.data();
      claim.node_count = static_cast<uint32_t>(nodes.size());
      claim.port_size = sizeof(gantry_port);
      claim.inputs = inputs.data();
      claim.input_count = static_cast<uint32_t>(inputs.size());
      claim.time_ns = -1;
      claim.kernel = sdk::to_str("openvino.fragment");
      request.sink->claim(request.sink->self, &claim);
    }
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    if (!engine_) throw sdk::Error(GANTRY_UNAVAILABLE, reason_);
    return std::make_unique<FragmentKernel>(*engine_, host(), args,
                                            options_.with(sdk::to_view(args.options)));
  }

 private:
  Options options_;
  std::unique_ptr<Engine> engine_;  // null: `reason_` says why
  std::string reason_;
};

}  // namespace
}  // namespace gantry_openvino

GANTRY_DEFINE_PROVIDER(gantry_openvino::OpenVinoProvider)
