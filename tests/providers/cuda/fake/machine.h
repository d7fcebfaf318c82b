// SPDX-License-Identifier: Apache-2.0
// Runs kernels that were compiled for the host: block after block, the threads of a block in turn,
// each until it ends or waits for others. One launch at a time.
#pragma once

#include <string>

namespace gantry::test {

/// A compiled kernel: a library opened from its bytes.
class Machine {
 public:
  /// Throws std::runtime_error if the bytes are no library of fake_nvrtc's. `bytes` has a length
  /// that only its content tells.
  explicit Machine(const void* bytes);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Of the struct that the kernel takes.
  [[nodiscard]] unsigned parameter_bytes() const { return parameter_bytes_; }
  /// Throws std::runtime_error if threads wait for each other for ever, use an address that a type
  /// may not lie at, or do not wait, each once, for the kernel before.
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
