// SPDX-License-Identifier: Apache-2.0
// The base class of a provider written in C++: negotiates the version, answers claims from kernel
// rows and fusion rows, compiles rows to kernels. Derive from Provider, pass the tables, report the
// devices, and put GANTRY_DEFINE_PROVIDER(Class) into one source file.
#pragma once

#include <gantry/sdk/fusion.h>
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::sdk {

/// Throws ABI_MISMATCH unless a struct of the host has the members of version 1.0. Code that uses a
/// later member tests GANTRY_HAS itself.
inline void require_members(bool are_there, const char* name) {
  if (are_there) return;
  throw Error(GANTRY_ABI_MISMATCH,
              std::string(name) + ": expected a struct as large as version 1.0 has it, found a " +
                  "smaller size; the host is broken");
}

/// A provider whose claims are what its fusion rows match and single nodes that its kernel rows
/// take, unless it overrides claim() and compile(). Thread rules: devices() and destruction are
/// never overlapped by the host; the rest may run concurrently.
class Provider {
 public:
  /// `fusions`: asked in this order, before single nodes.
  Provider(const gantry_offer& offer, std::string name, const std::vector<KernelTable>& tables,
           FusionTable fusions = {})
      : host_(offer.host), name_(std::move(name)), fusions_(fusions) {
    for (const KernelTable& table : tables) {
      for (size_t i = 0; i < table.count; ++i) {
        index_[table.rows[i].op_type].push_back(rows_.size());
        rows_.push_back(&table.rows[i]);
      }
    }
    fill_api();
  }
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;
  virtual ~Provider() = default;

  /// Reports the devices; see gantry_provider_api.devices.
  virtual void devices(const gantry_device_sink& sink) = 0;
  /// Narrows the rows, by options or by device. Returns an empty string to take the node, else the
  /// reason why not. Asked only for nodes that a kernel row takes, and not for fusions.
  [[nodiscard]] virtual std::string refuses(const NodeView&, uint32_t /*device*/) const {
    return {};
  }

  /// Estimated time of one run of a claimed node, in nanoseconds; negative: unknown. A fusion has
  /// the estimate of its root. work_of (sdk/work.h) counts a node's operations and bytes.
  [[nodiscard]] virtual double estimated_ns(const NodeView&, uint32_t /*device*/) const {
    return -1;
  }

  /// Answers gantry_provider_api.claim, by default from the rows. Nodes of a fusion are claimed one
  /// by one too, in case the host does not grant the fusion.
  virtual void claim(const gantry_claim_request& request) const {
    if (fusions_.count > 0) claim_fusions(request);
    for (uint32_t i = 0; i < request.graph->node_count; ++i) {
      const NodeView node(host_, request.graph, request.graph->nodes[i]);
      std::string reason;
      const size_t row = select(node, request.device, reason);
      if (row == kNoRow) {
        request.sink->refuse(request.sink->self, i, to_str(reason));
      } else {
        claim_node(request, i, node, row);
      }
    }
  }

  /// The kernel of a claim that was granted; see gantry_provider_api.compile. By default from the
  /// row that claimed it.
  [[nodiscard]] virtual std::unique_ptr<Kernel> compile(const gantry_compile& args) const {
    if (fusions_.count > 0 && FusionTag::from(args.tag).row >= rows_.size())
      return compile_fusion(args);
    if (args.node_count != 1 || args.tag >= rows_.size()) {
      throw Error(GANTRY_INVALID_ARGUMENT,
                  name_ + ": asked to compile a claim that it did not make");
    }
    return rows_[args.tag]->factory(NodeView(host_, args.graph, args.graph->nodes[args.nodes[0]]));
  }

  /// As compile(), and sets `blob` to what the host caches for a later start of the process, which
  /// receives it as `args.blob` (see sdk/blob.h); empty: nothing. A kernel compiled from a blob
  /// must set an equal blob. The blob is held in memory as long as the kernel, so it should be
  /// small; providers with large compiled forms set gantry_kernel.serialize themselves.
  [[nodiscard]] virtual std::unique_ptr<Kernel> compile_keeping(const gantry_compile& args,
                                                                std::string& /*blob*/) const {
    return compile(args);
  }

  [[nodiscard]] const gantry_host* host() const { return host_; }
  [[nodiscard]] const gantry_provider_api* api() const { return &api_; }

 protected:
  /// The table that the host receives. A derived class whose devices have memory of their own fills
  /// in the device slots.
  gantry_provider_api api_ = {};

  /// Reports nodes as one claim whose slots require nothing and allow nothing. The claim's `nodes`,
  /// `kernel`, `time_ns` and `tag` are the caller's, and the numbers of its slots.
  static void claim_plainly(const gantry_claim_request& request, gantry_claim claim) {
    gantry_port plain = {};
    plain.size = sizeof(plain);
    plain.repeats = GANTRY_NONE;
    const std::vector<gantry_port> ports(std::max(claim.input_count, claim.output_count), plain);
    claim.size = sizeof(claim);
    claim.port_size = sizeof(gantry_port);
    claim.inputs = ports.data();
    claim.outputs = ports.data();
    request.sink->claim(request.sink->self, &claim);
  }

 private:
  void fill_api() {
    api_.size = sizeof(api_);
    api_.self = reinterpret_cast<gantry_provider*>(this);
    api_.devices = [](gantry_provider* self, const gantry_device_sink* sink) {
      return guard(of(self)->host_, [&] {
        require_members(GANTRY_HAS(sink, device), "gantry_device_sink");
        of(self)->devices(*sink);
      });
    };
    api_.claim = [](gantry_provider* self, const gantry_claim_request* request) {
      return guard(of(self)->host_, [&] {
        require_members(GANTRY_HAS(request, sink), "gantry_claim_request");
        require_members(GANTRY_HAS(request->sink, refuse), "gantry_claim_sink");
        of(self)->claim(*request);
      });
    };
    api_.compile = [](gantry_provider* self, const gantry_compile* args, gantry_kernel* out) {
      return guard(of(self)->host_, [&] {
        require_members(GANTRY_HAS(args, fragment), "gantry_compile");
        require_members(GANTRY_HAS(out, serialize), "gantry_kernel");
        std::string blob;
        std::unique_ptr<Kernel> kernel = of(self)->compile_keeping(*args, blob);
        of(self)->fill_kernel(std::move(kernel), std::move(blob), *out);
      });
    };
    api_.destroy = [](gantry_provider* self) { delete of(self); };
  }
  static Provider* of(gantry_provider* self) { return reinterpret_cast<Provider*>(self); }

  void claim_fusions(const gantry_claim_request& request) const {
    const GraphIndex index(host_, *request.graph);
    std::vector<bool> is_fused(request.graph->node_count, false);
    const FusionScope scope(index, [&](uint32_t node) { return !is_fused[node]; });
    for (size_t row = 0; row < fusions_.count; ++row) {
      for (uint32_t root = 0; root < request.graph->node_count; ++root) {
        if (is_fused[root]) continue;
        const std::unique_ptr<FusionMatch> match = fusions_.rows[row].match(scope, root);
        if (!match || !fusions_.rows[row].refusal(scope, *match).empty()) continue;
        for (const uint32_t node : match->nodes) is_fused[node] = true;
        claim_fusion(request, index, row, root, match->nodes);
      }
    }
  }

  void claim_fusion(const gantry_claim_request& request, const GraphIndex& index, size_t row,
                    uint32_t root, const std::vector<uint32_t>& nodes) const {
    gantry_claim claim = {};
    claim.nodes = nodes.data();
    claim.node_count = static_cast<uint32_t>(nodes.size());
    claim.input_count = static_cast<uint32_t>(index.input_slots(nodes).size());
    claim.output_count = static_cast<uint32_t>(index.output_slots(nodes).size());
    claim.time_ns = estimated_ns(index.node(root), request.device);
    claim.kernel = to_str(fusions_.rows[row].kernel);
    claim.tag = FusionTag::of(rows_.size() + row, nodes, root).tag();
    claim_plainly(request, claim);
  }

  [[nodiscard]] std::unique_ptr<Kernel> compile_fusion(const gantry_compile& args) const {
    const ClaimedNodes claim(host_, args, rows_.size() + fusions_.count);
    const FusionScope scope = claim.scope();
    const FusionRow& row = fusions_.rows[claim.row() - rows_.size()];
    const std::unique_ptr<FusionMatch> match = row.match(scope, claim.root());
    claim.require_same(row.kernel, match.get());
    return row.make({scope, args, claim.index().input_slots(claim.nodes())}, *match);
  }

  void claim_node(const gantry_claim_request& request, uint32_t index, const NodeView& node,
                  size_t row) const {
    const Marks& marks = rows_[row]->marks;
    const uint32_t captures = request.graph->nodes[index]->capture_count;
    std::vector<gantry_port> inputs(static_cast<size_t>(node.input_count()) + captures,
                                    gantry_port{});
    for (size_t slot = 0; slot < inputs.size(); ++slot) {
      const uint64_t bit = slot < 64 ? uint64_t{1} << slot : 0;
      inputs[slot].size = sizeof(gantry_port);
      inputs[slot].repeats = GANTRY_NONE;
      if (marks.signature_inputs & bit)
        inputs[slot].flags |= GANTRY_PORT_SIGNATURE | GANTRY_PORT_HOST;
      if (marks.host_inputs & bit) inputs[slot].flags |= GANTRY_PORT_HOST;
      if (marks.unaligned_inputs & bit) inputs[slot].flags |= GANTRY_PORT_UNALIGNED;
      if (marks.shape_only_inputs & bit) inputs[slot].flags |= GANTRY_PORT_SHAPE_ONLY;
    }
    std::vector<gantry_port> outputs(static_cast<size_t>(node.output_count()), gantry_port{});
    for (gantry_port& port : outputs) {
      port.size = sizeof(gantry_port);
      port.repeats = GANTRY_NONE;
    }
    if (!outputs.empty()) {
      outputs[0].overwrites = marks.overwrites;
      outputs[0].repeats = marks.repeats;
    }
    for (size_t slot = 1; slot < std::min<size_t>(outputs.size(), 3); ++slot)
      outputs[slot].overwrites = marks.later_overwrites[slot - 1];
    gantry_claim claim = {};
    claim.size = sizeof(claim);
    claim.nodes = &index;
    claim.node_count = 1;
    claim.port_size = sizeof(gantry_port);
    claim.inputs = inputs.data();
    claim.input_count = static_cast<uint32_t>(inputs.size());
    claim.outputs = outputs.data();
    claim.output_count = static_cast<uint32_t>(outputs.size());
    claim.time_ns = estimated_ns(node, request.device);
    claim.kernel = to_str(rows_[row]->kernel ? rows_[row]->kernel : rows_[row]->op_type);
    claim.tag = row;
    request.sink->claim(request.sink->self, &claim);
  }

  struct Compiled {
    const gantry_host* host;
    std::unique_ptr<Kernel> kernel;
    std::string blob;
  };
  static const Compiled* compiled(void* self) { return static_cast<const Compiled*>(self); }

  void fill_kernel(std::unique_ptr<Kernel> kernel, std::string blob, gantry_kernel& out) const {
    auto owned = std::make_unique<Compiled>(Compiled{host_, std::move(kernel), std::move(blob)});
    if (!owned->blob.empty()) {
      out.serialize = [](void* self, void* target,
                         void (*write)(void* target, const void* data, uint64_t size_bytes)) {
        const std::string& blob = compiled(self)->blob;
        write(target, blob.data(), blob.size());
        return static_cast<gantry_error*>(nullptr);
      };
    }
    if (GANTRY_HAS(&out, implementation))
      out.implementation = to_str(owned->kernel->implementation());
    out.run = [](void* self, void* context, const gantry_call* call) {
      return guard(compiled(self)->host, [&] {
        Call view(compiled(self)->host, call, context);
        compiled(self)->kernel->run(view);
      });
    };
    out.destroy = [](void* self) { delete static_cast<Compiled*>(self); };
    out.context_create = [](void* self, void** out_context) {
      return guard(compiled(self)->host,
                   [&] { *out_context = compiled(self)->kernel->make_context().release(); });
    };
    out.context_destroy = [](void*, void* context) { delete static_cast<KernelContext*>(context); };
    out.self = owned.release();
  }

  static constexpr size_t kNoRow = static_cast<size_t>(-1);

  /// The first row that takes the node; kNoRow: none, and `reason` is that of the last row of the
  /// node's version, or names the versions supported.
  size_t select(const NodeView& node, uint32_t device, std::string& reason) const {
    const auto found = index_.find(node.op_type());
    reason = "no kernel for operator " + std::string(node.op_type()) +
             (node.domain().empty() ? "" : " of domain \"" + std::string(node.domain()) + "\"");
    if (found == index_.end()) return kNoRow;
    bool version_met = false;
    int oldest = kLatest;
    int newest = 0;
    for (const size_t index : found->second) {
      const KernelRow& row = *rows_[index];
      if (node.domain() != row.domain) continue;
      oldest = row.first_version < oldest ? row.first_version : oldest;
      newest = row.last_version > newest ? row.last_version : newest;
      if (node.since_version() < row.first_version || node.since_version() > row.last_version)
        continue;
      version_met = true;
      reason = mismatch(node, row);
      if (reason.empty()) reason = refuses(node, device);
      if (reason.empty()) return index;
    }
    if (!version_met && newest > 0) {
      reason = std::string(node.op_type()) + " of version " + std::to_string(node.since_version()) +
               " is not supported, only versions " + std::to_string(oldest) + " to " +
               (newest == kLatest ? "the latest" : std::to_string(newest));
    }
    return kNoRow;
  }

  static std::string mismatch(const NodeView& node, const KernelRow& row) {
    const ValueView typed = row.typed_slot < 0 ? node.output(0) : node.input(row.typed_slot);
    if (typed.dtype() != GANTRY_UNDEFINED && !(dtype_bit(typed.dtype()) & row.dtypes)) {
      return "element type " + std::to_string(typed.dtype()) + " (ONNX TensorProto number) of \"" +
             std::string(typed.name()) + "\" is not supported by kernel " +
             (row.kernel ? row.kernel : row.op_type);
    }
    return row.condition ? row.condition(node) : std::string();
  }

  const gantry_host* host_;
  std::string name_;
  FusionTable fusions_;
  std::vector<const KernelRow*> rows_;
  std::map<std::string, std::vector<size_t>, std::less<>> index_;
};

/// Negotiates the version and returns a new provider of class P in `accept`; the implementation of
/// gantry_provider_v1. ABI_MISMATCH: the host has another layout of provider.h.
template <class P>
gantry_error* enter(const gantry_offer* offer, gantry_accept* accept) noexcept {
  // Without a host table no error can be made; the host sees that `accept` has no table.
  if (!GANTRY_HAS(offer, host) || !GANTRY_HAS(offer->host, error_release)) return nullptr;
  return guard(offer->host, [&] {
    require_members(GANTRY_HAS(offer, options), "gantry_offer");
    require_members(GANTRY_HAS(offer->host, trace_end), "gantry_host");
    require_members(GANTRY_HAS(accept, api), "gantry_accept");
    if (offer->layout != GANTRY_ABI_LAYOUT) {
      throw Error(
          GANTRY_ABI_MISMATCH,
          "the provider was built for another layout of provider.h than the host; rebuild it "
          "with the host's SDK");
    }
    auto provider = std::make_unique<P>(*offer);
    accept->minor = GANTRY_ABI_MINOR < offer->minor ? GANTRY_ABI_MINOR : offer->minor;
    accept->layout = GANTRY_ABI_LAYOUT;
    accept->api = provider.release()->api();
  });
}

}  // namespace gantry::sdk

/// Emits the note and the exported symbol. Once per library, at file scope.
#define GANTRY_DEFINE_PROVIDER(Class)                                                  \
  GANTRY_PROVIDER_NOTE                                                                 \
  extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer, \
                                                            gantry_accept* accept) {   \
    return gantry::sdk::enter<Class>(offer, accept);                                   \
  }
