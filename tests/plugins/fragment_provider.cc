// SPDX-License-Identifier: Apache-2.0
// A provider that claims the nodes that its options name as one set, writes their fragment to a
// folder and then does not compile it, so that somebody else runs them. For tests of what the host
// gives to compilers of whole graphs.
#include <gantry/sdk/provider.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace {

namespace sdk = gantry::sdk;

class FragmentProvider : public sdk::Provider {
 public:
  explicit FragmentProvider(const gantry_offer& offer) : Provider(offer, "fragment", {}) {}

  void devices(const gantry_device_sink& sink) override {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("FRAGMENT");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str("writer of fragments");
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    const auto options = nlohmann::json::parse(sdk::to_view(request.options));
    const auto wanted = options.value("nodes", std::set<std::string>{});
    std::vector<uint32_t> nodes;
    for (uint32_t i = 0; i < request.graph->node_count; ++i) {
      if (wanted.contains(std::string(sdk::to_view(request.graph->nodes[i]->name)))) {
        nodes.push_back(i);
      } else {
        request.sink->refuse(request.sink->self, i, sdk::to_str("not among the nodes to write"));
      }
    }
    if (nodes.empty()) return;
    gantry_claim claim = {};
    claim.size = sizeof(claim);
    claim.nodes = nodes.data();
    claim.node_count = static_cast<uint32_t>(nodes.size());
    claim.port_size = sizeof(gantry_port);
    claim.time_ns = -1;
    claim.kernel = sdk::to_str("fragment");
    request.sink->claim(request.sink->self, &claim);
  }

  std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    const auto options = nlohmann::json::parse(sdk::to_view(args.options));
    const std::string folder = options.at("folder");
    std::ofstream model(folder + "/fragment.onnx", std::ios::binary);
    sdk::check(host(), host()->fragment_model(args.fragment, &model, write));
    for (uint64_t i = 0;; ++i) {
      const void* data = nullptr;
      uint64_t size_bytes = 0;
      gantry_error* error = host()->fragment_weight(args.fragment, i, &data, &size_bytes);
      if (error) {  // it was the last
        host()->error_release(error);
        break;
      }
      std::ofstream weight(folder + "/gantry:" + std::to_string(i), std::ios::binary);
      write(&weight, data, size_bytes);
    }
    throw sdk::Error(GANTRY_UNSUPPORTED, "the fragment was written");
  }

 private:
  static void write(void* target, const void* data, uint64_t size_bytes) {
    static_cast<std::ofstream*>(target)->write(static_cast<const char*>(data),
                                               static_cast<std::streamsize>(size_bytes));
  }
};

}  // namespace

GANTRY_DEFINE_PROVIDER(FragmentProvider)
