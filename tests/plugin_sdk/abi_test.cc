// SPDX-License-Identifier: Apache-2.0
// Holds GANTRY_ABI_LAYOUT to the structs of provider.h: a changed size or offset changes the hash,
// and this test says the new value.
#include <gantry/provider.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace {

class Layout {
 public:
  void add(uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) {
      hash_ ^= number >> (8 * byte) & 0xff;
      hash_ *= UINT64_C(0x100000001b3);
    }
  }
  [[nodiscard]] uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = UINT64_C(0xcbf29ce484222325);
};

#define MEMBER(type, member)          \
  layout.add(offsetof(type, member)); \
  layout.add(sizeof(type::member))

uint64_t hash_of_values() {
  Layout layout;
  layout.add(sizeof(gantry_str));
  layout.add(sizeof(gantry_format));
  MEMBER(gantry_format, size), MEMBER(gantry_format, rank), MEMBER(gantry_format, order),
      MEMBER(gantry_format, block_axis);
  MEMBER(gantry_format, block_extent), MEMBER(gantry_format, private_id);
  layout.add(sizeof(gantry_tensor));
  MEMBER(gantry_tensor, size), MEMBER(gantry_tensor, dtype), MEMBER(gantry_tensor, rank),
      MEMBER(gantry_tensor, device);
  MEMBER(gantry_tensor, shape), MEMBER(gantry_tensor, strides), MEMBER(gantry_tensor, data);
  MEMBER(gantry_tensor, size_bytes), MEMBER(gantry_tensor, format);
  return layout.hash();
}

uint64_t hash_of_graph() {
  Layout layout;
  layout.add(sizeof(gantry_value_info));
  MEMBER(gantry_value_info, kind), MEMBER(gantry_value_info, dtype),
      MEMBER(gantry_value_info, rank);
  MEMBER(gantry_value_info, shape), MEMBER(gantry_value_info, symbols),
      MEMBER(gantry_value_info, constant);
  MEMBER(gantry_value_info, name), MEMBER(gantry_value_info, producer),
      MEMBER(gantry_value_info, is_graph_output), MEMBER(gantry_value_info, read_count);
  layout.add(sizeof(gantry_attribute));
  MEMBER(gantry_attribute, type), MEMBER(gantry_attribute, name), MEMBER(gantry_attribute, count);
  MEMBER(gantry_attribute, ints), MEMBER(gantry_attribute, floats),
      MEMBER(gantry_attribute, strings);
  MEMBER(gantry_attribute, tensors), MEMBER(gantry_attribute, graphs);
  layout.add(sizeof(gantry_node));
  MEMBER(gantry_node, since_version), MEMBER(gantry_node, name), MEMBER(gantry_node, op_type),
      MEMBER(gantry_node, domain);
  MEMBER(gantry_node, overload), MEMBER(gantry_node, inputs), MEMBER(gantry_node, input_count);
  MEMBER(gantry_node, output_count), MEMBER(gantry_node, outputs), MEMBER(gantry_node, captures);
  MEMBER(gantry_node, capture_count), MEMBER(gantry_node, attribute_count),
      MEMBER(gantry_node, attributes);
  layout.add(sizeof(gantry_graph));
  MEMBER(gantry_graph, node_count), MEMBER(gantry_graph, nodes), MEMBER(gantry_graph, values);
  MEMBER(gantry_graph, value_count), MEMBER(gantry_graph, input_count),
      MEMBER(gantry_graph, inputs);
  MEMBER(gantry_graph, outputs), MEMBER(gantry_graph, output_count),
      MEMBER(gantry_graph, capture_count);
  MEMBER(gantry_graph, captures), MEMBER(gantry_graph, name);
  return layout.hash();
}

uint64_t hash_of_claims_and_kernels() {
  Layout layout;
  layout.add(sizeof(gantry_port));
  MEMBER(gantry_port, flags), MEMBER(gantry_port, overwrites), MEMBER(gantry_port, repeats);
  MEMBER(gantry_port, format_count), MEMBER(gantry_port, formats);
  layout.add(sizeof(gantry_claim));
  MEMBER(gantry_claim, flags), MEMBER(gantry_claim, nodes), MEMBER(gantry_claim, node_count),
      MEMBER(gantry_claim, port_size);
  MEMBER(gantry_claim, inputs), MEMBER(gantry_claim, outputs), MEMBER(gantry_claim, input_count);
  MEMBER(gantry_claim, output_count), MEMBER(gantry_claim, time_ns),
      MEMBER(gantry_claim, workspace_bytes);
  MEMBER(gantry_claim, kernel), MEMBER(gantry_claim, tag);
  layout.add(sizeof(gantry_claim_sink));
  MEMBER(gantry_claim_sink, self), MEMBER(gantry_claim_sink, claim),
      MEMBER(gantry_claim_sink, refuse);
  layout.add(sizeof(gantry_claim_request));
  MEMBER(gantry_claim_request, device), MEMBER(gantry_claim_request, graph),
      MEMBER(gantry_claim_request, options);
  MEMBER(gantry_claim_request, sink);
  layout.add(sizeof(gantry_call));
  MEMBER(gantry_call, input_count), MEMBER(gantry_call, output_count), MEMBER(gantry_call, inputs);
  MEMBER(gantry_call, values), MEMBER(gantry_call, wanted), MEMBER(gantry_call, run),
      MEMBER(gantry_call, stream);
  layout.add(sizeof(gantry_kernel));
  MEMBER(gantry_kernel, flags), MEMBER(gantry_kernel, self), MEMBER(gantry_kernel, run),
      MEMBER(gantry_kernel, destroy);
  MEMBER(gantry_kernel, context_create), MEMBER(gantry_kernel, context_destroy),
      MEMBER(gantry_kernel, serialize), MEMBER(gantry_kernel, implementation);
  layout.add(sizeof(gantry_compile));
  MEMBER(gantry_compile, device), MEMBER(gantry_compile, graph), MEMBER(gantry_compile, nodes);
  MEMBER(gantry_compile, node_count), MEMBER(gantry_compile, input_count),
      MEMBER(gantry_compile, inputs);
  MEMBER(gantry_compile, outputs), MEMBER(gantry_compile, output_count),
      MEMBER(gantry_compile, input_formats);
  MEMBER(gantry_compile, output_formats), MEMBER(gantry_compile, tag),
      MEMBER(gantry_compile, options);
  MEMBER(gantry_compile, blob), MEMBER(gantry_compile, blob_bytes),
      MEMBER(gantry_compile, fragment);
  return layout.hash();
}

uint64_t hash_of_devices_and_entry() {
  Layout layout;
  layout.add(sizeof(gantry_device_info));
  MEMBER(gantry_device_info, state), MEMBER(gantry_device_info, type),
      MEMBER(gantry_device_info, id);
  MEMBER(gantry_device_info, flags), MEMBER(gantry_device_info, uid),
      MEMBER(gantry_device_info, name);
  MEMBER(gantry_device_info, reason), MEMBER(gantry_device_info, memory_bytes);
  layout.add(sizeof(gantry_device_sink));
  MEMBER(gantry_device_sink, self), MEMBER(gantry_device_sink, device);
  layout.add(sizeof(gantry_copy));
  MEMBER(gantry_copy, kind), MEMBER(gantry_copy, target), MEMBER(gantry_copy, source),
      MEMBER(gantry_copy, rows);
  MEMBER(gantry_copy, row_bytes), MEMBER(gantry_copy, target_pitch),
      MEMBER(gantry_copy, source_pitch);
  layout.add(sizeof(gantry_offer));
  MEMBER(gantry_offer, minor), MEMBER(gantry_offer, layout), MEMBER(gantry_offer, host),
      MEMBER(gantry_offer, library);
  MEMBER(gantry_offer, manifest), MEMBER(gantry_offer, options);
  layout.add(sizeof(gantry_accept));
  MEMBER(gantry_accept, minor), MEMBER(gantry_accept, layout), MEMBER(gantry_accept, api);
  layout.add(sizeof(gantry_note));
  MEMBER(gantry_note, major), MEMBER(gantry_note, layout), MEMBER(gantry_note, minor),
      MEMBER(gantry_note, sanitizer);
  return layout.hash();
}

uint64_t hash_of_tables() {
  Layout layout;
  layout.add(sizeof(gantry_host));
  MEMBER(gantry_host, error_create), MEMBER(gantry_host, log), MEMBER(gantry_host, allocate);
  MEMBER(gantry_host, packed_acquire), MEMBER(gantry_host, packed_release),
      MEMBER(gantry_host, fragment_model);
  MEMBER(gantry_host, fragment_weight), MEMBER(gantry_host, value_kind),
      MEMBER(gantry_host, value_string);
  MEMBER(gantry_host, value_at), MEMBER(gantry_host, value_create_tensor),
      MEMBER(gantry_host, value_create);
  MEMBER(gantry_host, value_append), MEMBER(gantry_host, value_set_string),
      MEMBER(gantry_host, value_release);
  MEMBER(gantry_host, output), MEMBER(gantry_host, output_value),
      MEMBER(gantry_host, output_shrink);
  MEMBER(gantry_host, scratch), MEMBER(gantry_host, scratch_host),
      MEMBER(gantry_host, parallel_for);
  MEMBER(gantry_host, thread_count), MEMBER(gantry_host, should_stop),
      MEMBER(gantry_host, trace_begin);
  MEMBER(gantry_host, trace_end);
  layout.add(sizeof(gantry_provider_api));
  MEMBER(gantry_provider_api, self), MEMBER(gantry_provider_api, devices),
      MEMBER(gantry_provider_api, claim);
  MEMBER(gantry_provider_api, compile), MEMBER(gantry_provider_api, destroy),
      MEMBER(gantry_provider_api, device_open);
  MEMBER(gantry_provider_api, device_close), MEMBER(gantry_provider_api, memory_allocate);
  MEMBER(gantry_provider_api, memory_free), MEMBER(gantry_provider_api, stream_create);
  MEMBER(gantry_provider_api, stream_destroy), MEMBER(gantry_provider_api, stream_synchronize);
  MEMBER(gantry_provider_api, copy), MEMBER(gantry_provider_api, event_create),
      MEMBER(gantry_provider_api, event_destroy);
  MEMBER(gantry_provider_api, event_record), MEMBER(gantry_provider_api, event_wait);
  MEMBER(gantry_provider_api, event_synchronize), MEMBER(gantry_provider_api, capture_begin);
  MEMBER(gantry_provider_api, capture_end), MEMBER(gantry_provider_api, capture_launch);
  MEMBER(gantry_provider_api, capture_destroy), MEMBER(gantry_provider_api, format_bytes);
  MEMBER(gantry_provider_api, reorder), MEMBER(gantry_provider_api, native_handle);
  MEMBER(gantry_provider_api, event_query);
  return layout.hash();
}

TEST(Abi, LayoutHashIsTheOneInTheHeader) {
  std::ifstream lock(GANTRY_ABI_LOCK);
  std::map<std::string, std::string> facts;
  for (std::string line; std::getline(lock, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) facts.emplace(line.substr(0, space), line.substr(space + 1));
  }
  ASSERT_TRUE(facts.count("state") == 1 && facts.count("layout") == 1) << GANTRY_ABI_LOCK;
  // While structs may only grow, the number is that of the layout that was locked.
  if (facts["state"] == "locked") {
    EXPECT_EQ(std::stoull(facts["layout"], nullptr, 16), GANTRY_ABI_LAYOUT) << GANTRY_ABI_LOCK;
    return;
  }
  Layout layout;
  for (const uint64_t part : {hash_of_values(), hash_of_graph(), hash_of_claims_and_kernels(),
                              hash_of_devices_and_entry(), hash_of_tables()}) {
    layout.add(part);
  }
  EXPECT_EQ(layout.hash(), GANTRY_ABI_LAYOUT)
      << "The layout of provider.h changed. If it is meant, set GANTRY_ABI_LAYOUT to UINT64_C(0x"
      << std::hex << layout.hash() << "); providers must then be rebuilt.";
}

TEST(Abi, AMemberExistsIfItsEndLiesWithinTheSize) {
  gantry_port port = {};
  port.size = offsetof(gantry_port, repeats);
  EXPECT_TRUE(GANTRY_HAS(&port, overwrites));
  EXPECT_FALSE(GANTRY_HAS(&port, repeats));
  port.size = sizeof(port) + 64;  // a newer side
  EXPECT_TRUE(GANTRY_HAS(&port, formats));
}

}  // namespace
