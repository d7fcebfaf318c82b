/* SPDX-License-Identifier: Apache-2.0 */

/* The provider boundary: everything that passes between gantry (the host) and a provider.
 *
 * A provider is a shared object that exports one symbol, `gantry_provider_v1`, and is described by
 * a JSON manifest. The host finds the manifest, opens the library when a device of its type is
 * wanted, and calls that symbol once. From then on the two sides talk through two tables of
 * functions: `gantry_host` (what the host offers) and `gantry_provider_api` (what the provider
 * offers). Read this file top to bottom; it is in the order of a provider's life:
 *
 *   1 values and tensors    2 graph    3 claims    4 compile and kernels
 *   5 devices    6 host table    7 provider table    8 entry
 *
 * Rules that hold everywhere:
 *   R1  Every struct starts with `size`, the sizeof it had for the side that filled it. Structs and
 *       tables grow only at the end. A member exists if its end lies within `size`; test with
 *       GANTRY_HAS, never with equality. A function slot exists if it lies within `size` and is not
 *       null.
 *   R2  Strings are UTF-8, counted, not terminated. A null `data` with length 0 is the empty
 *       string.
 *   R3  Functions return null for success, or an error made by `gantry_host.error_create`. The
 *       receiver releases it. No exception may cross; nothing may be thrown, longjmp-ed or unwound
 *       through this boundary.
 *   R4  Whoever creates a thing destroys it, through the same table. Destroy functions cannot fail
 *       and accept null.
 *   R5  Pointers that a function receives are valid until it returns, unless it says otherwise.
 *   R6  Thread rule of a slot: [any] may be called from any thread at any time, also concurrently;
 *       [serial] the host never overlaps two calls on the same first argument. Host functions are
 *       [any] unless marked.
 *   R7  Unknown enumerator values and flags are tolerated: refuse what you do not know, do not
 *       crash on it.
 */
#ifndef GANTRY_PROVIDER_H_
#define GANTRY_PROVIDER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_ABI_MAJOR 1
#define GANTRY_ABI_MINOR 0

/* While the ABI is experimental both sides must carry the same layout: a hash over the size of
 * every struct and the offset of every member below. tests/plugin_sdk/abi_test computes it and
 * prints the new value when a layout changes. */
#define GANTRY_ABI_LAYOUT UINT64_C(0x60bf2edd979bd883)

/* True if the side that filled `*object` knows `member` (R1). */
#ifdef __cplusplus
#define GANTRY_HAS(object, member)                                                          \
  ((object)->size >= static_cast<size_t>(reinterpret_cast<const char*>(&(object)->member) - \
                                         reinterpret_cast<const char*>(object)) +           \
                         sizeof((object)->member))
#else
#define GANTRY_HAS(object, member) \
  ((object)->size >=               \
   (size_t)((const char*)(&(object)->member) - (const char*)(object)) + sizeof((object)->member))
#endif

/* Result codes. The numbers are part of the ABI. */
typedef enum gantry_code {
  GANTRY_OK = 0,
  GANTRY_INVALID_ARGUMENT = 1,
  GANTRY_INVALID_MODEL = 2,
  GANTRY_UNSUPPORTED = 3,
  GANTRY_NOT_FOUND = 4,
  GANTRY_UNAVAILABLE = 5,
  GANTRY_OUT_OF_MEMORY = 6,
  GANTRY_ABI_MISMATCH = 7,
  GANTRY_DEVICE_ERROR = 8,
  GANTRY_DEVICE_LOST = 9,
  GANTRY_PROVIDER_CRASHED = 10,
  GANTRY_CANCELLED = 11,
  GANTRY_DEADLINE_EXCEEDED = 12,
  GANTRY_INTERNAL = 13
} gantry_code;

/* Owned by the host. */
typedef struct gantry_error gantry_error;       /* code and message */
typedef struct gantry_value gantry_value;       /* a tensor, sequence, optional or map */
typedef struct gantry_run gantry_run;           /* one execution of one kernel */
typedef struct gantry_fragment gantry_fragment; /* the nodes being compiled */
/* Owned by the provider. */
typedef struct gantry_provider gantry_provider;
typedef struct gantry_device gantry_device;
typedef struct gantry_stream gantry_stream;
typedef struct gantry_event gantry_event;
typedef struct gantry_capture gantry_capture;

typedef struct gantry_str {
  const char* data;
  uint64_t length; /* bytes */
} gantry_str;

/* ---- 1. Values and tensors ------------------------------------------------------------------- */

/* Element types; the numbers are those of ONNX TensorProto.DataType. */
typedef enum gantry_dtype {
  GANTRY_UNDEFINED = 0,
  GANTRY_FLOAT = 1,
  GANTRY_UINT8 = 2,
  GANTRY_INT8 = 3,
  GANTRY_UINT16 = 4,
  GANTRY_INT16 = 5,
  GANTRY_INT32 = 6,
  GANTRY_INT64 = 7,
  GANTRY_STRING = 8,
  GANTRY_BOOL = 9, /* one byte, 0 or 1 */
  GANTRY_FLOAT16 = 10,
  GANTRY_DOUBLE = 11,
  GANTRY_UINT32 = 12,
  GANTRY_UINT64 = 13,
  GANTRY_COMPLEX64 = 14,  /* two floats */
  GANTRY_COMPLEX128 = 15, /* two doubles */
  GANTRY_BFLOAT16 = 16,
  GANTRY_FLOAT8E4M3FN = 17,
  GANTRY_FLOAT8E4M3FNUZ = 18,
  GANTRY_FLOAT8E5M2 = 19,
  GANTRY_FLOAT8E5M2FNUZ = 20,
  GANTRY_UINT4 = 21, /* 4-bit types: two elements a byte, the first in the low bits */
  GANTRY_INT4 = 22,
  GANTRY_FLOAT4E2M1 = 23,
  GANTRY_FLOAT8E8M0 = 24,
  GANTRY_UINT2 = 25, /* 2-bit types: four elements a byte, the first in the lowest bits */
  GANTRY_INT2 = 26,
  GANTRY_FLOAT6E2M3 =
      27, /* 6-bit types: four elements in three bytes, the first in the lowest bits */
  GANTRY_FLOAT6E3M2 = 28
} gantry_dtype;

typedef enum gantry_kind {
  GANTRY_KIND_UNKNOWN = 0,
  GANTRY_KIND_TENSOR = 1,
  GANTRY_KIND_SEQUENCE = 2,
  GANTRY_KIND_OPTIONAL = 3,
  GANTRY_KIND_MAP = 4
} gantry_kind;

/* A memory format: order[i] is the i-th axis in memory, the outermost first, so channels-last of
 * [N, C, H, W] is {0, 2, 3, 1}. A tensor in such an order keeps its logical shape; its strides
 * follow the order. This version of the host grants orders only, of types of at least 8 bits: no
 * blocks and no private formats. */
typedef struct gantry_format {
  uint32_t size;
  uint32_t rank;
  uint32_t order[8];
  /* Block of `block_extent` elements of axis `block_axis` innermost (nChw16c: axis 1, extent 16);
   * extent 0: none. */
  uint32_t block_axis;
  uint32_t block_extent;
  /* 0, or the provider's own id of a layout that order and block cannot express; see format_bytes
   * and reorder. */
  uint64_t private_id;
} gantry_format;

/* A view of a tensor. The side that made the view owns the memory. */
typedef struct gantry_tensor {
  uint32_t size;
  uint32_t dtype; /* gantry_dtype */
  uint32_t rank;  /* 0: a scalar */
  /* 0: host memory; else the memory of the device that the kernel was compiled for */
  uint32_t device;
  const int64_t* shape;   /* `rank` extents */
  const int64_t* strides; /* `rank` strides in elements; null: dense, last axis fastest */
  /* Must not be written through an input. May be null if the tensor has no elements; null for
   * strings, which gantry_host.value_string reads. Alignment in host memory: outputs and the values
   * that kernels make: 64 bytes; constants: the element size, at most 8 bytes, or none for
   * GANTRY_PORT_UNALIGNED; inputs of the session: as the application aligned them. */
  void* data;
  uint64_t size_bytes;         /* of the elements, packed types rounded up; 0 for strings */
  const gantry_format* format; /* null: described by the strides alone */
} gantry_tensor;

/* ---- 2. Graph -------------------------------------------------------------------------------- */

#define GANTRY_NONE UINT32_MAX /* an optional input or output that is absent */

/* A value of a graph: what is known of it before the model runs. */
typedef struct gantry_value_info {
  uint32_t size;
  uint32_t kind; /* gantry_kind */
  /* of the tensor, of the elements of a sequence or optional, or of a map's values; 0: unknown */
  uint32_t dtype;
  int32_t rank;         /* -1: unknown, or not a tensor */
  const int64_t* shape; /* `rank` extents, -1: not known before the run; null if rank < 1 */
  /* `rank` names of unknown extents, equal names mean equal extents; null: none known */
  const gantry_str* symbols;
  /* not null: always this value; read it with the host's value functions */
  const gantry_value* constant;
  gantry_str name;          /* unique in its graph */
  uint32_t producer;        /* node index, or GANTRY_NONE: an input, a capture or a constant */
  uint32_t is_graph_output; /* 0 or 1 */
  /* number of reads by nodes of the graph, captures included: a node that reads the value twice
   * counts twice. So a provider that looks at a few nodes knows whether others read the value. */
  uint32_t read_count;
} gantry_value_info;

/* Numbers of ONNX AttributeProto.AttributeType. */
typedef enum gantry_attribute_type {
  GANTRY_ATTRIBUTE_FLOAT = 1,
  GANTRY_ATTRIBUTE_INT = 2,
  GANTRY_ATTRIBUTE_STRING = 3,
  GANTRY_ATTRIBUTE_TENSOR = 4,
  GANTRY_ATTRIBUTE_GRAPH = 5,
  GANTRY_ATTRIBUTE_FLOATS = 6,
  GANTRY_ATTRIBUTE_INTS = 7,
  GANTRY_ATTRIBUTE_STRINGS = 8,
  GANTRY_ATTRIBUTE_TENSORS = 9,
  GANTRY_ATTRIBUTE_GRAPHS = 10
} gantry_attribute_type;

struct gantry_graph;

/* An attribute: `count` items in the array of its type, one for FLOAT, INT, STRING, TENSOR and
 * GRAPH. */
typedef struct gantry_attribute {
  uint32_t size;
  uint32_t type; /* gantry_attribute_type */
  gantry_str name;
  uint64_t count;
  const int64_t* ints;
  const float* floats;
  const gantry_str* strings;
  const gantry_value* const* tensors;
  const struct gantry_graph* const* graphs;
} gantry_attribute;

/* A node. Inputs, captures and outputs are indices into gantry_graph.values, or GANTRY_NONE. */
typedef struct gantry_node {
  uint32_t size;
  /* of the operator's schema, not the model's opset: 14 for the Relu of an opset-18 model; of an
   * operator without a schema: the opset that the model imports for its domain */
  int32_t since_version;
  gantry_str name; /* unique in its graph, never empty */
  gantry_str op_type;
  gantry_str domain;   /* "" is ai.onnx */
  gantry_str overload; /* of a model-local function; usually empty */
  const uint32_t* inputs;
  uint32_t input_count;
  uint32_t output_count;
  const uint32_t* outputs;
  /* values of this graph that the node's bodies read: gantry_graph.captures of each body lists
   * them in the same order */
  const uint32_t* captures;
  uint32_t capture_count;
  uint32_t attribute_count;
  const gantry_attribute* const* attributes;
} gantry_node;

/* A graph: the model's main graph or the body of a control-flow node. Nodes are in topological
 * order. Immutable; valid during the call that received it. */
typedef struct gantry_graph {
  uint32_t size;
  uint32_t node_count;
  const gantry_node* const* nodes;
  const gantry_value_info* const* values;
  uint32_t value_count;
  uint32_t input_count;
  const uint32_t* inputs;
  const uint32_t* outputs;
  uint32_t output_count;
  uint32_t capture_count;
  /* this graph's own values for the node's captures; GANTRY_NONE: not read in this body */
  const uint32_t* captures;
  gantry_str name;
} gantry_graph;

/* ---- 3. Claims ------------------------------------------------------------------------------- */

/* A claim is a set of nodes that the provider would run as one kernel. The kernel's slots follow
 * from the set by one rule:
 *
 *   input slots   the nodes in graph order, of each all inputs and then all captures in order,
 *                 leaving out those that are produced inside the set; an absent optional input has
 *                 an empty slot; a value read twice has two slots;
 *   output slots  the nodes in graph order, of each all outputs in order, leaving out those that
 *                 are read inside the set and nowhere else; an output that nobody reads has a slot
 *                 that is not wanted.
 *
 * So the slots of a set of one node are its own inputs (then captures) and outputs. */

enum {
  /* needed in host memory (the shape input of Reshape), whatever the device */
  GANTRY_PORT_HOST = 1,
  /* input: its value, not only its shape, decides the shapes of outputs */
  GANTRY_PORT_SIGNATURE = 2,
  /* input: any strides are accepted; this version of the host passes dense tensors and granted
   * formats all the same */
  GANTRY_PORT_STRIDED = 4,
  /* input: a constant may start at any byte, as a mapped file has it; else the host copies it once
   * if it is not aligned to the element size, at most 8 bytes */
  GANTRY_PORT_UNALIGNED = 8,
  /* input: a constant used at compile only; the run passes an empty slot */
  GANTRY_PORT_COMPILE_ONLY = 16,
  /* input: only its type and shape are read (Shape); its data may be in any memory or null, and
   * the host makes no copy for this slot */
  GANTRY_PORT_SHAPE_ONLY = 32
};

/* What a kernel requires and allows for one slot. */
typedef struct gantry_port {
  uint32_t size;
  uint32_t flags;
  /* Outputs: bit i set: this output may be written over input slot i (element by element, same size
   * in bytes). The host grants it when nobody reads that input later; the kernel sees it as equal
   * data pointers. */
  uint64_t overwrites;
  /* Outputs: input slot whose bytes this output repeats unchanged (Reshape), or GANTRY_NONE. If
   * granted, data pointers are equal and there is nothing to copy. */
  uint32_t repeats;
  uint32_t format_count;
  /* Formats accepted beyond the dense one, preferred first. The dense one is always accepted. */
  const gantry_format* const* formats;
} gantry_port;

enum {
  /* the host may also grant any subset of the nodes, as a claim of its own */
  GANTRY_CLAIM_DIVISIBLE = 1
};

typedef struct gantry_claim {
  uint32_t size;
  uint32_t flags;
  const uint32_t* nodes; /* indices into gantry_graph.nodes */
  uint32_t node_count;
  uint32_t port_size;         /* sizeof(gantry_port) */
  const gantry_port* inputs;  /* one for each input slot, or null: no requirements */
  const gantry_port* outputs; /* one for each output slot, or null: no requirements */
  uint32_t input_count;
  uint32_t output_count;
  double time_ns;           /* estimated time of one run; negative: unknown */
  uint64_t workspace_bytes; /* estimated scratch memory; 0: unknown or none */
  gantry_str kernel;        /* name shown to users, as "conv.im2col" */
  uint64_t tag;             /* passed back in gantry_compile; means nothing to the host */
} gantry_claim;

/* Receives what gantry_provider_api.claim reports. Claims may overlap; of two that cover a node the
 * first is preferred. The sink copies its arguments. */
typedef struct gantry_claim_sink {
  uint32_t size;
  uint32_t reserved;
  void* self;
  void (*claim)(void* self, const gantry_claim* row);
  /* why a node is in no claim: one sentence, no final stop */
  void (*refuse)(void* self, uint32_t node, gantry_str reason);
} gantry_claim_sink;

typedef struct gantry_claim_request {
  uint32_t size;
  uint32_t device; /* index among the devices that the provider enumerated */
  const gantry_graph* graph;
  /* JSON object: the provider's options for this session, valid by the manifest's schema */
  gantry_str options;
  const gantry_claim_sink* sink;
} gantry_claim_request;

/* ---- 4. Compile and kernels ------------------------------------------------------------------ */

/* Everything a kernel sees in one run. */
typedef struct gantry_call {
  uint32_t size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t reserved;
  const gantry_tensor* const* inputs; /* by slot; null: empty slot, or a value that is no tensor */
  const gantry_value* const* values;  /* by slot: the same as opaque values; null: empty slot */
  /* by output slot; 0: nobody reads the output, and the kernel need not make it */
  const uint8_t* wanted;
  gantry_run* run; /* to be passed to the host's run services */
  /* null: the device has no streams and the kernel completes before it returns */
  gantry_stream* stream;
} gantry_call;

/* A compiled claim, immutable and shared by all runs. Filled by the provider. Thread rule of the
 * slots: [any]; one context is never used by two runs at a time. */
typedef struct gantry_kernel {
  uint32_t size;
  uint32_t flags; /* GANTRY_KERNEL_* */
  void* self;
  /* Runs, or enqueues on call->stream. `context` is what context_create made, or null without that
   * slot. */
  gantry_error* (*run)(void* self, void* context, const gantry_call* call);
  void (*destroy)(void* self);
  /* Optional: mutable state, made once per execution context. */
  gantry_error* (*context_create)(void* self, void** out_context);
  void (*context_destroy)(void* self, void* context);
  /* Optional: hands a compiled form to `write`, for a later gantry_compile.blob on an equal device
   * and driver. */
  gantry_error* (*serialize)(void* self, void* target,
                             void (*write)(void* target, const void* data, uint64_t size_bytes));
  /* Optional, shown to users: the implementation that computes the claim, and why a preferred one
   * does not: "oneDNN; not winograd: the window is not 3 x 3". Valid as long as the kernel. */
  gantry_str implementation;
} gantry_kernel;

enum {
  GANTRY_KERNEL_NO_CAPTURE = 1 /* must not run between capture_begin and capture_end */
};

/* One claim to compile: the row that was granted, in the graph it was claimed from. */
typedef struct gantry_compile {
  uint32_t size;
  uint32_t device;
  const gantry_graph* graph;
  const uint32_t* nodes;
  uint32_t node_count;
  uint32_t input_count;
  const uint32_t* inputs;  /* value of each input slot, or GANTRY_NONE; constants can be read now */
  const uint32_t* outputs; /* value of each output slot, or GANTRY_NONE */
  uint32_t output_count;
  uint32_t threads; /* most threads that a run may use, for choosing a layout; 0: not known */
  const gantry_format* const* input_formats;  /* granted, by slot; a null entry: dense */
  const gantry_format* const* output_formats; /* granted, by slot; a null entry: dense */
  uint64_t tag;                               /* of the claim */
  gantry_str options;                         /* as in gantry_claim_request */
  /* what `serialize` wrote for this claim, or null; if it cannot be used, compile without it */
  const void* blob;
  uint64_t blob_bytes;
  gantry_fragment* fragment; /* for gantry_host.fragment_model */
} gantry_compile;

/* ---- 5. Devices ------------------------------------------------------------------------------ */

/* GANTRY_DEVICE_LOST, returned by a slot or a kernel, means that the device's memory and queued
 * work are lost. The host then ends the runs on the device, reports it as blocked and calls only
 * destroy, free and close functions for it, which must not wait for the device.
 *
 * If a device is still busy some time after a run on it was stopped, the host makes no further
 * calls for the device, and does not free memory that the device may still read or write. */

typedef enum gantry_device_state {
  GANTRY_DEVICE_READY = 0,
  GANTRY_DEVICE_ABSENT = 1, /* reported to say why: "driver library libx.so.1 was not found" */
  /* present, but not usable: wrong driver, no permission, in use by another process */
  GANTRY_DEVICE_BLOCKED = 2
} gantry_device_state;

enum {
  /* kernels read and write host memory: no memory, copy or stream slot is used */
  GANTRY_DEVICE_HOST_MEMORY = 1,
  GANTRY_DEVICE_CAPTURE = 2 /* capture slots work on this device */
};

typedef struct gantry_device_info {
  uint32_t size;
  uint32_t state;  /* gantry_device_state */
  gantry_str type; /* one of the manifest's "devices" */
  uint32_t id;     /* N of "TYPE:N", unique per type, from 0 */
  uint32_t flags;
  gantry_str uid;        /* stable over restarts: PCI address, UUID; empty: none */
  gantry_str name;       /* "NVIDIA H200" */
  gantry_str reason;     /* of a state other than ready: one sentence */
  uint64_t memory_bytes; /* 0: unknown */
} gantry_device_info;

typedef struct gantry_device_sink {
  uint32_t size;
  uint32_t reserved;
  void* self;
  /* the n-th call makes device index n */
  void (*device)(void* self, const gantry_device_info* info);
} gantry_device_sink;

typedef enum gantry_copy_kind {
  GANTRY_COPY_HOST_TO_DEVICE = 0,
  GANTRY_COPY_DEVICE_TO_HOST = 1,
  GANTRY_COPY_WITHIN_DEVICE = 2
} gantry_copy_kind;

/* A copy of `rows` rows of `row_bytes` bytes; rows start `source_pitch` bytes apart in the source
 * and `target_pitch` bytes apart in the target. rows = 1 is a plain copy. */
typedef struct gantry_copy {
  uint32_t size;
  uint32_t kind; /* gantry_copy_kind */
  void* target;
  const void* source;
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t target_pitch;
  uint64_t source_pitch;
} gantry_copy;

/* ---- 6. What the host offers ----------------------------------------------------------------- */

typedef enum gantry_log_level {
  GANTRY_LOG_ERROR = 0,
  GANTRY_LOG_WARNING = 1,
  GANTRY_LOG_INFO = 2,
  GANTRY_LOG_DEBUG = 3
} gantry_log_level;

typedef struct gantry_host {
  uint32_t size;
  uint32_t reserved;

  /* Errors. A message is one sentence: the subject, what was expected and what was found. */
  gantry_error* (*error_create)(uint32_t code, gantry_str message);
  uint32_t (*error_code)(const gantry_error* error);
  gantry_str (*error_message)(const gantry_error* error);
  void (*error_release)(gantry_error* error);

  void (*log)(uint32_t level, gantry_str message);

  /* Host memory of the provider's own, counted in the report. Alignment: a power of two. Null when
   * out of memory. */
  void* (*allocate)(uint64_t size_bytes, uint64_t alignment);
  void (*release)(void* memory);

  /* Immutable data made once per process for each key (packed weights): `fill` writes `size_bytes`
   * on first use, later callers share the result. Key: 32 bytes, a digest of the content and its
   * layout. The data are freed when the last user releases them. */
  gantry_error* (*packed_acquire)(const uint8_t key[32], uint64_t size_bytes,
                                  void (*fill)(void* arg, void* target), void* arg,
                                  const void** out_data);
  void (*packed_release)(const void* data);

  /* Writes the nodes being compiled as a serialized ONNX ModelProto. Its inputs and outputs are the
   * claim's slots, named after their values, without the outputs that nobody reads. Constants of
   * more than 1 KiB are external data at location "gantry:N", which fragment_weight returns for
   * index N. */
  gantry_error* (*fragment_model)(gantry_fragment* fragment, void* target,
                                  void (*write)(void* target, const void* data,
                                                uint64_t size_bytes));
  gantry_error* (*fragment_weight)(gantry_fragment* fragment, uint64_t index, const void** out_data,
                                   uint64_t* out_size_bytes);

  /* Values. Handles passed to a kernel are borrowed; those made here are owned until they are
   * released or passed on. A value under construction is used by one thread. */
  uint32_t (*value_kind)(const gantry_value* value);
  const gantry_tensor* (*value_tensor)(const gantry_value* value); /* null: not a tensor */
  gantry_error* (*value_string)(const gantry_value* value, uint64_t index, gantry_str* out_string);
  /* sequence: elements; optional: 0 or 1; map: 2, keys and values */
  uint64_t (*value_length)(const gantry_value* value);
  /* null: out of range */
  const gantry_value* (*value_at)(const gantry_value* value, uint64_t index);
  /* host memory, not initialised; strings are empty */
  gantry_error* (*value_create_tensor)(uint32_t dtype, uint32_t rank, const int64_t* shape,
                                       gantry_value** out_value, gantry_tensor** out_tensor);
  /* an empty sequence, optional or map; `dtype`: element type */
  gantry_error* (*value_create)(uint32_t kind, uint32_t dtype, gantry_value** out_value);
  /* Appends an item, shared and not copied. A map takes two: its keys [C], then its values [C];
   * with values [N, C] it stands for N maps, and can only be appended to a sequence. */
  gantry_error* (*value_append)(gantry_value* value, const gantry_value* item);
  /* disjoint indices: [any] */
  gantry_error* (*value_set_string)(gantry_value* value, uint64_t index, gantry_str text);
  void (*value_release)(gantry_value* value);

  /* Run services; [serial] in `run`, and only until the kernel returns. */

  /* Memory for output slot `index`: a tensor of this type and shape in the memory of the kernel's
   * device (or host memory, if the port says so), in the granted format. Valid until the kernel's
   * work is complete. Ask once for each wanted output. INVALID_ARGUMENT: a type or a rank other
   * than the model declares, a string type, an extent below 0, or an output asked for twice. */
  gantry_error* (*output)(gantry_run* run, uint32_t index, uint32_t dtype, uint32_t rank,
                          const int64_t* shape, gantry_tensor** out_tensor);
  /* Sets output slot `index` to `value`, of any kind: for sequences, optionals, maps and string
   * tensors (value_create...). The host shares the value; the caller still releases its own handle.
   * INVALID_ARGUMENT: the slot is in a device's memory or has a granted format, or the value's
   * kind, type or rank is not what the model declares. */
  gantry_error* (*output_value)(gantry_run* run, uint32_t index, const gantry_value* value);
  /* Sets the final shape of an output that was asked for with an upper bound; no extent of `shape`
   * may be larger. With an event, `shape` points to host memory that is filled by the time the
   * event completes, and stays valid until the run ends. */
  gantry_error* (*output_shrink)(gantry_run* run, uint32_t index, const int64_t* shape,
                                 gantry_event* event);
  /* Uninitialised memory of the kernel's device, aligned to 64 bytes, until the kernel's work is
   * complete. */
  gantry_error* (*scratch)(gantry_run* run, uint64_t size_bytes, void** out_memory);
  /* The same in host memory. */
  gantry_error* (*scratch_host)(gantry_run* run, uint64_t size_bytes, void** out_memory);
  /* Calls body(arg, begin, end) on disjoint ranges that cover [0, count), at least `grain` items
   * each but the last, on the threads that this run may use; returns when all are done. Bodies must
   * not throw; nested calls run in the caller. */
  void (*parallel_for)(gantry_run* run, int64_t count, int64_t grain,
                       void (*body)(void* arg, int64_t begin, int64_t end), void* arg);
  uint32_t (*thread_count)(gantry_run* run); /* threads that parallel_for may use now, at least 1 */
  /* 0, or the code that the kernel should return at once: GANTRY_CANCELLED or
   * GANTRY_DEADLINE_EXCEEDED. Poll it in long loops. [any] */
  uint32_t (*should_stop)(gantry_run* run);
  /* A named span in the trace, if one is being taken; `end` closes the span that the same thread
   * opened last. [any] */
  void (*trace_begin)(gantry_run* run, gantry_str name);
  void (*trace_end)(gantry_run* run);
} gantry_host;

/* ---- 7. What the provider offers ------------------------------------------------------------- */

typedef struct gantry_provider_api {
  uint32_t size;
  uint32_t reserved;
  gantry_provider* self; /* passed to the slots below */

  /* Required. Reports every device of the manifest's types. Must be cheap and create no driver
   * contexts. Without hardware it succeeds and reports no devices, or absent ones with the reason.
   * [serial] */
  gantry_error* (*devices)(gantry_provider* self, const gantry_device_sink* sink);

  /* Required. Reports to the sink which nodes of a graph the provider can run on a device, as
   * claims, and why not the others. Pure: an equal request has an equal answer, and nothing is
   * allocated on a device. Must survive hostile graphs. Called once more for each body. [any] */
  gantry_error* (*claim)(gantry_provider* self, const gantry_claim_request* request);

  /* Required. Makes the kernel of a granted claim. The caller has set out_kernel->size: members
   * beyond it do not exist (R1). [any] */
  gantry_error* (*compile)(gantry_provider* self, const gantry_compile* args,
                           gantry_kernel* out_kernel);

  /* Required. The last call; must end every thread of the provider before it returns. [serial] */
  void (*destroy)(gantry_provider* self);

  /* ---- Needed for devices with memory of their own; null otherwise. ----------------------------
   */

  /* Opens a device for use; called once per device before any slot below. Index as enumerated.
   * [serial] */
  gantry_error* (*device_open)(gantry_provider* self, uint32_t index, gantry_device** out_device);
  void (*device_close)(gantry_device* device);

  /* [any] */
  gantry_error* (*memory_allocate)(gantry_device* device, uint64_t size_bytes, void** out_memory);
  /* [any] */
  void (*memory_free)(gantry_device* device, void* memory);

  /* Work on one stream completes in the order it was given; streams are independent. */
  gantry_error* (*stream_create)(gantry_device* device, gantry_stream** out_stream);
  void (*stream_destroy)(gantry_stream* stream);
  /* waits for all work; reports errors of that work */
  gantry_error* (*stream_synchronize)(gantry_stream* stream);

  /* Enqueues a copy. The host does not touch the host memory of the copy until it completes. */
  gantry_error* (*copy)(gantry_stream* stream, const gantry_copy* copy);

  gantry_error* (*event_create)(gantry_device* device, gantry_event** out_event);
  void (*event_destroy)(gantry_event* event);
  /* the event completes when the work given to `stream` so far has */
  gantry_error* (*event_record)(gantry_event* event, gantry_stream* stream);
  /* work given to `stream` later waits for the event */
  gantry_error* (*event_wait)(gantry_event* event, gantry_stream* stream);
  /* The calling thread waits for the event. Returns an error if the work before the event on its
   * stream failed; the stream keeps that error until stream_synchronize has returned it too. */
  gantry_error* (*event_synchronize)(gantry_event* event);

  /* ---- Optional. -------------------------------------------------------------------------------
   */

  /* Work recorded once and launched many times, as a CUDA graph. Between capture_begin and
   * capture_end the stream records instead of running; the host gives it kernels only, no copies
   * and no events, and all from one thread. capture_end leaves the stream as it was before
   * capture_begin, also after a kernel failed. The host launches a capture with the addresses that
   * it was recorded with, one launch at a time, and destroys it when its work is complete. */
  gantry_error* (*capture_begin)(gantry_stream* stream);
  gantry_error* (*capture_end)(gantry_stream* stream, gantry_capture** out_capture);
  gantry_error* (*capture_launch)(gantry_capture* capture, gantry_stream* stream);
  void (*capture_destroy)(gantry_capture* capture);

  /* Size in bytes of a tensor in a private format (gantry_format.private_id). This version of the
   * host grants no private formats and does not call the slot. */
  gantry_error* (*format_bytes)(gantry_provider* self, const gantry_format* format, uint32_t dtype,
                                uint32_t rank, const int64_t* shape, uint64_t* out_bytes);
  /* Copies a tensor in a format that this provider was granted into dense order, on the stream if
   * there is one. A value has a format only if all its readers accept the format, or if its
   * provider has this slot. [any] */
  gantry_error* (*reorder)(gantry_provider* self, gantry_run* run, gantry_stream* stream,
                           const gantry_tensor* source, gantry_tensor* target);

  /* The native handle of a device or stream, for another provider of the same device (kind
   * "cuda.stream"); null: no such kind. With neither device nor stream: a table of an extension
   * (peer_copies.h, shared_memory.h). */
  void* (*native_handle)(gantry_device* device, gantry_stream* stream, gantry_str kind);

  /* Whether the work before the event has completed (1) or not (0), without waiting; errors as
   * event_synchronize. With it a run that is cancelled or past its deadline can return although the
   * device does not respond; without it the host waits for the device. [any] */
  gantry_error* (*event_query)(gantry_event* event, uint32_t* out_is_complete);
} gantry_provider_api;

/* ---- 8. Entry -------------------------------------------------------------------------------- */

typedef struct gantry_offer {
  uint32_t size;
  uint32_t minor;          /* newest minor version that the host speaks */
  uint64_t layout;         /* the host's GANTRY_ABI_LAYOUT */
  const gantry_host* host; /* valid as long as the process */
  gantry_str library;      /* absolute path of this library */
  gantry_str manifest;     /* text of the manifest */
  gantry_str options; /* JSON object: the process-wide options, valid by the manifest's schema */
} gantry_offer;

typedef struct gantry_accept {
  uint32_t size;                  /* set by the host; members beyond it do not exist (R1) */
  uint32_t minor;                 /* version spoken: at most the host's */
  uint64_t layout;                /* the provider's GANTRY_ABI_LAYOUT */
  const gantry_provider_api* api; /* valid until its `destroy` */
} gantry_accept;

#if defined(_WIN32)
#define GANTRY_EXPORT __declspec(dllexport)
#else
#define GANTRY_EXPORT __attribute__((visibility("default")))
#endif

/* The only symbol of a provider. A process has at most one provider object of a library at a time:
 * the entry is called again only after `destroy` has returned. If it returns an error, the provider
 * must have released everything that it made. ABI_MISMATCH: the two sides have no common version
 * or layout. */
typedef gantry_error* (*gantry_provider_entry)(const gantry_offer* offer, gantry_accept* accept);
GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer, gantry_accept* accept);

/* A note in the library file, in the section ".note.gantry", that the host reads before it opens
 * the library: version and layout. Put GANTRY_PROVIDER_NOTE once, at file scope, into one source
 * file. */
typedef struct gantry_note {
  uint32_t name_bytes;        /* 7: "gantry" and its terminator */
  uint32_t description_bytes; /* of the members after `name` */
  uint32_t type;              /* 1 */
  char name[8];
  uint32_t major;
  uint64_t layout;
  uint32_t minor;
  uint32_t sanitizer; /* 0 none, 1 address, 2 thread */
} gantry_note;

/* GCC defines a macro for each sanitizer, clang has __has_feature. */
#if defined(__SANITIZE_ADDRESS__)
#define GANTRY_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define GANTRY_SANITIZER 2
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GANTRY_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define GANTRY_SANITIZER 2
#endif
#endif
#ifndef GANTRY_SANITIZER
#define GANTRY_SANITIZER 0
#endif

#define GANTRY_PROVIDER_NOTE                                                      \
  __attribute__((section(".note.gantry"), used,                                   \
                 aligned(4))) static const gantry_note gantry_note_of_library = { \
      7,                                                                          \
      sizeof(gantry_note) - offsetof(gantry_note, major),                         \
      1,                                                                          \
      "gantry",                                                                   \
      GANTRY_ABI_MAJOR,                                                           \
      GANTRY_ABI_LAYOUT,                                                          \
      GANTRY_ABI_MINOR,                                                           \
      GANTRY_SANITIZER};

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_PROVIDER_H_ */
