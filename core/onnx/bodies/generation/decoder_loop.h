// SPDX-License-Identifier: Apache-2.0
// A Loop of ONNX that runs a decoder once for each token: its body is the decoder's nodes and,
// behind them, those of a step, which chooses the next token.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// A tensor type of that rank, with unknown extents.
onnx::TypeProto type_of_rank(int element_type, int rank);

class DecoderLoop {
 public:
  explicit DecoderLoop(const onnx::GraphProto& decoder);

  /// The decoder, its values renamed so that they are none of the step's.
  [[nodiscard]] const onnx::GraphProto& decoder() const { return decoder_; }

  /// The nodes behind the decoder's. They read the decoder's outputs, what is carried, what is
  /// around the loop, and `tokens_before`, the number of tokens chosen before (int64, a scalar).
  BodyText& step() { return step_; }

  /// The decoder's input `input` begins with the value `first` and goes on with `next`.
  void carry_input(int input, const std::string& first, const std::string& next);
  /// The same for a value of the step. The loop's last one is `name` + "_end".
  void carry(const std::string& name, const onnx::TypeProto& type, const std::string& first,
             const std::string& next);
  /// The loop returns `name` of all its iterations, stacked, as `name` + "_all".
  void collect(const std::string& name, int element_type, int rank);

  /// Adds the loop to `body`: at most `limit` iterations (int64, a scalar), as long as the step's
  /// `running` (a bool) is true.
  void add_to(BodyText& body, const std::string& limit, const std::string& running);
  /// False: a value outside of the decoder that it reads has a name of `body`, of the step or of
  /// `formals`, the operator's inputs; `body` has the reason.
  bool keeps_apart(BodyText& body, const std::vector<std::string>& formals) const;

 private:
  struct Carried {
    std::string name;
    onnx::TypeProto type;
    std::string first;
    std::string next;
    std::string last;
  };

  onnx::GraphProto decoder_;
  std::set<std::string> outer_;  // what the decoder reads and does not have
  onnx::FunctionProto step_nodes_;
  BodyText step_;
  std::vector<Carried> carried_;
  std::vector<onnx::ValueInfoProto> collected_;
};

}  // namespace gantry
