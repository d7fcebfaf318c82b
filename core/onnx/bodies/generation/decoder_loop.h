// SPDX-License-Identifier: Apache-2.0
// A Loop of ONNX that runs a decoder once for each token: its body is the decoder's nodes and,
// behind them, those of a step, which chooses the next token.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/bodies/generation/subgraph_copy.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// A tensor type of that rank, with unknown extents.
onnx::TypeProto type_of_rank(int element_type, int rank);

class DecoderLoop {
 public:
  /// `around`: names of values around the loop that the decoder's inputs are, by index; "": what
  /// carry_input() gives.
  explicit DecoderLoop(const onnx::GraphProto& decoder, std::vector<std::string> around = {});

  DecoderLoop(const DecoderLoop&) = delete;
  DecoderLoop& operator=(const DecoderLoop&) = delete;

  /// The values around the loop that the decoder's outputs are for the first token, for which the
  /// decoder does not run then; empty: it runs.
  void begin_with(std::vector<std::string> outputs) { first_outputs_ = std::move(outputs); }

  [[nodiscard]] int inputs() const { return decoder_.graph.input_size(); }
  [[nodiscard]] int outputs() const { return decoder_.graph.output_size(); }
  /// What the decoder's input and output of that index are called in the step.
  [[nodiscard]] std::string input(int index) const { return decoder_.graph.input(index).name(); }
  [[nodiscard]] std::string output(int index) const;

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
  /// False: a value outside of the decoder, or of `other`, that it reads has a name of `body`, of
  /// the step or of `formals`, the operator's inputs; `body` has the reason.
  bool keeps_apart(BodyText& body, const std::vector<std::string>& formals,
                   const SubgraphCopy* other = nullptr) const;

 private:
  struct Carried {
    std::string name;
    onnx::TypeProto type;
    std::string first;
    std::string next;
    std::string last;
  };

  void add_decoder(onnx::GraphProto& graph) const;

  SubgraphCopy decoder_;
  std::vector<std::string> first_outputs_;
  onnx::FunctionProto step_nodes_;
  BodyText step_;
  std::vector<Carried> carried_;
  std::vector<onnx::ValueInfoProto> collected_;
};

}  // namespace gantry
