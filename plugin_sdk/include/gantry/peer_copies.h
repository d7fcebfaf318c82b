/* SPDX-License-Identifier: Apache-2.0 */

/* An extension of the boundary, for providers of several devices with memory of their own: copies
 * from one of them to another without the host in between. A provider has it if its slot
 * native_handle, asked with neither a device nor a stream for the kind GANTRY_PEER_COPIES, answers
 * a gantry_peer_copies that lives as long as the provider. Without it what goes from one device to
 * another goes through host memory. The rules of gantry/provider.h hold here too. */
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
  /* Enqueues on `stream` a copy of `size_bytes` bytes from `source`, memory of another device of
   * this provider, to `target`, memory of the stream's own. It comes after the work that
   * `source_stream`, a stream of that other device, was given so far; neither that stream nor the
   * caller waits for it, and the host keeps `source` as it is until the copy completes. */
  gantry_error* (*copy)(gantry_stream* stream, gantry_stream* source_stream, void* target,
                        const void* source, uint64_t size_bytes);
} gantry_peer_copies;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_PEER_COPIES_H_ */
