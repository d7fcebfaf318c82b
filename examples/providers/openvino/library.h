// SPDX-License-Identifier: Apache-2.0
// OpenVINO's C library, opened at run time, so that the provider loads on machines without it and
// reports its devices as absent there. Any thread.
#pragma once

#include <memory>
#include <openvino/c/openvino.h>
#include <string>

namespace gantry_openvino {

/// The functions of the C API that are used. `library.name` is a pointer to function `name`.
#define GANTRY_OPENVINO_FUNCTIONS(use)            \
  use(ov_get_openvino_version);                   \
  use(ov_version_free);                           \
  use(ov_get_last_err_msg);                       \
  use(ov_free);                                   \
  use(ov_core_create);                            \
  use(ov_core_free);                              \
  use(ov_core_get_property);                      \
  use(ov_core_read_model_from_memory_buffer);     \
  use(ov_core_compile_model_props);               \
  use(ov_model_free);                             \
  use(ov_model_reshape);                          \
  use(ov_partial_shape_create_static);            \
  use(ov_partial_shape_free);                     \
  use(ov_compiled_model_free);                    \
  use(ov_compiled_model_input_by_name);           \
  use(ov_compiled_model_output_by_name);          \
  use(ov_compiled_model_create_infer_request);    \
  use(ov_output_const_port_free);                 \
  use(ov_port_get_partial_shape);                 \
  use(ov_port_get_element_type);                  \
  use(ov_infer_request_free);                     \
  use(ov_infer_request_set_tensor_by_const_port); \
  use(ov_infer_request_get_tensor_by_const_port); \
  use(ov_infer_request_infer);                    \
  use(ov_tensor_create_from_host_ptr);            \
  use(ov_tensor_get_shape);                       \
  use(ov_tensor_data);                            \
  use(ov_tensor_free);                            \
  use(ov_shape_free)

class Library {
 public:
  /// Opens the library once per process; later calls return the same object, whatever their `path`.
  /// Throws UNAVAILABLE if it cannot be opened or lacks a function.
  static const Library& open(const std::string& path);

// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define GANTRY_OPENVINO_DECLARE(name) decltype(&::name) name = nullptr
  GANTRY_OPENVINO_FUNCTIONS(GANTRY_OPENVINO_DECLARE);
#undef GANTRY_OPENVINO_DECLARE

  /// Throws OpenVINO's last error message unless `status` is success. `subject` begins the message.
  void check(ov_status_e status, const std::string& subject) const;
  /// The version, as "2026.4.1".
  [[nodiscard]] std::string version() const;

 private:
  explicit Library(const std::string& path);
};

/// Owns an object of the library.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

}  // namespace gantry_openvino
