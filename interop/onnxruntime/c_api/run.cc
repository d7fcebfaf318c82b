// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
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

Inputs inputs_of(Names names, const Value* const* values) {
  Inputs inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i])
      throw ApiError(ErrorCode::kInvalidArgument, "expected the name of an input, found null");
    if (!values[i]) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     "input \"" + std::string(names[i]) + "\": expected a value, found null");
    }
    inputs[names[i]] = to_gantry(*values[i]);
  }
  return inputs;
}

RunOptions options_of(const RunSettings* settings) {
  return {.cancel = settings ? &settings->is_ended : nullptr, .timeout_ns = {}};
}

/// Gives the named outputs to the program: new values where it gave none, else in its own.
void give(const LoadedSession& session, const std::vector<gantry::Value>& results, Names names,
          Value** outputs) {
  std::vector<std::unique_ptr<Value>> made(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    made[i] = from_gantry(results[session.output(names[i])]);
    if (outputs[i]) copy_elements(*made[i], *outputs[i], names[i]);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!outputs[i]) outputs[i] = made[i].release();
  }
}

Status* run(LoadedSession* session, const RunSettings* settings, const char* const* input_names,
            const Value* const* inputs, size_t input_count, const char* const* output_names,
            size_t output_count, Value** outputs) {
  return guarded_call([&] {
    const Names wanted(output_names, output_count);
    for (const char* name : wanted) static_cast<void>(session->output(name ? name : ""));
    give(*session,
         session->session->run_values(inputs_of({input_names, input_count}, inputs),
                                      options_of(settings)),
         wanted, outputs);
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
    session->session->run_async(
        inputs_of({input_names, input_count}, inputs),
        [session, pending, callback, data](std::vector<Tensor> tensors, std::exception_ptr error) {
          Status* status = guarded_call([&] {
            if (error) std::rethrow_exception(error);
            give(*session, {tensors.begin(), tensors.end()}, pending->names, pending->outputs);
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
