/* SPDX-License-Identifier: Apache-2.0 */

/* An extension of the boundary: exchanges device tensors with other libraries of the process by
 * DLPack. It gives the DLPack names of device and stream, and a wait for the work of all libraries
 * on the device. A provider offers it if gantry_provider_api.native_handle, called with a null
 * device, a null stream and the kind GANTRY_SHARED_MEMORY, returns a gantry_shared_memory that
 * lives as long as the provider. Without it the host neither exports nor imports tensors of its
 * devices. The rules of gantry/provider.h hold here too; all functions are [any]. */
#ifndef GANTRY_SHARED_MEMORY_H_
#define GANTRY_SHARED_MEMORY_H_

#include <gantry/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_SHARED_MEMORY "gantry.shared_memory"

typedef struct gantry_shared_memory {
  uint32_t size;
  /* Alignment in bytes that every kernel of the provider requires of an address; at most 64. */
  uint32_t alignment;
  /* The device's DLDevice: device_type and device_id. */
  void (*device_of)(gantry_device* device, int32_t* out_type, int32_t* out_id);
  /* The stream as the parameter `stream` of __dlpack__ (Python array API standard) takes it. */
  uintptr_t (*stream_of)(gantry_stream* stream);
  /* Waits for all work that the process has given to the device, that of other libraries included,
   * so that memory lent to them is no longer read or written. */
  gantry_error* (*settle)(gantry_device* device);
} gantry_shared_memory;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_SHARED_MEMORY_H_ */
