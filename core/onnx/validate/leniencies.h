// SPDX-License-Identifier: Apache-2.0
// Violations of the ONNX specification that gantry accepts because other runtimes do: the table of
// them, and a log of those of one model. The table is also in docs/leniencies.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

enum class Fault : uint8_t {
  kUnnamedGraph,
  kUntypedOutput,
  kInitializerIsNoInput,
  kNodesOutOfOrder,
  kDomainNotImported,
  kOpsetTooLow,
  kOldIrVersion,
  kOperatorTooNew,
  kConstantForm,
  kConstantMark,
  kInitializerTwice,
  kMetadataTwice,
  kNegativeExtent,
  kWrongShape,
};

/// A row of the table. Subject, `does` and `instead` make one sentence: `output "a"`, "has no
/// type", "its type is inferred".
struct Leniency {
  Fault fault;
  std::string_view name;     ///< stable name in warnings
  std::string_view does;     ///< the violation of the specification
  std::string_view instead;  ///< what gantry does
  std::string_view range;    ///< the IR versions or opsets where it is a fault
};

/// The table, in the order of Fault.
std::span<const Leniency> leniencies();

/// The faults of one model. One thread at a time.
class FaultLog {
 public:
  /// Records a fault. `subject`: the node or value at fault; the warning names the first one.
  void note(Fault fault, std::string subject);

  /// One sentence for each fault that was noted, in the order of the table. It starts with the
  /// row's name and says how often the model has the fault.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct Found {
    std::string first;
    size_t count = 0;
  };
  std::vector<Found> found_ = std::vector<Found>(leniencies().size());  // by fault
};

}  // namespace gantry
