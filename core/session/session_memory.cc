// SPDX-License-Identifier: Apache-2.0
// Tensors for the inputs and outputs of a session, in memory that its providers use in place.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/value.h"
#include "plugin/isolation/shared_tensor.h"
#include "session/session_impl.h"

namespace gantry {
namespace {

std::vector<int64_t> extents_of(const ValueInfo& info, std::vector<int64_t> wanted) {
  const bool is_open = !info.has_rank || std::any_of(info.shape.begin(), info.shape.end(),
                                                     [](int64_t extent) { return extent < 0; });
  if (!wanted.empty()) return wanted;
  if (is_open) {
    throw Error(Code::kInvalidArgument, "\"" + info.name + "\": the model leaves its shape open, " +
                                            "and none was given; name the extents");
  }
  return info.shape;
}

}  // namespace

Tensor Session::Impl::allocate(const std::string& name, std::vector<int64_t> shape) const {
  const auto input = input_index.find(name);
  const bool is_input = input != input_index.end();
  if (!is_input && !output_index.contains(name)) {
    std::vector<ValueInfo> both = inputs;
    both.insert(both.end(), outputs.begin(), outputs.end());
    fail_unknown("input or output", name, both);
  }
  const size_t index = is_input ? input->second : index_of_output(name);
  const ValueInfo& info = is_input ? inputs[index] : outputs[index];
  if (info.kind != Kind::kTensor || info.dtype == DType::kString ||
      info.dtype == DType::kUndefined) {
    throw Error(Code::kInvalidArgument, "\"" + name +
                                            "\" is no tensor of numbers, so there is no "
                                            "memory to be had for it");
  }
  const Program& program = executor->program();
  const uint32_t slot = is_input ? program.inputs()[index] : program.outputs()[index].slot;
  const uint32_t shared_region = slot == kNoSlot ? 0 : program.slots()[slot].shared_region;
  std::vector<int64_t> extents = extents_of(info, std::move(shape));
  Value value(shared_region == 0
                  ? make_tensor(info.dtype, std::move(extents))
                  : make_tensor_in(executor->devices().shared_region(shared_region).shared(),
                                   info.dtype, std::move(extents)));
  if (is_input) {
    check_input(index, value);
  } else {
    check_output(index, value);
  }
  return value.tensor();
}

Tensor Session::Impl::allocate_bytes(uint64_t size_bytes) const {
  if (size_bytes > static_cast<uint64_t>(INT64_MAX)) {
    throw Error(Code::kInvalidArgument, "allocate_bytes: expected less than 2^63 bytes, found " +
                                            std::to_string(size_bytes));
  }
  const Program& program = executor->program();
  uint32_t shared_region = 0;
  const auto look_at = [&](uint32_t slot) {
    if (shared_region == 0 && slot != kNoSlot) shared_region = program.slots()[slot].shared_region;
  };
  for (const uint32_t slot : program.inputs()) look_at(slot);
  for (const OutputSource& output : program.outputs()) look_at(output.slot);
  std::vector<int64_t> shape = {static_cast<int64_t>(size_bytes)};
  return Value(shared_region == 0
                   ? make_tensor(DType::kUint8, std::move(shape))
                   : make_tensor_in(executor->devices().shared_region(shared_region).shared(),
                                    DType::kUint8, std::move(shape)))
      .tensor();
}

Tensor Session::allocate(const std::string& name, std::vector<int64_t> shape) const {
  return impl().allocate(name, std::move(shape));
}

Tensor Session::allocate_bytes(uint64_t size_bytes) const {
  return impl().allocate_bytes(size_bytes);
}

}  // namespace gantry
