// SPDX-License-Identifier: Apache-2.0
// Working buffers of OpenBLAS. Its build without threads takes them from a table without a lock, so
// that two threads could get the same one, and asks the system for a new one again for ever where
// there is no address space. The linker (--wrap) sends what it asks for through blas_buffers.cc.
// Any thread.
#pragma once

namespace gantry::cpu {

/// Promises the buffer that one call of the library may take while this lives. Waits while as many
/// are promised as the library has room for.
class BlasBuffer {
 public:
  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;

  /// False: the system has no address space for it, and the library must not be called.
  [[nodiscard]] bool is_promised() const { return is_promised_; }

 private:
  bool is_promised_ = false;
};

}  // namespace gantry::cpu
