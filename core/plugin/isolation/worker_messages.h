// SPDX-License-Identifier: Apache-2.0
// The requests to a worker process and its answers. A request is a WorkerCall and the struct of
// that name. An answer is a code. Code 0 is followed by the struct of the answer; any other code by
// whether the process is spent (1: one of its devices cannot be used any more) and a message. Plain
// data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugin/isolation/message.h"

namespace gantry {

enum class WorkerCall : uint32_t {
  kOpen = 1,   ///< WorkerOpen -> WorkerOpened; with the arena's descriptor
  kClaim,      ///< WorkerAsk, a graph -> WorkerClaims
  kCompile,    ///< WorkerCompile, WorkerAsk, a graph -> WorkerKernel
  kRun,        ///< WorkerRun, the inputs' values -> a count, the outputs' values
  kRelease,    ///< a kernel's number -> nothing
  kQuit,       ///< nothing -> nothing, when the provider is destroyed
  kOperators,  ///< options of a session -> the provider's operators, as JSON text
};

const char* to_string(WorkerCall call) noexcept;

struct WorkerOpen {
  std::string manifest_file;
  std::string manifest;  ///< text
  std::string library;
  std::string options;
  uint64_t memory_limit_bytes = 0;  ///< 0: none
  uint64_t stop_grace_ms = 0;       ///< time for devices to become idle when a run is stopped
  uint8_t is_sandboxed = 0;

  void write(MessageWriter& to) const;
  static WorkerOpen read(MessageReader& from);
};

struct WorkerOpened {
  struct Device {
    std::string type;
    std::string name;
    std::string uid;
    std::string reason;
    uint32_t id = 0;
    uint32_t state = 0;
    uint64_t memory_bytes = 0;
  };
  std::vector<Device> devices;
  std::string missing;  ///< parts of the sandbox that the system does not permit; empty: none

  void write(MessageWriter& to) const;
  static WorkerOpened read(MessageReader& from);
};

/// The common part of claim and compile requests. Constants of the graph are in segments: files of
/// the model, or sealed memory.
struct WorkerAsk {
  struct Segment {
    uint64_t id = 0;
    uint64_t size_bytes = 0;
    uint64_t is_file = 0;  ///< 1: a file of the model, 0: sealed memory
  };
  uint32_t device = 0;
  std::string options;
  std::vector<Segment> segments;  ///< new segments; their descriptors come in this order
  std::vector<uint64_t> dropped;  ///< segments that later messages do not use

  void write(MessageWriter& to) const;
  static WorkerAsk read(MessageReader& from);
};

/// The claims of a worker: sets of nodes that it runs as one.
struct WorkerClaims {
  struct Set {
    std::vector<uint32_t> nodes;
    std::vector<uint32_t> input_flags;  ///< GANTRY_PORT_*, by slot
    uint32_t output_count = 0;
    uint8_t is_divisible = 0;
    double time_ns = -1;
    uint64_t workspace_bytes = 0;
    std::string kernel;
  };
  struct Refusal {
    uint32_t node = 0;
    std::string reason;
  };
  std::vector<Set> sets;
  std::vector<Refusal> refusals;

  void write(MessageWriter& to) const;
  static WorkerClaims read(MessageReader& from);
};

struct WorkerCompile {
  uint64_t kernel = 0;  ///< number of the kernel in later requests
  uint32_t threads = 0;
  std::vector<uint32_t> nodes;
  std::vector<uint32_t> inputs;   ///< value of each slot, or GANTRY_NONE
  std::vector<uint32_t> outputs;  ///< likewise

  void write(MessageWriter& to) const;
  static WorkerCompile read(MessageReader& from);
};

struct WorkerKernel {
  std::vector<uint32_t> inputs;         ///< slots whose values a run sends, in this order
  std::vector<uint32_t> outputs;        ///< slots whose values a run returns, in this order
  std::vector<std::string> steps = {};  ///< labels of its steps, for messages

  void write(MessageWriter& to) const;
  static WorkerKernel read(MessageReader& from);
};

struct WorkerRun {
  /// A range of the arena.
  struct Window {
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
  };
  static constexpr uint64_t kMark = 8;  ///< bytes after the stop flag: the running step, from 1
  uint64_t kernel = 0;
  uint64_t stop_flag = 0;         ///< offset of a byte that is set to 1 to stop the run
  std::array<Window, 2> windows;  ///< memory for outputs: the second if they do not fit the first
};

}  // namespace gantry
