// SPDX-License-Identifier: Apache-2.0
// The provider `ort_custom_ops`: runs the operators of libraries that are made for ONNX Runtime
// (OrtCustomOp), on the CPU. A session's options name the libraries.
#include <gantry/declared_operators.h>
#include <gantry/sdk/mutex.h>
#include <gantry/sdk/provider.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "custom_ops/kernel.h"
#include "custom_ops/library.h"
#include "custom_ops/selection.h"

namespace gantry::ort {
namespace {

class CustomOpsProvider final : public sdk::Provider {
 public:
  explicit CustomOpsProvider(const gantry_offer& offer) : Provider(offer, "ort_custom_ops", {}) {
    api_.native_handle = [](gantry_device*, gantry_stream*, gantry_str kind) -> void* {
      static gantry_declared_operators extension = {
          sizeof(gantry_declared_operators), 0,
          [](gantry_provider* self, gantry_str options, void* target,
             void (*write)(void* target, const void* data, uint64_t size_bytes)) {
            auto* of = static_cast<CustomOpsProvider*>(reinterpret_cast<Provider*>(self));
            return sdk::guard(of->host(), [&] {
              const std::string text = to_json(of->operators(options, true));
              write(target, text.data(), text.size());
            });
          }};
      return sdk::to_view(kind) == GANTRY_DECLARED_OPERATORS ? &extension : nullptr;
    };
  }

  void devices(const gantry_device_sink& sink) override {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("CPU");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str("libraries of operators made for ONNX Runtime");
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    const DeclaredOps known = operators(request.options, false);
    for (uint32_t i = 0; i < request.graph->node_count; ++i) {
      const gantry_node& node = *request.graph->nodes[i];
      std::string reason;
      if (select_operator(known, sdk::NodeView(host(), request.graph, &node), reason)) {
        claim_node(request, i, node);
      } else {
        request.sink->refuse(request.sink->self, i, sdk::to_str(reason));
      }
    }
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    const gantry_node& node = *args.graph->nodes[args.nodes[0]];
    const sdk::NodeView view(host(), args.graph, &node);
    std::string reason;
    std::shared_ptr<const DeclaredOp> op =
        select_operator(operators(args.options, false), view, reason);
    if (!op) view.fail(GANTRY_UNSUPPORTED, reason);
    return make_kernel(std::move(op), *args.graph, node, host());
  }

 private:
  static void claim_node(const gantry_claim_request& request, uint32_t index,
                         const gantry_node& node) {
    gantry_claim claim = {};
    claim.nodes = &index;
    claim.node_count = 1;
    claim.input_count = node.input_count;
    claim.output_count = node.output_count;
    claim.time_ns = -1;
    claim.kernel = node.op_type;
    claim_plainly(request, claim);
  }

  // The operators of the libraries that the options name. `again`: asks the libraries again, which
  // may have more than before; once for each session.
  DeclaredOps operators(gantry_str options, bool again) const {
    DeclaredOps all;
    const auto parsed = nlohmann::json::parse(sdk::to_view(options));
    for (const std::string& path : parsed.value("libraries", std::vector<std::string>())) {
      const DeclaredOps own = of_library(path, again);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  DeclaredOps of_library(const std::string& path, bool again) const {
    const sdk::MutexLock lock(mutex_);
    DeclaredOps& known = libraries_[path];
    if (again || known.empty()) known = register_operators(path);
    return known;
  }

  mutable sdk::Mutex mutex_;
  mutable std::map<std::string, DeclaredOps> libraries_ GANTRY_GUARDED_BY(mutex_);  // by path
};

}  // namespace
}  // namespace gantry::ort

GANTRY_DEFINE_PROVIDER(gantry::ort::CustomOpsProvider)
