// SPDX-License-Identifier: Apache-2.0
// gantry_compile.fragment: the nodes of one claim, which its provider can export as an ONNX model
// while it compiles them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "onnx/exporter.h"
#include "placement/graph_placement.h"

/// Valid during one compile call. Any thread.
struct gantry_fragment {
 public:
  /// `model`: has the functions that the nodes call; null: no functions.
  gantry_fragment(const gantry::Claim& claim, const gantry::ClaimSlots& slots,
                  const gantry::OnnxModel* model);

  /// The nodes as a model, exported on the first call, since most providers never ask. Errors as
  /// export_fragment.
  const gantry::ExportedModel& exported();

 private:
  gantry::Fragment nodes_;
  const gantry::OnnxModel* model_;
  gantry::Mutex mutex_;
  std::optional<gantry::ExportedModel> exported_ GANTRY_GUARDED_BY(mutex_);
};

namespace gantry {

/// gantry_host.fragment_model and fragment_weight.
gantry_error* fragment_model(gantry_fragment* fragment, void* target,
                             void (*write)(void* target, const void* data, uint64_t size_bytes));
gantry_error* fragment_weight(gantry_fragment* fragment, uint64_t index, const void** out_data,
                              uint64_t* out_size_bytes);

}  // namespace gantry
