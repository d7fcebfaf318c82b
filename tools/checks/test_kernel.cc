// SPDX-License-Identifier: Apache-2.0
#include "test_kernel.h"

#include "node_compile.h"

namespace gantry::checks {

gantry_error* compile_node(const OpenProvider& provider, const Subject& subject, uint32_t device,
                           const gantry_graph* graph, const TestClaim& claim,
                           gantry_kernel* out_kernel, const std::string& blob) {
  NodeCompile call(device, graph, claim.tag, subject);
  gantry_compile& args = call.args;
  if (!blob.empty()) args.blob = blob.data();
  args.blob_bytes = blob.size();
  *out_kernel = {};
  out_kernel->size = sizeof(*out_kernel);
  return provider.api().compile(provider.self(), &args, out_kernel);
}

TestKernel::TestKernel(const OpenProvider& provider, const Subject& subject,
                       const TestDevice& device, std::shared_ptr<OpenDevice> opened,
                       const Variant& variant)
    : provider_(provider), device_(std::move(opened)) {
  for (probe_ = variant.skipped; probe_ < probe_operators().size(); ++probe_) {
    const ProbeOperator& probe = probe_operators()[probe_];
    const std::vector<std::shared_ptr<HostValue>> inputs = probe_inputs(probe, variant.is_other);
    TestGraph graph = probe_graph(probe, inputs);
    if (variant.is_other) graph.set_name(0, "another");
    const TestAnswer answer = ask(provider, subject, device.index, graph.view());
    const TestClaim* row = answer.row_of(0);
    if (!row) continue;
    op_type_ = probe.op_type;
    claim_ = *row;
    graph_ = std::move(graph);
    inputs_ = inputs;
    break;
  }
  if (op_type_.empty()) {
    throw Skip(
        "the device claims none of the operators that this check could use (Relu, Add, ...)");
  }
  if (!device.has_host_memory() && !device_)
    device_ = std::make_shared<OpenDevice>(provider, device.index);
  expect_ok(
      compile_node(provider, subject, device.index, graph_.view(), claim_, &kernel_, variant.blob),
      "compile of " + op_type_ + ", which was claimed," +
          (variant.blob.empty() ? "" : " with a blob that need not fit"));
  expect(kernel_.run != nullptr,
         "compile of " + op_type_ +
             ": expected a kernel with a run slot, "
             "found null",
         "set gantry_kernel.run");
}

TestKernel::~TestKernel() {
  if (kernel_.destroy) kernel_.destroy(kernel_.self);
}

std::string TestKernel::blob() const {
  std::string blob;
  if (!kernel_.serialize) return blob;
  const auto write = [](void* target, const void* data, uint64_t size_bytes) {
    static_cast<std::string*>(target)->append(static_cast<const char*>(data), size_bytes);
  };
  expect_ok(kernel_.serialize(kernel_.self, &blob, write), "serialize of " + op_type_);
  return blob;
}

}  // namespace gantry::checks
