// SPDX-License-Identifier: Apache-2.0
#include "onednn/fingerprint.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "onednn/digest.h"
#include "onednn/library.h"

namespace gantry::x86 {
namespace {

constexpr uint64_t kSmall = 256;  // bytes

void add(std::string& text, int64_t number) { text += std::to_string(number) + ","; }

void add(std::string& text, std::string_view word) {
  add(text, static_cast<int64_t>(word.size()));
  text += word;
}

void add_bytes(std::string& text, const gantry_tensor& tensor) {
  const auto* bytes = static_cast<const char*>(tensor.data);
  const uint64_t size = tensor.size_bytes;
  add(text, static_cast<int64_t>(size));
  if (bytes && size <= kSmall) text.append(bytes, size);
}

void add_value(std::string& text, const sdk::ValueView& value) {
  add(text, value.present() ? 1 : 0);
  if (!value.present()) return;
  add(text, value.name());
  add(text, value.dtype());
  add(text, value.rank());
  for (int i = 0; i < value.rank(); ++i) add(text, value.extent(i));
  if (const gantry_tensor* constant = value.constant()) add_bytes(text, *constant);
}

void add_attribute(std::string& text, const gantry_attribute& attribute) {
  add(text, sdk::to_view(attribute.name));
  add(text, attribute.type);
  for (uint64_t i = 0; i < attribute.count; ++i) {
    if (attribute.ints) add(text, attribute.ints[i]);
    if (attribute.floats) text.append(reinterpret_cast<const char*>(attribute.floats + i), 4);
    if (attribute.strings) add(text, sdk::to_view(attribute.strings[i]));
  }
}

void add_formats(std::string& text, const gantry_format* const* formats, uint32_t count) {
  for (uint32_t i = 0; formats && i < count; ++i) add(text, formats[i] ? 1 : 0);
}

}  // namespace

std::string fingerprint_of(const GraphIndex& index, const gantry_compile& args) {
  std::string claim;
  add(claim, static_cast<int64_t>(args.tag));
  add(claim, args.threads);
  add(claim, sdk::to_view(args.options));
  add_formats(claim, args.input_formats, args.input_count);
  add_formats(claim, args.output_formats, args.output_count);
  for (uint32_t i = 0; i < args.node_count; ++i) {
    const gantry_node& raw = index.raw(args.nodes[i]);
    const sdk::NodeView node = index.node(args.nodes[i]);
    add(claim, node.op_type());
    add(claim, node.domain());
    add(claim, node.since_version());
    add(claim, sdk::to_view(raw.name));
    for (uint32_t j = 0; j < raw.attribute_count; ++j) add_attribute(claim, *raw.attributes[j]);
    for (int j = 0; j < node.input_count(); ++j) add_value(claim, node.input(j));
    for (int j = 0; j < node.output_count(); ++j) add_value(claim, node.output(j));
  }
  const Digest digest = digest_of(claim.data(), 0, claim);
  std::array<char, 33> hex{};
  std::snprintf(hex.data(), hex.size(), "%016llx%016llx",
                static_cast<unsigned long long>(digest[0]),
                static_cast<unsigned long long>(digest[1]));
  return "oneDNN " + version() + " " + build() + ", instructions " +
         std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa())) + ", claim " + hex.data();
}

}  // namespace gantry::x86
