/* SPDX-License-Identifier: Apache-2.0 */

/* An extension of the boundary: direct copies between two devices of one provider, each with
 * memory of its own. A provider offers it if gantry_provider_api.native_handle, called with a null
 * device, a null stream and the kind GANTRY_PEER_COPIES, returns a gantry_peer_copies that lives as
 * long as the provider. Without it the host copies from device to device through host memory. The
 * rules of gantry/provider.h hold here too. */
#ifndef GANTRY_PEER_COPIES_H_
#define GANTRY_PEER_COPIES_H_

#include <gantry/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_PEER_COPIES "gantry.peer_copies"

typedef struct gantry_peer_copies {
  uint32_t size;
  uint32_t reserved;
  /* Enqueues on `stream` a copy of `size_bytes` bytes from `source` to `target`. `target` is memory
   * of the stream's device; `source` is memory of another device of this provider, the device of
   * `source_stream`. The copy starts after the work given to `source_stream` so far. Neither
   * `source_stream` nor the caller waits for the copy, and the host does not change `source` until
   * the copy completes. */
  gantry_error* (*copy)(gantry_stream* stream, gantry_stream* source_stream, void* target,
                        const void* source, uint64_t size_bytes);
} gantry_peer_copies;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_PEER_COPIES_H_ */
