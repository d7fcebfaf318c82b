// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>
#include <gantry/model.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <string>

#include "bindings.h"
#include "dtypes.h"
#include "gil.h"
#include "model_source.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

/// Throws INVALID_ARGUMENT if ONNX has no such element type.
DType known_dtype(nb::handle numpy_dtype) {
  if (PyUnicode_Check(numpy_dtype.ptr())) return given_dtype(numpy_dtype);
  const DType dtype = dtype_of_numpy(numpy_dtype);
  if (dtype == DType::kUndefined) {
    throw Error(Code::kInvalidArgument, "ONNX has no element type for an array of " +
                                            nb::cast<std::string>(nb::str(numpy_dtype)));
  }
  return dtype;
}

}  // namespace

void bind_inspection(nb::module_& module) {
  module.def(
      "dtype_name",
      [](nb::handle numpy_dtype) { return std::string(to_string(known_dtype(numpy_dtype))); },
      nb::arg("dtype"), nb::sig("def dtype_name(dtype: typing.Any) -> str"),
      "The element type of a numpy.dtype: \"float32\".");
  module.def(
      "dtype_number",
      [](nb::handle numpy_dtype) { return static_cast<uint32_t>(known_dtype(numpy_dtype)); },
      nb::arg("dtype"), nb::sig("def dtype_number(dtype: typing.Any) -> int"),
      "Its number in onnx.TensorProto.DataType; also of gantry's name for it.");
  module.def(
      "numpy_dtype", [](uint32_t number) { return numpy_dtype_of(static_cast<DType>(number)); },
      nb::arg("number"), nb::sig("def numpy_dtype(number: int) -> typing.Any"),
      "The numpy.dtype of a number of onnx.TensorProto.DataType.");
  nb::class_<ModelSummary>(module, "ModelSummary", "What a model says of itself.")
      .def_ro("name", &ModelSummary::name, "Of the graph.")
      .def_prop_ro("producer",
                   [](const ModelSummary& model) { return model.description.producer_name; })
      .def_prop_ro("domain", [](const ModelSummary& model) { return model.description.domain; })
      .def_prop_ro("description", [](const ModelSummary& model) { return model.description.text; })
      .def_prop_ro("graph_description",
                   [](const ModelSummary& model) { return model.description.graph_text; })
      .def_prop_ro("version", [](const ModelSummary& model) { return model.description.version; })
      .def_ro("metadata", &ModelSummary::metadata);
  module.def(
      "inspect",
      [](nb::handle model) {
        const GivenModel given = given_model(model);
        const GilRelease unlocked;
        return inspect(given.source);
      },
      nb::arg("model"), nb::sig("def inspect(model: typing.Any) -> ModelSummary"),
      "Reads a model without placing it.");
}

}  // namespace gantry::python
