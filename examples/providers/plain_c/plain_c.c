/* SPDX-License-Identifier: Apache-2.0 */

/* A provider in plain C, against provider.h alone: one device in host memory, which computes Relu,
 * and Add of tensors of one shape, both of float32. Whatever a provider can do can be done in this
 * way; the C++ layer only makes it shorter. */
#include <gantry/provider.h>

#include <stdlib.h>
#include <string.h>

GANTRY_PROVIDER_NOTE

/* The provider object; opaque to the host as gantry_provider. */
typedef struct {
  const gantry_host* host;
  gantry_provider_api api;
} provider;

static gantry_str text(const char* words) {
  gantry_str result;
  result.data = words;
  result.length = strlen(words);
  return result;
}

static int equals(gantry_str a, const char* b) {
  return a.length == strlen(b) && (a.length == 0 || memcmp(a.data, b, a.length) == 0);
}

/* Requires the members of ABI version 1.0; each use of a later member needs its own GANTRY_HAS. */
static gantry_error* too_small(const gantry_host* host) {
  return host->error_create(
      (uint32_t)GANTRY_ABI_MISMATCH,
      text("plain-c: expected structs as large as version 1.0 has them, found a smaller size"));
}

static gantry_error* fail(const gantry_host* host, gantry_code code, const char* message) {
  return host->error_create((uint32_t)code, text(message));
}

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct {
  const char* op_type;
  int32_t first_version; /* of the schemas */
  int32_t last_version;
  uint32_t input_count;
  void (*body)(void* arg, int64_t begin, int64_t end);
} operator_row;

/* Arguments of the parallel parts of a run. */
typedef struct {
  const float* inputs[2];
  float* output;
} work;

static void relu(void* arg, int64_t begin, int64_t end) {
  const work* w = arg;
  /* Written so that NaN remains NaN. */
  for (int64_t i = begin; i < end; ++i)
    w->output[i] = w->inputs[0][i] < 0.0F ? 0.0F : w->inputs[0][i];
}

static void add(void* arg, int64_t begin, int64_t end) {
  const work* w = arg;
  for (int64_t i = begin; i < end; ++i) w->output[i] = w->inputs[0][i] + w->inputs[1][i];
}

static const operator_row kRows[] = {
    {"Relu", 6, 14, 1, relu},
    {"Add", 7, 14, 2, add},
};

/* A compiled node. */
typedef struct {
  const gantry_host* host;
  const operator_row* row;
} kernel;

static int same_shape(const gantry_tensor* a, const gantry_tensor* b) {
  return a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0);
}

static gantry_error* kernel_run(void* self, void* context, const gantry_call* call) {
  const kernel* k = self;
  const gantry_host* host = k->host;
  (void)context;
  const uint32_t stop = host->should_stop(call->run);
  if (stop != 0) return fail(host, (gantry_code)stop, "the run was stopped by its caller");
  work w = {{NULL, NULL}, NULL};
  for (uint32_t i = 0; i < k->row->input_count; ++i) {
    const gantry_tensor* input = i < call->input_count ? call->inputs[i] : NULL;
    if (!input)
      return fail(host, GANTRY_INVALID_ARGUMENT, "an input is absent; a tensor is needed");
    if (!same_shape(input, call->inputs[0]))
      return fail(host, GANTRY_UNSUPPORTED, "Add: expected inputs of one shape, found two");
    w.inputs[i] = input->data;
  }
  if (call->output_count == 0 || !call->wanted[0]) return NULL;
  const gantry_tensor* first = call->inputs[0];
  gantry_tensor* output = NULL;
  gantry_error* error =
      host->output(call->run, 0, GANTRY_FLOAT, first->rank, first->shape, &output);
  if (error) return error;
  w.output = output->data;
  host->parallel_for(call->run, (int64_t)(output->size_bytes / sizeof(float)), 16384, k->row->body,
                     &w);
  return NULL;
}

static void kernel_destroy(void* self) { free(self); }

/* ---- Claims ---------------------------------------------------------------------------------- */

/* The value at an index of a node's inputs or outputs; null if it is absent. */
static const gantry_value_info* value_of(const gantry_graph* graph, const uint32_t* ids,
                                         uint32_t count, uint32_t index) {
  return index < count && ids[index] < graph->value_count ? graph->values[ids[index]] : NULL;
}

/* True if both shapes are known and equal. */
static int have_one_shape(const gantry_value_info* a, const gantry_value_info* b) {
  if (a->rank != b->rank || a->rank < 0) return 0;
  for (int32_t axis = 0; axis < a->rank; ++axis) {
    if (a->shape[axis] < 0 || a->shape[axis] != b->shape[axis]) return 0;
  }
  return 1;
}

/* The row that supports a node; null, and the reason, if there is none. */
static const operator_row* find_row(const gantry_graph* graph, const gantry_node* node,
                                    const char** reason) {
  *reason = "no kernel for this operator";
  for (size_t r = 0; r < sizeof(kRows) / sizeof(kRows[0]); ++r) {
    const operator_row* row = &kRows[r];
    if (!equals(node->domain, "") || !equals(node->op_type, row->op_type)) continue;
    *reason = "this version of the operator is not known";
    if (node->since_version < row->first_version || node->since_version > row->last_version)
      continue;
    *reason = "it has another number of inputs or outputs than the operator";
    if (node->input_count != row->input_count || node->output_count != 1) continue;
    const gantry_value_info* first = value_of(graph, node->inputs, node->input_count, 0);
    for (uint32_t i = 0; i < row->input_count; ++i) {
      const gantry_value_info* value = value_of(graph, node->inputs, node->input_count, i);
      *reason = "only float32 is computed";
      if (!value || value->kind != GANTRY_KIND_TENSOR || value->dtype != GANTRY_FLOAT) return NULL;
      *reason = "the inputs are not known to have one shape";
      if (i > 0 && !have_one_shape(first, value)) return NULL;
    }
    return row;
  }
  return NULL;
}

static gantry_error* claim(gantry_provider* self, const gantry_claim_request* request) {
  if (!GANTRY_HAS(request, sink) || !GANTRY_HAS(request->sink, refuse))
    return too_small(((provider*)self)->host);
  const gantry_claim_sink* sink = request->sink;
  for (uint32_t i = 0; i < request->graph->node_count; ++i) {
    const char* reason = NULL;
    const operator_row* row = find_row(request->graph, request->graph->nodes[i], &reason);
    if (!row) {
      sink->refuse(sink->self, i, text(reason));
      continue;
    }
    gantry_port output = {0};
    output.size = sizeof(output);
    output.repeats = GANTRY_NONE;
    output.overwrites = 1; /* the output may share the memory of input 0 */
    gantry_claim answer = {0};
    answer.size = sizeof(answer);
    answer.nodes = &i;
    answer.node_count = 1;
    answer.port_size = sizeof(gantry_port);
    answer.outputs = &output;
    answer.output_count = 1;
    answer.time_ns = -1;
    answer.kernel = text(row->op_type);
    answer.tag = (uint64_t)(row - kRows);
    sink->claim(sink->self, &answer);
  }
  return NULL;
}

static gantry_error* compile(gantry_provider* self, const gantry_compile* args,
                             gantry_kernel* out_kernel) {
  const gantry_host* host = ((provider*)self)->host;
  if (!GANTRY_HAS(args, fragment) || !GANTRY_HAS(out_kernel, serialize)) return too_small(host);
  if (args->node_count != 1 || args->tag >= sizeof(kRows) / sizeof(kRows[0]))
    return fail(host, GANTRY_INVALID_ARGUMENT, "plain-c: asked to compile a claim it did not make");
  kernel* made = malloc(sizeof(*made));
  if (!made) return fail(host, GANTRY_OUT_OF_MEMORY, "plain-c: no memory for a kernel");
  made->host = host;
  made->row = &kRows[args->tag];
  out_kernel->self = made;
  out_kernel->run = kernel_run;
  out_kernel->destroy = kernel_destroy;
  return NULL;
}

/* ---- The provider ---------------------------------------------------------------------------- */

static gantry_error* devices(gantry_provider* self, const gantry_device_sink* sink) {
  if (!GANTRY_HAS(sink, device)) return too_small(((provider*)self)->host);
  gantry_device_info info = {0};
  info.size = sizeof(info);
  info.state = GANTRY_DEVICE_READY;
  info.type = text("PLAIN_C");
  info.flags = GANTRY_DEVICE_HOST_MEMORY;
  info.name = text("kernels in plain C");
  sink->device(sink->self, &info);
  return NULL;
}

static void destroy(gantry_provider* self) { free(self); }

gantry_error* gantry_provider_v1(const gantry_offer* offer, gantry_accept* accept) {
  /* No host to create an error: the host sees that no table was filled. */
  if (!GANTRY_HAS(offer, host) || !GANTRY_HAS(offer->host, error_release)) return NULL;
  const gantry_host* host = offer->host;
  if (!GANTRY_HAS(offer, options) || !GANTRY_HAS(host, trace_end) || !GANTRY_HAS(accept, api))
    return too_small(host);
  if (offer->layout != GANTRY_ABI_LAYOUT) {
    return fail(host, GANTRY_ABI_MISMATCH,
                "plain-c was built for another layout of provider.h; rebuild it with the host's "
                "SDK");
  }
  provider* made = calloc(1, sizeof(*made));
  if (!made) return fail(host, GANTRY_OUT_OF_MEMORY, "plain-c: no memory for the provider");
  made->host = host;
  made->api.size = sizeof(made->api);
  made->api.self = (gantry_provider*)made;
  made->api.devices = devices;
  made->api.claim = claim;
  made->api.compile = compile;
  made->api.destroy = destroy;
  accept->minor = GANTRY_ABI_MINOR;
  if (accept->minor > offer->minor) accept->minor = offer->minor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &made->api;
  return NULL;
}
