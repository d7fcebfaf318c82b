// SPDX-License-Identifier: Apache-2.0
#include "program/fragment.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "plugin/error.h"

gantry_fragment::gantry_fragment(const gantry::Claim& claim, const gantry::ClaimSlots& slots,
                                 const gantry::OnnxModel* model)
    : model_(model) {
  nodes_.nodes.assign(claim.nodes.begin(), claim.nodes.end());
  nodes_.inputs.assign(slots.inputs.begin(), slots.inputs.end());
  // An output that nobody reads is left out, so that no provider has to compute it.
  std::copy_if(slots.outputs.begin(), slots.outputs.end(), std::back_inserter(nodes_.outputs),
               [](const gantry::GraphValue* value) { return value && value->is_read(); });
  if (nodes_.outputs.empty())  // a model must have an output
    nodes_.outputs.assign(slots.outputs.begin(), slots.outputs.end());
}

const gantry::ExportedModel& gantry_fragment::exported() {
  const gantry::MutexLock lock(mutex_);
  if (!exported_) exported_ = gantry::export_fragment(nodes_, model_);
  return *exported_;
}

namespace gantry {
namespace {

void require(bool is_there, const char* function, const char* what) {
  if (is_there) return;
  throw Error(Code::kInvalidArgument,
              std::string(function) + ": expected " + what + ", found null");
}

}  // namespace

gantry_error* fragment_model(gantry_fragment* fragment, void* target,
                             void (*write)(void* target, const void* data, uint64_t size_bytes)) {
  return guard([&] {
    require(fragment != nullptr, "fragment_model", "the fragment of the compile call");
    require(write != nullptr, "fragment_model", "a function to write with");
    const ExportedModel& model = fragment->exported();
    write(target, model.bytes.data(), model.bytes.size());
  });
}

gantry_error* fragment_weight(gantry_fragment* fragment, uint64_t index, const void** out_data,
                              uint64_t* out_size_bytes) {
  return guard([&] {
    require(fragment != nullptr, "fragment_weight", "the fragment of the compile call");
    require(out_data && out_size_bytes, "fragment_weight", "places for address and size");
    const ExportedModel& model = fragment->exported();
    if (index >= model.weights.size()) {
      throw Error(Code::kInvalidArgument, "fragment_weight: index " + std::to_string(index) +
                                              " is out of range; the model names " +
                                              std::to_string(model.weights.size()) + " weights");
    }
    const gantry_tensor& weight = model.weights[index]->view;
    *out_data = weight.data;
    *out_size_bytes = weight.size_bytes;
  });
}

}  // namespace gantry
