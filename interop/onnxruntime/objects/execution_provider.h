// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime and a plugin execution provider give each other (OrtEpFactory, OrtEp and what
// belongs to them), by the layout that the API has had since version 1.23. Members that later
// versions appended are not read where `version` is that one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gantry::ort {

/// ONNX Runtime's own objects, of which only addresses are known here.
namespace host {
struct AnyValue;        // OrtValue
struct Attribute;       // OrtOpAttr
struct ComputeContext;  // OrtNodeComputeContext
struct Device;          // OrtHardwareDevice
struct EpDevice;        // OrtEpDevice
struct Graph;           // OrtGraph
struct GraphSupport;    // OrtEpGraphSupportInfo
struct KernelContext;   // OrtKernelContext
struct KeyValues;       // OrtKeyValuePairs
struct Logger;          // OrtLogger
struct NamedValue;      // OrtValueInfo
struct Node;            // OrtNode
struct Settings;        // OrtSessionOptions
struct Status;          // OrtStatus
struct TensorInfo;      // OrtTensorTypeAndShapeInfo
struct AnyType;         // OrtTypeInfo
}  // namespace host

/// An object of ours under the name that the structures have for it, or back.
template <class To, class From>
To* opaque(From* object) {
  return reinterpret_cast<To*>(object);
}

/// The version of the structures below.
inline constexpr uint32_t kStructVersion = 23;

/// OrtNodeFusionOptions.
struct FusionOptions {
  uint32_t version;
  bool drops_constants;  ///< constant initializers are no inputs of the fused node
};

/// OrtNodeComputeInfo: runs a fused node. compute() is called by several threads at once.
struct ComputeInfo {
  uint32_t version;
  host::Status* (*create_state)(ComputeInfo*, host::ComputeContext*, void** state) noexcept;
  host::Status* (*compute)(ComputeInfo*, void* state, host::KernelContext*) noexcept;
  void (*release_state)(ComputeInfo*, void* state) noexcept;
};

/// OrtEp: the provider of one session. By the API all functions but the first four may be null:
/// ONNX Runtime then does what is usual for a provider on the CPU.
struct Ep {
  using Unused = void (*)();

  uint32_t version;
  const char* (*get_name)(const Ep*) noexcept;
  host::Status* (*get_capability)(Ep*, const host::Graph*, host::GraphSupport*) noexcept;
  host::Status* (*compile)(Ep*, const host::Graph** graphs, const host::Node** fused_nodes,
                           size_t count, ComputeInfo** made, host::Node** context_nodes) noexcept;
  void (*release_compute_infos)(Ep*, ComputeInfo**, size_t count) noexcept;
  Unused get_preferred_layout = nullptr;
  Unused should_convert_layout = nullptr;
  Unused set_dynamic_options = nullptr;
  Unused on_run_start = nullptr;
  Unused on_run_end = nullptr;
  Unused create_allocator = nullptr;
  Unused create_stream = nullptr;
  Unused get_compatibility = nullptr;
  // Of version 24.
  Unused get_kernel_registry = nullptr;
  /// Null: several runs at once may go on.
  host::Status* (*is_concurrent)(Ep*, bool* out) = nullptr;
};

/// OrtEpFactory: makes providers.
struct EpFactory {
  uint32_t version;
  const char* (*get_name)(const EpFactory*) noexcept;
  const char* (*get_vendor)(const EpFactory*) noexcept;
  host::Status* (*get_devices)(EpFactory*, const host::Device* const* devices, size_t count,
                               host::EpDevice** made, size_t most, size_t* made_count) noexcept;
  host::Status* (*create)(EpFactory*, const host::Device* const* devices,
                          const host::KeyValues* const* metadata, size_t count,
                          const host::Settings*, const host::Logger*, Ep** made) noexcept;
  void (*release)(EpFactory*, Ep*) noexcept;
  uint32_t (*get_vendor_id)(const EpFactory*) noexcept;
  const char* (*get_version)(const EpFactory*) noexcept;
  host::Status* (*validate_compiled)(EpFactory*, const host::Device* const* devices, size_t count,
                                     const char* compatibility, int* result) noexcept;
  host::Status* (*create_allocator)(EpFactory*, const void* memory_info, const host::KeyValues*,
                                    void** made) noexcept;
  void (*release_allocator)(EpFactory*, void* allocator) noexcept;
  host::Status* (*create_data_transfer)(EpFactory*, void** made) noexcept;
  bool (*has_streams)(const EpFactory*) noexcept;
  host::Status* (*create_stream)(EpFactory*, const void* device, const host::KeyValues*,
                                 void** made) noexcept;
};

/// OrtEpApi, as far as it is used here.
struct EpApi {
  host::Status* (*create_device)(EpFactory*, const host::Device*, const host::KeyValues* metadata,
                                 const host::KeyValues* options, host::EpDevice** made);
  void (*release_device)(host::EpDevice*);
  host::Status* (*add_nodes_to_fuse)(host::GraphSupport*, const host::Node* const* nodes,
                                     size_t count, const FusionOptions*);
};

}  // namespace gantry::ort
