// SPDX-License-Identifier: Apache-2.0
// gantry.Tensor: a tensor in device memory, and its export to other libraries.
#include <gantry/gantry.h>

#include <cstdint>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "dlpack_export.h"
#include "dtypes.h"
#include "errors.h"
#include "gil.h"
#include "process_runtime.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

nb::tuple extents_tuple(const Tensor& tensor) {
  nb::list extents;
  for (const int64_t extent : tensor.shape()) extents.append(extent);
  return nb::tuple(extents);
}

constexpr const char* kTensorDoc =
    "A tensor in the memory of a device. Session.allocate_on makes one, Session.from_dlpack takes "
    "one from another library, and outputs that are left on a device are such. It may be an input "
    "of every session that uses the device, and it outlives them.\n\n"
    "Other libraries get it by DLPack where the device's provider lets them (CUDA): "
    "torch.from_dlpack(tensor). When a run or a copy returns, the device is done with it, so that "
    "no stream has to wait for it.\n\n"
    ">>> cache = session.allocate_on(\"CUDA:0\", \"float16\", [1, 8, 4096, 64])";

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Tensor>(module, "Tensor", kTensorDoc)
      .def_prop_ro(
          "device", [](const Tensor& tensor) { return tensor.device().to_string(); }, "\"CUDA:0\".")
      .def_prop_ro(
          "dtype", [](const Tensor& tensor) { return std::string(to_string(tensor.dtype())); },
          "\"float32\"; of the elements.")
      .def_prop_ro("shape", extents_tuple, nb::sig("def shape(self) -> tuple[int, ...]"),
                   "The extents.")
      .def_prop_ro("size_bytes", &Tensor::size_bytes,
                   "Of the elements; those of fewer than 8 bits are packed.")
      .def_prop_ro(
          "address",
          [](const Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.data()); },
          "Of the first element, in the device's memory.")
      .def("numpy", &array_of, nb::sig("def numpy(self) -> typing.Any"),
           "A numpy array of the elements: a copy, which is waited for; the interpreter's lock is "
           "free meanwhile.\n\n>>> tensor.numpy()")
      .def(
          "copy_from",
          [](Tensor& tensor, const Tensor& source) {
            const GilRelease unlocked;
            Session::copy(source, tensor);
          },
          nb::arg("source"))
      .def(
          "copy_from",
          [](Tensor& tensor, nb::handle source) {
            ValueInfo info;
            info.name = "source";
            info.kind = Kind::kTensor;
            info.dtype = tensor.dtype();
            const Tensor host = to_host_tensor(source, info);
            const GilRelease unlocked;
            Session::copy(host, tensor);
          },
          nb::arg("source"), nb::sig("def copy_from(self, source: typing.Any) -> None"),
          "Copies the elements of an array, or of another gantry.Tensor of any device, here, and "
          "waits for it.\n\n"
          "Raises InvalidArgumentError: another element type or shape.\n\n"
          ">>> tensor.copy_from(np.zeros(tensor.shape, tensor.dtype))")
      .def(
          "__dlpack__", &dlpack_capsule, nb::kw_only(), nb::arg("stream") = nb::none(),
          nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
          nb::arg("copy") = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] "
                  "| None = None, dl_device: tuple[int, int] | None = None, copy: bool | None = "
                  "None) -> typing.Any"),
          "The memory for another library, as the array API standard has it; a copy for "
          "dl_device=(1, 0), the host. Raises BufferError: others cannot use the device's memory, "
          "or not so.")
      .def(
          "__dlpack_device__",
          [](const Tensor& tensor) {
            const DlpackDevice device = dlpack_device(tensor);
            return std::pair(device.type, device.id);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
          "Type and number of the device in DLPack. Raises BufferError: others cannot use its "
          "memory.")
      .def("__repr__", [](nb::handle tensor) {
        return repr(tensor, {"device", "dtype", "shape"});
      });
  module.def(
      "allocate_on",
      [](const std::string& device, nb::handle dtype, std::vector<int64_t> shape) {
        const DType type = given_dtype(dtype);
        const GilRelease unlocked;
        return runtime().allocate_on(device, type, std::move(shape));
      },
      nb::arg("device"), nb::arg("dtype"), nb::arg("shape"),
      nb::sig("def allocate_on(device: str, dtype: typing.Any, shape: "
              "collections.abc.Sequence[int]) -> Tensor"),
      "As Session.allocate_on, for whichever sessions come to use it.");
}

}  // namespace gantry::python
