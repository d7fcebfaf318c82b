// SPDX-License-Identifier: Apache-2.0
#include "dlpack_export.h"

#include <gantry/error.h>

#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "dlpack_types.h"
#include "gil.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

nb::dlpack::dtype checked_dtype(const Tensor& tensor) {
  if (const auto dtype = dlpack_dtype(tensor.dtype())) return *dtype;
  throw nb::buffer_error(("DLPack has no type for packed elements of " +
                          std::string(to_string(tensor.dtype())) + "; numpy() unpacks them")
                             .c_str());
}

std::optional<DlpackDevice> wanted_device(nb::handle dl_device) {
  if (dl_device.is_none()) return {};
  std::pair<int32_t, int32_t> pair;
  if (!nb::try_cast(dl_device, pair))
    throw nb::type_error("dl_device: expected None or a pair of numbers");
  return DlpackDevice{pair.first, pair.second};
}

constexpr int32_t kCuda = 2;  // kDLCUDA

// Validates `stream`. CUDA streams need not wait, as the work of the session has ended.
void check_stream(DlpackDevice device, nb::handle stream) {
  if (stream.is_none()) return;
  int64_t number = 0;
  if (!nb::try_cast(stream, number)) throw nb::type_error("stream: expected None or a number");
  if (device.type == kCuda && (number == 0 || number < -1)) {
    throw nb::value_error(
        "stream: expected -1, 1 (the legacy default stream), 2 (the default stream of each "
        "thread) or the handle of one, found what stands for none of them");
  }
}

}  // namespace

DlpackDevice dlpack_device(const Tensor& tensor) {
  try {
    return tensor.lend();
  } catch (const Error& error) {
    throw nb::buffer_error(error.what());
  }
}

nb::object dlpack_capsule(const Tensor& tensor, nb::handle stream, nb::handle max_version,
                          nb::handle dl_device, nb::handle copy) {
  const std::optional<DlpackDevice> wanted = wanted_device(dl_device);
  const bool wants_copy = !copy.is_none() && nb::cast<bool>(copy);
  if (wanted && *wanted == DlpackDevice{}) {
    if (!copy.is_none() && !wants_copy)
      throw nb::buffer_error("copy=False: a tensor of a device is copied to get to the host");
    const nb::object array = array_of(tensor);
    return array.attr("__dlpack__")(nb::arg("max_version") = max_version);
  }
  const DlpackDevice device = dlpack_device(tensor);
  if (wanted && *wanted != device)
    throw nb::buffer_error("dl_device: expected the tensor's own device or the host");
  if (wants_copy) throw nb::buffer_error("copy=True: a copy on the device is not made");
  check_stream(device, stream);
  const nb::dlpack::dtype dtype = checked_dtype(tensor);
  auto kept = std::make_unique<Tensor>(tensor);
  void* data = kept->data();
  const nb::capsule owner(kept.get(), [](void* held) noexcept {
    const GilRelease unlocked;  // releasing a borrowed tensor waits for the device
    delete static_cast<Tensor*>(held);
  });
  kept.release();
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  nb::ndarray<nb::array_api> view(data, shape.size(), shape.data(), owner, nullptr, dtype,
                                  device.type, device.id);
  return view.cast().attr("__dlpack__")(nb::arg("max_version") = max_version);
}

}  // namespace gantry::python
