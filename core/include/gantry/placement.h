// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a model run and why: what check() and Session::placement tell. Plain data.
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
  bool required = true;  ///< false: an input that has a value in the model; see Session::run
};

/// Where a node runs and why, or why it cannot. One row per node, bodies included.
struct NodePlacement {
  std::string node;  ///< name; of a node in a body "outer/attribute/inner"
  std::string op_type;
  std::string domain;
  std::string device;  ///< "CPU:0"; empty: nobody runs it
  std::string provider;
  /// the provider's name of the kernel; "control flow" for If, Loop, Scan run by the core
  std::string kernel;
  /// what computes it, as the provider chose when it compiled the node, and why what it would have
  /// preferred does not: "oneDNN; not winograd: the window is not 3 x 3". "": not compiled, or the
  /// provider does not tell
  std::string implementation;
  /// why here and not on a more preferred device or with a more preferred provider of this one; for
  /// an unplaced node every provider's refusal
  std::string reason;
  std::string instead_of;  ///< the device that was preferred, if it is another; "": this one was
  /// the device whose memory it works in; "CPU:0": host memory
  std::string memory;
  /// names of the values it reads, what its bodies read from outside last; "": absent
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  ///< likewise
  int64_t parent = -1;               ///< row of the node whose body it is in; -1: the main graph
  std::string body;                  ///< that body: "then_branch"
  /// the provider's estimate for one run; of nodes run as one kernel on the first; negative: none
  double time_ns = -1;
};

/// A value that nodes pass on.
struct ValuePlacement {
  ValueInfo info;           ///< its name; of a value in a body "outer/attribute/inner"
  uint64_t size_bytes = 0;  ///< 0: not known before the run
  bool is_constant = false;
  bool is_input = false;   ///< of its graph; of a body also what it reads from outside
  bool is_output = false;  ///< of its graph
  int64_t parent = -1;     ///< as in NodePlacement
  std::string body;        ///< likewise
};

/// A copy between memory spaces in every run. Between two devices a value goes through host memory,
/// in two copies.
struct CopyPlacement {
  std::string value;
  std::string from;         ///< the device whose memory it leaves; "CPU:0": host memory
  std::string to;           ///< likewise
  uint64_t size_bytes = 0;  ///< 0: not known before the run
};

struct Placement {
  bool compatible = false;  ///< every node has a device
  std::string wanted;       ///< devices that were asked for, most preferred first: "SIM:0, CPU"
  std::string fallback;     ///< what is done about nodes that they refuse: "error", "warn", "allow"
  /// nodes as the model has them, before functions are inlined, constants folded, and several made
  /// one; bodies included; 0: not known, as an artefact was loaded
  uint64_t nodes_in_model = 0;
  std::vector<NodePlacement> nodes;
  uint64_t kernels = 0;                ///< that run `nodes`, of which one kernel may take several
  std::vector<ValuePlacement> values;  ///< constants that only folding read are not among them
  std::vector<CopyPlacement> transfers;
  uint64_t copies = 0;  ///< how many copies between memory spaces a run makes
  /// what the configuration says in vain: preferred devices that are absent, rules that no node
  /// matches
  std::vector<std::string> warnings;
};

}  // namespace gantry
