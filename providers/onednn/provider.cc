// SPDX-License-Identifier: Apache-2.0
// The provider "onednn": the second one of the device CPU, before `cpu` in preference, in the same
// memory. It takes what oneDNN makes fast (convolutions, products with constant matrices, pooling)
// with what can be done in the same pass, and keeps tensors channels-last from one to the next.
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ahead.h"
#include "attention/pattern.h"
#include "bytes/function.h"
#include "claims.h"
#include "families.h"
#include "fingerprint.h"
#include "kernels/attention.h"
#include "kernels/depthwise_block.h"
#include "library.h"
#include "options.h"
#include "reorder.h"
#include "rounding.h"

namespace gantry::onednn {
namespace {

/// The first node but for those that say what the numbers of 8 bits before it stand for, and those
/// that exchange its channels.
uint32_t anchor_of(const GraphIndex& index, const std::vector<uint32_t>& nodes) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](uint32_t node) {
    const std::string_view op = index.node(node).op_type();
    return op != "DequantizeLinear" && op != "Reshape" && op != "Transpose";
  });
  return found == nodes.end() ? nodes.front() : *found;
}

std::unique_ptr<sdk::Kernel> compile_attention(const GraphIndex& index, const gantry_compile& args,
                                               const std::vector<uint32_t>& nodes) {
  sdk::Choices none;  // nothing is decided here that takes long
  for (const uint32_t node : nodes) {
    const auto attention = attention_at(index, node, [&](uint32_t other) {
      return std::binary_search(nodes.begin(), nodes.end(), other);
    });
    if (attention && attention->nodes == nodes)
      return make_attention({index, args, unit_of_one(index, node), none}, *attention);
  }
  throw sdk::Error(GANTRY_INTERNAL, "onednn: the nodes of a claim are no attention any more");
}

std::unique_ptr<sdk::Kernel> compile_elementwise(const GraphIndex& index,
                                                 const gantry_compile& args,
                                                 const std::vector<uint32_t>& nodes) {
  sdk::Choices none;
  return make_elementwise({index, args, unit_of_one(index, nodes.front()), none}, nodes);
}

std::unique_ptr<sdk::Kernel> compile_depthwise_block(const GraphIndex& index,
                                                     const gantry_compile& args,
                                                     const std::vector<uint32_t>& nodes) {
  const auto is_among = [&](uint32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  };
  const auto unit_of_conv = [&](uint32_t node) -> std::optional<Unit> {
    if (!is_among(node) || index.node(node).op_type() != "Conv") return std::nullopt;
    return unit_of(index, node, conv_traits(index, node), is_among);
  };
  const auto block = depthwise_block_at(index, nodes.front(), unit_of_conv);
  if (!block || block->whole().nodes != nodes) {
    throw sdk::Error(GANTRY_INTERNAL,
                     "onednn: the nodes of a claim are no block of convolutions any more");
  }
  sdk::Choices none;
  return make_depthwise_block({index, args, block->whole(), none}, *block);
}

std::unique_ptr<sdk::Kernel> compile_byte_function(const GraphIndex& index,
                                                   const gantry_compile& args,
                                                   const std::vector<uint32_t>& nodes) {
  const auto function = byte_function_at(index, nodes.back(), [&](uint32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  });
  if (!function || function->nodes != nodes) {
    throw sdk::Error(GANTRY_INTERNAL,
                     "onednn: the nodes of a claim are no function of numbers of 8 bits any more");
  }
  sdk::Choices none;
  return make_byte_function({index, args, unit_of_one(index, nodes.front()), none}, *function);
}

class OnednnProvider final : public sdk::Provider {
 public:
  explicit OnednnProvider(const gantry_offer& offer) : Provider(offer, "onednn", {}) {
    api_.reorder = [](gantry_provider* self, gantry_run* run, gantry_stream*,
                      const gantry_tensor* source, gantry_tensor* target) {
      const auto* provider =
          static_cast<const OnednnProvider*>(reinterpret_cast<const sdk::Provider*>(self));
      return sdk::guard(provider->host(),
                        [&] { bring_to_dense(provider->host(), run, *source, *target); });
    };
  }
  ~OnednnProvider() override { Ahead::end_thread(); }
  OnednnProvider(const OnednnProvider&) = delete;
  OnednnProvider& operator=(const OnednnProvider&) = delete;

  void devices(const gantry_device_sink& sink) override {
    const std::string name = "oneDNN " + version();
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("CPU");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str(name);
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    Ahead::end_with_this_thread();
    require_instructions(Options(request.options));
    claim_nodes(host(), request);
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile_keeping(const gantry_compile& args,
                                                             std::string& blob) const override {
    const Compiling compiling;
    if (args.tag >= kFamilies.size() || args.node_count == 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "onednn: asked to compile a claim that it did not make");
    }
    const Family& family = kFamilies[args.tag];
    std::vector<uint32_t> nodes(args.nodes, args.nodes + args.node_count);
    std::sort(nodes.begin(), nodes.end());
    const GraphIndex index(host(), *args.graph, nodes);
    const auto is_among = [&](uint32_t node) {
      return std::binary_search(nodes.begin(), nodes.end(), node);
    };
    if (args.tag == kAttention) return compile_attention(index, args, nodes);
    if (args.tag == kElementwise) return compile_elementwise(index, args, nodes);
    if (args.tag == kDepthwiseBlock) return compile_depthwise_block(index, args, nodes);
    if (args.tag == kByteFunction) return compile_byte_function(index, args, nodes);
    const uint32_t anchor = anchor_of(index, nodes);
    sdk::Choices choices(args.blob, args.blob_bytes, fingerprint_of(index, args));
    if (!choices.refusal().empty()) {
      const std::string line =
          index.node(anchor).label() +
          ": compiled afresh, as its compiled form does not fit: " + choices.refusal();
      host()->log(GANTRY_LOG_INFO, sdk::to_str(line));
    }
    Unit unit = family.traits ? unit_of(index, anchor, family.traits(index, anchor), is_among)
                              : unit_of_one(index, anchor);
    unit.rounds_to_bf16 = is_worth_rounding(index, unit, Options(args.options));
    if (is_depthwise_here(index, unit)) take_shuffle(index, unit, is_among);
    std::unique_ptr<sdk::Kernel> made = family.make({index, args, std::move(unit), choices});
    blob = choices.blob();
    return made;
  }
};

}  // namespace
}  // namespace gantry::onednn

GANTRY_DEFINE_PROVIDER(gantry::onednn::OnednnProvider)
