// SPDX-License-Identifier: Apache-2.0
// The provider `ort_ep`: runs plugin execution providers that are made for ONNX Runtime. The
// runtime's options name their libraries; each device that one of them offers is a device ORT:n.
#include <gantry/declared_operators.h>
#include <gantry/sdk/graph_index.h>
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "custom_ops/library_call.h"
#include "ep_host/kernel.h"
#include "ep_host/library.h"

namespace gantry::ort {
namespace {

/// gantry_claim.tag.
enum Tag : uint64_t { kTakesConstants = 0, kDropsConstants = 1 };

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

class EpHost final : public sdk::Provider {
 public:
  explicit EpHost(const gantry_offer& offer)
      : Provider(offer, "ort_ep", {}), logger_{offer.host}, machine_(machine_devices()) {
    const auto options = nlohmann::json::parse(sdk::to_view(offer.options));
    paths_ = options.value("libraries", std::vector<std::string>());
    // No operators of their own so far; but a runtime without options does not open this provider.
    api_.native_handle = [](gantry_device*, gantry_stream*, gantry_str kind) -> void* {
      static gantry_declared_operators extension = {
          sizeof(gantry_declared_operators), 0,
          [](gantry_provider*, gantry_str, void* target,
             void (*write)(void* target, const void* data, uint64_t size_bytes)) -> gantry_error* {
            constexpr std::string_view kNone = "[]";
            write(target, kNone.data(), kNone.size());
            return nullptr;
          }};
      return sdk::to_view(kind) == GANTRY_DECLARED_OPERATORS ? &extension : nullptr;
    };
  }

  void devices(const gantry_device_sink& sink) override {
    devices_.clear();
    libraries_.clear();
    for (const std::string& path : paths_) {
      try {
        libraries_.push_back(std::make_unique<EpLibrary>(path, machine_, logger_));
      } catch (const sdk::Error& error) {
        report(sink, {.state = GANTRY_DEVICE_BLOCKED, .name = path, .reason = error.what()});
        continue;
      }
      const auto& found = libraries_.back()->devices();
      if (found.empty()) {
        report(sink, {.state = GANTRY_DEVICE_ABSENT,
                      .name = path,
                      .reason = path + " can use none of this machine's devices"});
      }
      for (const auto& device : found) {
        const std::string type = to_string(device->device->type);
        const std::string name = device->name + " on " + type;
        Row row{.name = name,
                .uid = device->name + "/" + type + "/" + std::to_string(device->device->device_id),
                .device = device.get()};
        if (device->has_own_memory) {
          row.state = GANTRY_DEVICE_ABSENT;
          row.reason = name + " keeps tensors in memory of its own, which gantry does not fill";
        }
        report(sink, row);
      }
    }
  }

  void claim(const gantry_claim_request& request) const override {
    const OfferedDevice& device = *devices_.at(request.device);
    const gantry_graph& graph = *request.graph;
    std::vector<bool> is_claimed(graph.node_count);
    std::string reason = device.name + " does not take it";
    call_library(device.name, [&] {
      std::vector<uint32_t> all(graph.node_count);
      for (uint32_t i = 0; i < graph.node_count; ++i) all[i] = i;
      const SeenGraph seen(host(), graph, all);
      const OwnedEp ep = make_ep(device, settings_of(device, request.options), logger_);
      const SupportedParts support = support_of(*ep, seen);
      for (const SupportedParts::Part& part : support.parts) {
        if (!claim_part(request, part, device.name)) continue;
        for (const uint32_t id : part.ids) is_claimed[id] = true;
      }
      if (!support.single.empty())
        reason += " but as a kernel of its own, which gantry cannot call";
    });
    for (uint32_t i = 0; i < graph.node_count; ++i) {
      if (!is_claimed[i]) request.sink->refuse(request.sink->self, i, sdk::to_str(reason));
    }
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    const OfferedDevice& device = *devices_.at(args.device);
    std::unique_ptr<sdk::Kernel> kernel;
    call_library(device.name, [&] {
      kernel = make_kernel(make_ep(device, settings_of(device, args.options), logger_), host(),
                           args, args.tag == kDropsConstants, logger_);
    });
    return kernel;
  }

 private:
  struct Row {
    uint32_t state = GANTRY_DEVICE_READY;
    std::string name = {};
    std::string uid = {};  // "execution provider/type/number": gantry.onnxruntime reads it
    std::string reason = {};
    const OfferedDevice* device = nullptr;
  };

  void report(const gantry_device_sink& sink, const Row& row) {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = row.state;
    info.type = sdk::to_str("ORT");
    info.id = static_cast<uint32_t>(devices_.size());
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.uid = sdk::to_str(row.uid);
    info.name = sdk::to_str(row.name);
    info.reason = sdk::to_str(row.reason);
    sink.device(sink.self, &info);
    devices_.push_back(row.device);
  }

  /// False: a value that is no tensor would go in or out.
  bool claim_part(const gantry_claim_request& request, const SupportedParts::Part& part,
                  const std::string& kernel) const {
    const sdk::GraphIndex index(host(), *request.graph);
    const std::vector<sdk::InputSlot> slots = index.input_slots(part.ids);
    const std::vector<uint32_t> made = index.output_slots(part.ids);
    const auto may_pass = [&](uint32_t value) {
      return value == GANTRY_NONE || index.value(value).kind() == GANTRY_KIND_TENSOR;
    };
    if (!std::all_of(made.begin(), made.end(), may_pass) ||
        !std::all_of(slots.begin(), slots.end(),
                     [&](const sdk::InputSlot& slot) { return may_pass(slot.value); }))
      return false;
    gantry_port plain = {};
    plain.size = sizeof(plain);
    plain.repeats = GANTRY_NONE;
    std::vector<gantry_port> inputs(slots.size(), plain);
    for (size_t i = 0; part.drops_constants && i < slots.size(); ++i) {
      if (index.value(slots[i].value).is_constant()) inputs[i].flags = GANTRY_PORT_COMPILE_ONLY;
    }
    const std::vector<gantry_port> outputs(made.size(), plain);
    gantry_claim claim = {};
    claim.size = sizeof(claim);
    claim.port_size = sizeof(gantry_port);
    claim.nodes = part.ids.data();
    claim.node_count = static_cast<uint32_t>(part.ids.size());
    claim.inputs = inputs.data();
    claim.input_count = static_cast<uint32_t>(inputs.size());
    claim.outputs = outputs.data();
    claim.output_count = static_cast<uint32_t>(outputs.size());
    claim.time_ns = -1;
    claim.kernel = sdk::to_str(kernel);
    claim.tag = part.drops_constants ? kDropsConstants : kTakesConstants;
    request.sink->claim(request.sink->self, &claim);
    return true;
  }

  // Options of a provider have its name in front of theirs there.
  static SessionEntries settings_of(const OfferedDevice& device, gantry_str options) {
    SessionEntries settings;
    const std::string prefix = "ep." + lower(device.name) + ".";
    for (size_t i = 0; i < device.options.size(); ++i)
      settings.entries.set(prefix + device.options.keys()[i], device.options.values()[i]);
    const auto parsed = nlohmann::json::parse(sdk::to_view(options));
    const auto all = parsed.value("ep_options", nlohmann::json::object());
    const auto own = all.value(device.name, nlohmann::json::object());
    for (const auto& [key, text] : own.items())
      settings.entries.set(prefix + key, text.get<std::string>());
    return settings;
  }

  Logger logger_;
  std::vector<std::unique_ptr<MachineDevice>> machine_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<EpLibrary>> libraries_;
  std::vector<const OfferedDevice*> devices_;  // by index; null: it cannot be used
};

}  // namespace
}  // namespace gantry::ort

GANTRY_DEFINE_PROVIDER(gantry::ort::EpHost)
