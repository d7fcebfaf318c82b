// SPDX-License-Identifier: Apache-2.0
#include "conv/window.h"

#include <algorithm>

namespace gantry::x86 {

std::string Window::read(const sdk::NodeView& node, size_t spatial_rank) {
  const auto all = [&](const Dims& list, int64_t least, const char* name) -> std::string {
    if (list.size() != spatial_rank) {
      return std::string(name) + " has " + std::to_string(list.size()) + " entries for " +
             std::to_string(spatial_rank) + " spatial axes";
    }
    constexpr int64_t kMost = 1 << 20;
    const bool fits =
        std::all_of(list.begin(), list.end(), [&](int64_t x) { return x >= least && x <= kMost; });
    return fits ? std::string() : std::string(name) + " has an entry that is out of range";
  };
  const std::string mode = node.get_string("auto_pad", "NOTSET");
  kernel = node.get_ints("kernel_shape", kernel);
  strides = node.get_ints("strides", Dims(spatial_rank, 1));
  dilations = node.get_ints("dilations", Dims(spatial_rank, 1));
  const Dims pads = node.get_ints("pads", Dims(2 * spatial_rank, 0));
  rounds_up = node.get_int("ceil_mode", 0) != 0;
  if (pads.size() != 2 * spatial_rank) return "pads does not have two entries for each axis";
  pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial_rank));
  pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial_rank), pads.end());
  if (mode == "SAME_UPPER") {
    automatic = Auto::kSameUpper;
  } else if (mode == "SAME_LOWER") {
    automatic = Auto::kSameLower;
  } else if (mode == "VALID") {
    pads_begin = pads_end = Dims(spatial_rank, 0);
  } else if (mode != "NOTSET") {
    return "auto_pad is \"" + mode + "\"";
  }
  for (const std::string& fault :
       {all(kernel, 1, "kernel_shape"), all(strides, 1, "strides"), all(dilations, 1, "dilations"),
        all(pads_begin, 0, "pads"), all(pads_end, 0, "pads")}) {
    if (!fault.empty()) return fault;
  }
  // Dilation means nothing for an extent of 1, but oneDNN would look for code that has it.
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] == 1) dilations[i] = 1;
  }
  return {};
}

Window::Placed Window::place(const Dims& input) const {
  Placed placed{input, pads_begin, pads_end};
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t extent = dilations[i] * (kernel[i] - 1) + 1;
    int64_t& begin = placed.pads_begin[i];
    int64_t& end = placed.pads_end[i];
    if (automatic != Auto::kNone) {
      const int64_t output = (input[i] + strides[i] - 1) / strides[i];
      const int64_t total = std::max<int64_t>(0, (output - 1) * strides[i] + extent - input[i]);
      begin = automatic == Auto::kSameUpper ? total / 2 : total - total / 2;
      end = total - begin;
    }
    const int64_t room = input[i] + begin + end - extent;
    // With ceil_mode a first, incomplete window counts too, if it lacks less than a stride.
    const bool has_window = room >= 0 || (rounds_up && room > -strides[i]);
    int64_t output = room < 0 ? 0 : room / strides[i] + 1;
    if (rounds_up && has_window && input[i] > 0) {
      // No window may begin in the padding behind the input.
      const int64_t starts = (input[i] + begin - 1) / strides[i] + 1;
      output = std::min(output + (room % strides[i] != 0 ? 1 : 0), starts);
    }
    placed.output[i] = output;
    end = (output - 1) * strides[i] + extent - input[i] - begin;
  }
  return placed;
}

}  // namespace gantry::x86
