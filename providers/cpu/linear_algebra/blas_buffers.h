// SPDX-License-Identifier: Apache-2.0
// Working buffers of OpenBLAS. Its single-threaded build takes them from a table without a lock, so
// two threads could get the same buffer; and it retries for ever if mmap fails. The linker (--wrap)
// redirects its allocations to blas_buffers.cc, which locks the table and reserves address space
// before each call. Any thread.
#pragma once

namespace gantry::cpu {

/// Reserves one buffer for a call of OpenBLAS, as long as this object lives. The constructor blocks
/// while all buffers of the library's table are reserved.
class BlasBuffer {
 public:
  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;

  /// False if there is no address space for the buffer; OpenBLAS must then not be called.
  [[nodiscard]] bool is_reserved() const { return is_reserved_; }

 private:
  bool is_reserved_ = false;
};

}  // namespace gantry::cpu
