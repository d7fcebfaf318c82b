/* SPDX-License-Identifier: Apache-2.0 */

/* An extension of the boundary, for providers of devices whose memory other libraries of the
 * process use too: how DLPack names device and stream, and what orders their work and ours. A
 * provider has it if its slot native_handle, asked with neither a device nor a stream for the kind
 * GANTRY_SHARED_MEMORY, answers a gantry_shared_memory that lives as long as the provider. Without
 * it tensors of its devices are not handed to other libraries, and none are taken from them. The
 * rules of gantry/provider.h hold here too; all functions are [any]. */
#ifndef GANTRY_SHARED_MEMORY_H_
#define GANTRY_SHARED_MEMORY_H_

#include <gantry/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_SHARED_MEMORY "gantry.shared_memory"

typedef struct gantry_shared_memory {
  uint32_t size;
  /* What addresses must be multiples of, for every kernel of the provider's; at most 64. */
  uint32_t alignment;
  /* The device's type and number as a DLDevice has them. */
  void (*device_of)(gantry_device* device, int32_t* out_type, int32_t* out_id);
  /* The stream as the method __dlpack__ of Python's array API standard takes it. */
  uintptr_t (*stream_of)(gantry_stream* stream);
  /* Waits for all work that the process has given to the device, other libraries' too: what they
   * were lent is then read and written by nothing any more. */
  gantry_error* (*settle)(gantry_device* device);
} gantry_shared_memory;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_SHARED_MEMORY_H_ */
