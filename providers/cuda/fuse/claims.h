// SPDX-License-Identifier: Apache-2.0
// Claims: which nodes of a graph the provider takes, and how they are fused. Fusions around a root
// node come first, then sets of element-wise nodes; the rest is taken by the kernel rows.
#pragma once

#include <gantry/sdk/fusion.h>
#include <gantry/sdk/rows.h>

#include <memory>
#include <string>
#include <vector>

#include "fuse/fusion.h"

namespace gantry::cuda {

/// Conditions of ChannelsLast (fusion.h) that the session and the device fulfil.
struct LayoutOptions {
  bool has_dnn = false;         ///< cuDNN is available
  bool rounds_to_tf32 = false;  ///< f32 may be rounded to TF32
};

/// Estimated time of one run of a node, in nanoseconds, for the placement.
double estimated_ns(const sdk::NodeView& node, uint32_t device);

/// Makes the claims of one request, which it borrows. One thread.
class Claims {
 public:
  /// `fusions`: each match of which is a Fusion.
  Claims(const gantry_host* host, const gantry_claim_request& request, sdk::FusionTable fusions,
         const LayoutOptions& options);

  /// Claims all fusions. Their nodes are also claimed one by one, in case a fusion is not granted.
  void claim_fusions();
  /// The request's sink, less the refusals of nodes that are claimed here. Valid as long as this
  /// object.
  [[nodiscard]] gantry_claim_sink sink_of_rest();

 private:
  /// A claim under construction.
  struct Row {
    const std::vector<uint32_t>& nodes;  // ascending
    std::vector<gantry_port> inputs;
    std::vector<gantry_port> outputs;
    uint64_t tag;
  };

  void find_elementwise();
  void claim_matches(size_t row);
  bool claim_fusion(size_t row, const Fusion& fusion);
  void claim_sets();
  void claim_set(const std::vector<uint32_t>& nodes, bool offers_channels_last = false);
  [[nodiscard]] bool offers(ChannelsLast when) const;
  [[nodiscard]] bool is_clip_bound(const std::vector<sdk::InputSlot>& slots, uint32_t value) const;
  [[nodiscard]] Row row_of(const std::vector<uint32_t>& nodes, size_t row, uint32_t root) const;
  void claim(const Row& row) const;
  void pass_on(const gantry_claim& row) const;

  const gantry_host* host_;
  const gantry_claim_request& request_;
  const sdk::FusionTable fusions_;
  const LayoutOptions options_;
  sdk::GraphIndex index_;
  std::vector<bool> is_elementwise_;       // by node: it may be fused
  std::vector<bool> is_claimed_;           // by node
  std::vector<bool> works_channels_last_;  // by node
  std::vector<std::string> refusals_;      // by node, of known operators
};

/// Whether a claim with that tag is a fusion or a set; else it is one of a kernel row.
bool is_fusion(uint64_t tag);
/// The kernel of a fusion that was granted. Requires is_fusion(args.tag), and the same `fusions` as
/// for the claim. INVALID_ARGUMENT: an unknown tag. INTERNAL: the match is not found again.
std::unique_ptr<sdk::Kernel> compile_claim(const gantry_host* host, const gantry_compile& args,
                                           sdk::FusionTable fusions);

}  // namespace gantry::cuda
