// SPDX-License-Identifier: Apache-2.0
#include "kernel_emulator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unistd.h>
#include <vector>

#include "context.h"

#if defined(__x86_64__)
// Saves callee-saved registers on the old stack and restores them from the new one.
asm(R"(
.text
.hidden gantry_switch_stack
.globl gantry_switch_stack
.type gantry_switch_stack, @function
gantry_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size gantry_switch_stack, .-gantry_switch_stack
)");
#endif

namespace gantry::test {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr unsigned kWarp = 32;

enum class State { kRunning, kAtBlock, kAtWarp, kEnded };

// A thread of the running block.
struct Fiber {
  Context context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  State state = State::kRunning;
};

// The running block; there is one at a time.
struct Block {
  std::vector<Fiber> fibers;
  Context scheduler;
  unsigned current = 0;
  void (*kernel)(const void*) = nullptr;
  const void* parameters = nullptr;
};

Block& block() {
  static auto* const instance = new Block;
  return *instance;
}

void barrier(int is_warp) {
  Block& all = block();
  Fiber& self = all.fibers[all.current];
  self.state = is_warp != 0 ? State::kAtWarp : State::kAtBlock;
  self.context.go_to(all.scheduler);
}

// The first error of the running kernel.
bool is_misaligned = false;

void fault() { is_misaligned = true; }

// Threads of the running kernel that have waited for the preceding one.
uint64_t awaiting = 0;

void await() { ++awaiting; }

void run_fiber() {
  Block& all = block();
  all.kernel(all.parameters);
  all.fibers[all.current].state = State::kEnded;
  all.fibers[all.current].context.go_to(all.scheduler);
}

// Resumes threads [first, last) if all that have not ended wait at `state`; false: not all do.
bool release(unsigned first, unsigned last, State state) {
  bool is_any = false;
  for (unsigned i = first; i < last; ++i) {
    const State found = block().fibers[i].state;
    if (found == State::kEnded) continue;
    if (found != state) return false;
    is_any = true;
  }
  for (unsigned i = first; i < last; ++i) {
    if (block().fibers[i].state == state) block().fibers[i].state = State::kRunning;
  }
  return is_any;
}

uint64_t bytes_of_library(const char* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    throw std::runtime_error("the code is no library");
  return header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum;
}

template <class T>
T find(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (!address) throw std::runtime_error(std::string("a kernel's library lacks ") + name);
  return reinterpret_cast<T>(address);
}

}  // namespace

EmulatedKernel::EmulatedKernel(const void* bytes) {
  const char* text = static_cast<const char*>(bytes);
  if (text[0] != 'B' && text[0] != '-') throw std::runtime_error("the code is of another kind");
  has_barriers_ = text[0] == 'B';
  static std::atomic<int> number{0};
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/gantry_code_" +
                           std::to_string(getpid()) + "_" + std::to_string(number++) + ".so";
  std::ofstream(path, std::ios::binary)
      .write(text + 1, static_cast<std::streamsize>(bytes_of_library(text + 1)));
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  unlink(path.c_str());
  if (!library_) throw std::runtime_error(dlerror());
  kernel_ = find<Kernel>(library_, "kernel");
  parameter_bytes_ = *find<const unsigned*>(library_, "kernel_parameter_bytes");
  thread_ = find<Index*>(library_, "threadIdx");
  block_ = find<Index*>(library_, "blockIdx");
  block_extent_ = find<Index*>(library_, "blockDim");
  grid_extent_ = find<Index*>(library_, "gridDim");
  *find<void (**)(int)>(library_, "emulated_barrier") = barrier;
  *find<void (**)()>(library_, "emulated_fault") = fault;
  *find<void (**)()>(library_, "emulated_await") = await;
}

EmulatedKernel::~EmulatedKernel() {
  if (library_) dlclose(library_);
}

void EmulatedKernel::run(unsigned blocks, unsigned threads, const void* parameters) const {
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  *block_extent_ = {threads, 1, 1};
  *grid_extent_ = {blocks, 1, 1};
  is_misaligned = false;
  awaiting = 0;
  for (unsigned b = 0; b < blocks; ++b) {
    *block_ = {b, 0, 0};
    // Both directions, to detect results that depend on the order of threads.
    const bool is_backwards = b % 2 == 1;
    if (has_barriers_) {
      run_block(threads, parameters, is_backwards);
      continue;
    }
    for (unsigned t = 0; t < threads; ++t) {
      *thread_ = {is_backwards ? threads - 1 - t : t, 0, 0};
      kernel_(parameters);
    }
  }
  if (is_misaligned)
    throw std::runtime_error("a kernel uses an address that its type is not aligned to");
  if (awaiting != uint64_t{blocks} * threads)
    throw std::runtime_error("not every thread of a kernel waits, once, for the kernel before");
}

void EmulatedKernel::run_block(unsigned threads, const void* parameters, bool is_backwards) const {
  Block& all = block();
  if (all.fibers.size() < threads) all.fibers = std::vector<Fiber>(threads);
  all.kernel = kernel_;
  all.parameters = parameters;
  for (unsigned t = 0; t < threads; ++t) {
    Fiber& fiber = all.fibers[t];
    fiber.state = State::kRunning;
    fiber.context.start(fiber.stack.get(), kStackBytes, run_fiber);
  }
  for (bool goes_on = true; goes_on;) {
    for (unsigned i = 0; i < threads; ++i) {
      all.current = is_backwards ? threads - 1 - i : i;
      if (all.fibers[all.current].state != State::kRunning) continue;
      *thread_ = {all.current, 0, 0};
      all.scheduler.go_to(all.fibers[all.current].context);
    }
    goes_on = false;
    for (unsigned warp = 0; warp < threads; warp += kWarp)
      goes_on |= release(warp, std::min(warp + kWarp, threads), State::kAtWarp);
    goes_on |= release(0, threads, State::kAtBlock);
  }
  for (unsigned t = 0; t < threads; ++t) {
    if (all.fibers[t].state != State::kEnded)
      throw std::runtime_error("threads of a block wait for each other at different places");
  }
}

}  // namespace gantry::test
