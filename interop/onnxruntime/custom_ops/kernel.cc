// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/kernel.h"

#include <string>
#include <utility>

#include "custom_ops/kernel_info.h"
#include "custom_ops/library.h"
#include "custom_ops/library_call.h"
#include "custom_ops/run_context.h"
#include "custom_ops/selection.h"

namespace gantry::ort {
namespace {

class LibraryKernel final : public sdk::Kernel {
 public:
  LibraryKernel(std::shared_ptr<const DeclaredOp> op, const gantry_graph& graph,
                const gantry_node& node, const gantry_host* host)
      : op_(std::move(op)), info_(host, graph, node) {
    const sdk::NodeView view(host, &graph, &node);
    ports_.label = info_.label();
    ports_.logger = info_.logger;
    for (int i = 0; i < view.input_count(); ++i) ports_.inputs.push_back(i);
    for (int i = 0; i < view.output_count(); ++i) {
      ports_.outputs.push_back(view.output(i).present() ? i : -1);
      ports_.output_types.push_back(output_dtype(*op_, view, i));
    }
    call_library(who(), [&] { kernel_ = create_kernel(*op_, api_table(), info_); });
    info_.forget_graph();
  }
  ~LibraryKernel() override {
    if (kernel_) op_->op->destroy(kernel_);
  }
  LibraryKernel(const LibraryKernel&) = delete;
  LibraryKernel& operator=(const LibraryKernel&) = delete;

  void run(sdk::Call& call) const override {
    run_library(who(), call, ports_, [&](RunContext& context) { compute(*op_, kernel_, context); });
  }

 private:
  [[nodiscard]] std::string who() const { return ports_.label + ", by its library"; }

  std::shared_ptr<const DeclaredOp> op_;
  KernelInfo info_;
  KernelPorts ports_;
  void* kernel_ = nullptr;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_kernel(std::shared_ptr<const DeclaredOp> op,
                                         const gantry_graph& graph, const gantry_node& node,
                                         const gantry_host* host) {
  return std::make_unique<LibraryKernel>(std::move(op), graph, node, host);
}

}  // namespace gantry::ort
