// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "c_api/guard.h"
#include "c_api/run_options.h"
#include "c_api/session.h"
#include "c_api/values.h"

namespace gantry::ort {
namespace {

using Names = std::span<const char* const>;

const Value& input_at(Names names, const Value* const* values, size_t index) {
  if (!names[index])
    throw ApiError(ErrorCode::kInvalidArgument, "expected the name of an input, found null");
  if (!values[index]) {
    throw ApiError(ErrorCode::kInvalidArgument,
                   "input \"" + std::string(names[index]) + "\": expected a value, found null");
  }
  return *values[index];
}

void bind(Binding& binding, Names names, const Value* const* values, size_t index) {
  const gantry::Value value = to_gantry(input_at(names, values, index));
  binding.input(names[index], value);
}

RunOptions options_of(const RunSettings* settings) {
  return {.cancel = settings ? &settings->is_ended : nullptr, .timeout_ns = {}};
}

/// The tensor of a value that the program gave for an output, if a run can write to it in place.
std::optional<Tensor> writable(const Value& value) {
  if (value.kind != ValueKind::kTensor || !value.data) return std::nullopt;
  Tensor tensor = to_gantry(value).tensor();
  return tensor.data() == value.data ? std::optional(std::move(tensor)) : std::nullopt;
}

/// Gives results to the program: in its own values where it gave some, else as they are. `made`: of
/// each name; null: the run has written to the program's value.
void give(std::vector<std::unique_ptr<Value>> made, Names names, Value** outputs) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (made[i] && outputs[i]) copy_elements(*made[i], *outputs[i], names[i]);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!outputs[i]) outputs[i] = made[i].release();
  }
}

// An output that the program gave a tensor for is written there, over an input of the same memory
// if the model lets it (a key-value cache). Else the program gets a new value.
Status* run(LoadedSession* session, const RunSettings* settings, const char* const* input_names,
            const Value* const* inputs, size_t input_count, const char* const* output_names,
            size_t output_count, Value** outputs) {
  return guarded_call([&] {
    const Names given(input_names, input_count);
    const Names wanted(output_names, output_count);
    Binding binding(*session->session);
    for (size_t i = 0; i < given.size(); ++i) bind(binding, given, inputs, i);
    std::vector<bool> is_bound(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      static_cast<void>(session->output(wanted[i] ? wanted[i] : ""));
      const std::optional<Tensor> target = outputs[i] ? writable(*outputs[i]) : std::nullopt;
      is_bound[i] = target.has_value();
      if (target) binding.output(wanted[i], *target);
    }
    binding.run(options_of(settings));
    std::vector<std::unique_ptr<Value>> made(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!is_bound[i]) made[i] = from_gantry(binding.result(wanted[i]));
    }
    give(std::move(made), wanted, outputs);
  });
}

using Callback = void (*)(void* data, Value** outputs, size_t count, Status* status);

/// The names of a run that goes on after the call that began it.
struct PendingRun {
  std::vector<std::string> texts;
  std::vector<const char*> names;
  Value** outputs;

  PendingRun(const char* const* given, size_t count, Value** outputs_of_run)
      : texts(given, given + count), outputs(outputs_of_run) {
    for (const std::string& text : texts) names.push_back(text.c_str());
  }
};

Status* run_async(LoadedSession* session, const RunSettings* settings,
                  const char* const* input_names, const Value* const* inputs, size_t input_count,
                  const char* const* output_names, size_t output_count, Value** outputs,
                  Callback callback, void* data) {
  return guarded_call([&] {
    if (std::count(output_names, output_names + output_count, nullptr) > 0)
      throw ApiError(ErrorCode::kInvalidArgument, "expected the name of an output, found null");
    auto pending = std::make_shared<PendingRun>(output_names, output_count, outputs);
    for (const std::string& name : pending->texts) static_cast<void>(session->output(name));
    const Names given(input_names, input_count);
    Inputs values;
    for (size_t i = 0; i < given.size(); ++i) {
      gantry::Value value = to_gantry(input_at(given, inputs, i));
      values[given[i]] = std::move(value);
    }
    session->session->run_async(
        std::move(values),
        [session, pending, callback, data](std::vector<Tensor> tensors, std::exception_ptr error) {
          Status* status = guarded_call([&] {
            if (error) std::rethrow_exception(error);
            std::vector<std::unique_ptr<Value>> made;
            for (const std::string& name : pending->texts)
              made.push_back(from_gantry(tensors[session->output(name)]));
            give(std::move(made), pending->names, pending->outputs);
          });
          callback(data, status ? nullptr : pending->outputs, status ? 0 : pending->names.size(),
                   status);
        },
        options_of(settings));
  });
}

}  // namespace

void add_run_functions(ApiTable& table) {
  table.set(Slot::kRun, run);
  table.set(Slot::kRunAsync, run_async);
}

}  // namespace gantry::ort
