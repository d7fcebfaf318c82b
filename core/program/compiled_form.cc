// SPDX-License-Identifier: Apache-2.0
#include "program/compiled_form.h"

#include <cstdint>

namespace gantry {
namespace {

// Describes a claim. Lengths before texts and counts before lists make descriptions unambiguous.
class Description {
 public:
  void add(uint64_t number) { text_ += std::to_string(number) + ";"; }
  void add(const std::string& text) { text_ += std::to_string(text.size()) + ":" + text; }
  void add(const gantry_format* format) {
    if (!format) return add(uint64_t{0});
    add(uint64_t{format->rank} + 1);
    for (uint32_t i = 0; i < format->rank; ++i) add(uint64_t{format->order[i]});
    add(uint64_t{format->block_axis});
    add(uint64_t{format->block_extent});
    add(format->private_id);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string describe_claim(const Claim& claim, const gantry_compile& args) {
  Description text;
  text.add(claim.candidate->provider->name());
  text.add(claim.candidate->device.to_string());
  text.add(claim.candidate->options);
  text.add(claim.kernel);
  text.add(claim.tag);
  text.add(uint64_t{args.threads});
  text.add(claim.nodes.size());
  for (const Node* node : claim.nodes) text.add(node->name);
  for (uint32_t i = 0; i < args.input_count; ++i) text.add(args.input_formats[i]);
  for (uint32_t i = 0; i < args.output_count; ++i) text.add(args.output_formats[i]);
  return text.take();
}

}  // namespace

CompiledForm::CompiledForm(Artefact* artefact, const Claim& claim, gantry_compile& args)
    : artefact_(artefact) {
  if (!artefact_) return;
  claim_ = artefact_->begin_claim(describe_claim(claim, args));
  const auto blob = artefact_->blob(claim_);
  if (blob.empty()) return;
  args.blob = blob.data();
  args.blob_bytes = blob.size();
}

void CompiledForm::keep(const std::string& label, const gantry_kernel& kernel) const {
  if (artefact_) artefact_->keep(claim_, label, kernel);
}

}  // namespace gantry
