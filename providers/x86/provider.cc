// SPDX-License-Identifier: Apache-2.0
// The provider "x86": the second one of the device CPU, before `cpu` in preference, in the same
// memory. It claims what its own code and oneDNN run fast (convolutions, matmuls, pooling,
// attention, recurrent layers, element-wise sets) with their epilogues, and keeps tensors
// channels-last between them.
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fuse/bf16.h"
#include "fuse/claims.h"
#include "fuse/families.h"
#include "onednn/background.h"
#include "onednn/fingerprint.h"
#include "onednn/implementation_check.h"
#include "onednn/library.h"
#include "onednn/reorder.h"
#include "options.h"

namespace gantry::x86 {
namespace {

class X86Provider final : public sdk::Provider {
 public:
  explicit X86Provider(const gantry_offer& offer) : Provider(offer, "x86", {}) {
    set_report_host(host());
    api_.reorder = [](gantry_provider* self, gantry_run* run, gantry_stream*,
                      const gantry_tensor* source, gantry_tensor* target) {
      const auto* provider =
          static_cast<const X86Provider*>(reinterpret_cast<const sdk::Provider*>(self));
      return sdk::guard(provider->host(),
                        [&] { bring_to_dense(provider->host(), run, *source, *target); });
    };
  }
  ~X86Provider() override { BackgroundCompiler::end_thread(); }
  X86Provider(const X86Provider&) = delete;
  X86Provider& operator=(const X86Provider&) = delete;

  void devices(const gantry_device_sink& sink) override {
    const std::string name = "oneDNN " + version();
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("CPU");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str(name);
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    BackgroundCompiler::end_with_this_thread();
    require_instructions(Options(request.options));
    claim_nodes(host(), request);
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile_keeping(const gantry_compile& args,
                                                             std::string& blob) const override {
    const Compiling compiling;
    const sdk::ClaimedNodes claim(host(), args, kFamilies.size());
    const Family& family = kFamilies[claim.row()];
    const GraphIndex& index = claim.index();
    const Options options(args.options);
    const auto fusion = family.match({index, options, claim.scope().predicate()}, claim.root());
    claim.require_same(family.kernel, fusion.get());
    sdk::Choices choices(args.blob, args.blob_bytes, fingerprint_of(index, args));
    if (!choices.refusal().empty()) {
      const std::string line =
          index.node(claim.root()).label() +
          ": compiled anew; the compiled-model cache cannot be used: " + choices.refusal();
      host()->log(GANTRY_LOG_INFO, sdk::to_str(line));
    }
    std::unique_ptr<sdk::Kernel> made =
        make_first(family.implementations(*fusion), {index, args, *fusion, choices, options});
    blob = choices.blob();
    return made;
  }
};

}  // namespace
}  // namespace gantry::x86

GANTRY_DEFINE_PROVIDER(gantry::x86::X86Provider)
