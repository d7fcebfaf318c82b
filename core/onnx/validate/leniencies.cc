// SPDX-License-Identifier: Apache-2.0
#include "onnx/validate/leniencies.h"

#include <array>
#include <utility>

namespace gantry {
namespace {

constexpr std::array kLeniencies = {
    Leniency{Fault::kUnnamedGraph, "unnamed-graph", "has no name", "it is called \"graph\"",
             "all IR versions"},
    Leniency{Fault::kUntypedOutput, "untyped-output", "has no type", "its type is inferred",
             "all IR versions"},
    Leniency{Fault::kInitializerIsNoInput, "initializer-is-no-input",
             "is not listed among the graph's inputs", "it is a constant",
             "IR version 3 and older"},
    Leniency{Fault::kNodesOutOfOrder, "nodes-out-of-order",
             "stands before a node whose output it reads",
             "the nodes are put in the order of their computation", "all IR versions"},
    Leniency{Fault::kDomainNotImported, "domain-not-imported",
             "is of a domain that the model does not import",
             "the newest known opset of the domain is taken", "IR version 3 and newer"},
    Leniency{Fault::kOpsetTooLow, "opset-too-low",
             "is imported in a version that does not exist, and no node uses it",
             "the import is ignored", "IR version 3 and newer"},
    Leniency{Fault::kOldIrVersion, "old-ir-version",
             "is older than version 3, in which imports of opsets came",
             "the model is read as one of version 3", "IR version 2 and older"},
    Leniency{Fault::kOperatorTooNew, "operator-too-new",
             "is an operator that the imported opset does not have yet",
             "the operator's first version is taken",
             "LayerNormalization below opset 17, ThresholdedRelu below opset 10"},
    Leniency{Fault::kConstantForm, "constant-form",
             "gives its value as an attribute that only opset 12 and newer have",
             "the attribute means what it does there", "opset 11 and older"},
    Leniency{Fault::kConstantMark, "constant-mark",
             "has an attribute beside its value that the operator does not have",
             "the attribute is ignored", "all IR versions"},
    Leniency{Fault::kInitializerTwice, "initializer-twice", "is defined more than once",
             "the last definition is taken", "all IR versions"},
    Leniency{Fault::kMetadataTwice, "metadata-twice", "is given more than once",
             "the last value is taken", "all IR versions"},
    Leniency{Fault::kNegativeExtent, "negative-extent", "has an extent of -1",
             "the extent is unknown", "all IR versions"},
    Leniency{Fault::kWrongShape, "wrong-shape", "declares a shape that it cannot have",
             "the declaration is ignored", "all IR versions"},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < kLeniencies.size(); ++i) {
    if (static_cast<size_t>(kLeniencies[i].fault) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "FaultLog finds a row by the number of its fault");

}  // namespace

std::span<const Leniency> leniencies() { return kLeniencies; }

void FaultLog::note(Fault fault, std::string subject) {
  Found& found = found_[static_cast<size_t>(fault)];
  if (found.count++ == 0) found.first = std::move(subject);
}

std::vector<std::string> FaultLog::warnings() const {
  std::vector<std::string> warnings;
  for (const Leniency& row : kLeniencies) {
    const Found& found = found_[static_cast<size_t>(row.fault)];
    if (found.count == 0) continue;
    std::string text(row.name);
    text.append(": ").append(found.first).append(" ").append(row.does);
    text.append("; ").append(row.instead);
    if (found.count > 1) text.append(" (" + std::to_string(found.count) + " times in this model)");
    warnings.push_back(std::move(text));
  }
  return warnings;
}

}  // namespace gantry
