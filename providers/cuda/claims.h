// SPDX-License-Identifier: Apache-2.0
// What of a graph the provider takes: element-wise nodes in sets, the rest by the rows of its
// kernels.
#pragma once

#include <gantry/sdk/graph_index.h>
#include <gantry/sdk/rows.h>

#include <memory>
#include <vector>

#include "product_chain.h"

namespace gantry::cuda {

/// Tag of claims of element-wise sets; rows have their numbers.
constexpr uint64_t kSetTag = uint64_t{1} << 32;
/// Tag of claims of a product with what stands behind it.
constexpr uint64_t kProductTag = uint64_t{1} << 33;

/// Tag of claims of a convolution with what stands behind it.
constexpr uint64_t kConvTag = uint64_t{1} << 34;

/// Tag of claims of products with one left factor.
constexpr uint64_t kGroupTag = uint64_t{1} << 36;

/// Tag of claims of a pooling that takes tensors channels-last.
constexpr uint64_t kPoolTag = uint64_t{1} << 35;

/// Tag of claims of a normalisation by channel that takes tensors channels-last.
constexpr uint64_t kNormTag = uint64_t{1} << 37;

/// Tag of claims of products and convolutions of 8-bit numbers with what says so around them.
constexpr uint64_t kByteTag = uint64_t{1} << 38;

/// The rows of all kernels that are not element-wise.
std::vector<sdk::KernelTable> all_kernels();

/// Estimated time of one run of a node.
double estimated_ns(const sdk::NodeView& node, uint32_t device);

/// One claim question. Borrows the request.
class Claims {
 public:
  /// `has_dnn`: cuDNN is there, so that convolutions are worth a format of their own;
  /// `rounds_to_tf32`: those of f32 too.
  Claims(const gantry_host* host, const gantry_claim_request& request, bool has_dnn,
         bool rounds_to_tf32);

  /// Claims products and element-wise nodes in sets, and their nodes one by one too, for when a set
  /// is not granted.
  void claim_sets();
  /// The request's sink without what is said of nodes that are claimed here. Lives as long as this
  /// object.
  [[nodiscard]] gantry_claim_sink sink_of_rest();

 private:
  void claim_bytes(std::vector<bool>& is_elementwise);
  void claim_products(std::vector<bool>& is_elementwise);
  void claim_convolutions(std::vector<bool>& is_elementwise);
  void claim_pools();
  void claim_norms();
  void claim_groups(const std::vector<ProductChain>& products);
  [[nodiscard]] std::vector<gantry_port> plain_ports(const std::vector<uint32_t>& nodes) const;
  void claim_one_by_one(const std::vector<uint32_t>& nodes, std::vector<bool>& is_elementwise);
  void claim_set(const std::vector<uint32_t>& nodes, bool offers_last = false);
  void claim(const std::vector<uint32_t>& nodes, const std::vector<gantry_port>& inputs,
             uint64_t overwrites, uint64_t tag, bool offers_channels_last = false);
  [[nodiscard]] uint32_t output_slots(const std::vector<uint32_t>& nodes) const;
  void pass_on(const gantry_claim& row) const;

  const gantry_host* host_;
  const gantry_claim_request& request_;
  const bool has_dnn_;
  const bool rounds_to_tf32_;
  sdk::GraphIndex index_;
  std::vector<bool> is_claimed_;       // by node
  std::vector<bool> works_last_;       // by node: it offers channels-last
  std::vector<std::string> refusals_;  // by node, of known operators
};

/// The kernel of a set that was granted, by its tag.
std::unique_ptr<sdk::Kernel> compile_set(const gantry_host* host, const gantry_compile& args);

}  // namespace gantry::cuda
