// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a model run and why: the result of check() and Session::placement(). Plain
// data.
#pragma once

#include <gantry/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

/// An input or output of a model.
struct ValueInfo {
  std::string name;
  Kind kind = Kind::kTensor;
  DType dtype = DType::kUndefined;
  bool has_rank = false;
  std::vector<int64_t> shape;  ///< -1: not known before the run
  /// names of unknown extents, "" if unnamed; as long as `shape`
  std::vector<std::string> symbols;
  bool required = true;  ///< false: an input with a default value in the model; see Session::run
};

/// Where a node runs and why, or why it cannot. One row per node, bodies included.
struct NodePlacement {
  std::string node;  ///< name; of a node in a body "outer/attribute/inner"
  std::string op_type;
  std::string domain;
  std::string device;  ///< "CPU:0"; empty: no device runs the node
  std::string provider;
  /// the provider's name of the kernel; "control flow" for If, Loop, Scan run by the core
  std::string kernel;
  /// the implementation that the provider chose when it compiled the node, and why not a preferred
  /// one: "oneDNN; not winograd: the window is not 3 x 3". "": not compiled, or not reported
  std::string implementation;
  /// why not a more preferred device, or a more preferred provider of this device; of an unplaced
  /// node the refusal of every provider
  std::string reason;
  std::string instead_of;  ///< the most preferred device, if the node runs on another; else ""
  /// the device whose memory the kernel works in; "CPU:0": host memory
  std::string memory;
  /// names of the node's inputs, then of the values that its bodies capture; "": absent
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  ///< likewise
  int64_t parent = -1;               ///< row of the node whose body it is in; -1: the main graph
  std::string body;                  ///< attribute of that body: "then_branch"
  /// the provider's estimate for one run; of nodes run as one kernel the first has it; negative:
  /// none
  double time_ns = -1;
};

/// A value that nodes pass on.
struct ValuePlacement {
  ValueInfo info;           ///< its name; of a value in a body "outer/attribute/inner"
  uint64_t size_bytes = 0;  ///< 0: not known before the run
  bool is_constant = false;
  bool is_input = false;   ///< of its graph; in a body captured values too
  bool is_output = false;  ///< of its graph
  int64_t parent = -1;     ///< as in NodePlacement
  std::string body;        ///< likewise
};

/// A copy between memory spaces in every run. A value goes from one device to another directly if
/// both are of one provider that has peer copies and the graph is no body, else through host memory
/// in two copies.
struct CopyPlacement {
  std::string value;
  std::string from;         ///< the device whose memory it leaves; "CPU:0": host memory
  std::string to;           ///< likewise
  uint64_t size_bytes = 0;  ///< 0: not known before the run
};

struct Placement {
  bool compatible = false;  ///< every node has a device
  std::string wanted;       ///< requested devices, most preferred first: "SIM:0, CPU"
  std::string fallback;     ///< policy for nodes that they refuse: "error", "warn", "allow"
  /// nodes of the model before functions are inlined, constants folded and nodes fused, bodies
  /// included; 0: not known, because a cached model was loaded
  uint64_t nodes_in_model = 0;
  std::vector<NodePlacement> nodes;
  uint64_t kernels = 0;                ///< kernels that run `nodes`; one may run several nodes
  std::vector<ValuePlacement> values;  ///< without constants that only constant folding read
  std::vector<CopyPlacement> transfers;
  uint64_t copies = 0;  ///< number of copies between memory spaces in a run
  /// parts of the configuration without effect: preferred devices that are absent, rules that no
  /// node matches
  std::vector<std::string> warnings;
};

}  // namespace gantry
