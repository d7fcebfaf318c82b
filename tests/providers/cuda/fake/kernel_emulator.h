// SPDX-License-Identifier: Apache-2.0
// Runs kernels that were compiled for the host: one block after the other, and the threads of a
// block in turn, each until it ends or waits at a barrier. One launch at a time.
#pragma once

#include <string>

namespace gantry::test {

/// A compiled kernel: a library opened from its bytes.
class EmulatedKernel {
 public:
  /// `bytes`: an ELF file, whose length follows from its headers. Throws std::runtime_error if it
  /// is no library of fake_nvrtc's.
  explicit EmulatedKernel(const void* bytes);
  ~EmulatedKernel();
  EmulatedKernel(const EmulatedKernel&) = delete;
  EmulatedKernel& operator=(const EmulatedKernel&) = delete;

  /// Size of the kernel's parameter struct.
  [[nodiscard]] unsigned parameter_bytes() const { return parameter_bytes_; }
  /// Throws std::runtime_error on a deadlock, on a misaligned access, and if a thread does not wait
  /// exactly once for the preceding kernel.
  void run(unsigned blocks, unsigned threads, const void* parameters) const;

 private:
  struct Index {
    unsigned x, y, z;
  };
  using Kernel = void (*)(const void*);

  void run_block(unsigned threads, const void* parameters, bool is_backwards) const;

  void* library_ = nullptr;
  bool has_barriers_ = false;
  unsigned parameter_bytes_ = 0;
  Kernel kernel_ = nullptr;
  Index* thread_ = nullptr;
  Index* block_ = nullptr;
  Index* block_extent_ = nullptr;
  Index* grid_extent_ = nullptr;
};

}  // namespace gantry::test
