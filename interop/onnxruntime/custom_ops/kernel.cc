// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/kernel.h"

#include <string>
#include <utility>
#include <vector>

#include "custom_ops/kernel_info.h"
#include "custom_ops/library.h"
#include "custom_ops/run_context.h"
#include "custom_ops/selection.h"

namespace gantry::ort {
namespace {

gantry_code host_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return GANTRY_INVALID_ARGUMENT;
    case ErrorCode::kNoSuchFile:
      return GANTRY_NOT_FOUND;
    case ErrorCode::kNotImplemented:
      return GANTRY_UNSUPPORTED;
    default:
      return GANTRY_INTERNAL;
  }
}

// Calls the library. What it throws or returns becomes an error of the node.
template <class Function>
void call_library(const KernelInfo& info, Function&& function) {
  const std::string who = info.label() + ", by its library: ";
  try {
    std::forward<Function>(function)();
  } catch (const sdk::Error&) {
    throw;
  } catch (const ApiError& error) {
    throw sdk::Error(host_code(error.code()), who + error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw sdk::Error(GANTRY_INTERNAL, who + error.what());
  } catch (...) {
    throw sdk::Error(GANTRY_INTERNAL, who + "it threw something that is no std::exception");
  }
}

class LibraryKernel final : public sdk::Kernel {
 public:
  LibraryKernel(std::shared_ptr<const DeclaredOp> op, const gantry_graph& graph,
                const gantry_node& node, const gantry_host* host)
      : op_(std::move(op)), info_(host, graph, node) {
    const sdk::NodeView view(host, &graph, &node);
    for (int i = 0; i < view.output_count(); ++i)
      output_types_.push_back(output_dtype(*op_, view, i));
    call_library(info_, [&] { kernel_ = create_kernel(*op_, api_table(), info_); });
    info_.forget_graph();
  }
  ~LibraryKernel() override {
    if (kernel_) op_->op->destroy(kernel_);
  }
  LibraryKernel(const LibraryKernel&) = delete;
  LibraryKernel& operator=(const LibraryKernel&) = delete;

  void run(sdk::Call& call) const override {
    RunContext context(call, info_, output_types_);
    call_library(info_, [&] {
      try {
        compute(*op_, kernel_, context);
      } catch (...) {
        context.rethrow();  // the host's own error, as the library may have given it other words
        throw;
      }
      context.rethrow();
      context.finish();
    });
  }

 private:
  std::shared_ptr<const DeclaredOp> op_;
  KernelInfo info_;
  std::vector<uint32_t> output_types_;
  void* kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_kernel(std::shared_ptr<const DeclaredOp> op,
                                         const gantry_graph& graph, const gantry_node& node,
                                         const gantry_host* host) {
  return std::make_unique<LibraryKernel>(std::move(op), graph, node, host);
}

}  // namespace gantry::ort
