/* SPDX-License-Identifier: Apache-2.0 */

/* An extension of the boundary: operators of a provider that follow from its options, as those of a
 * library that they name. A provider offers it if its manifest says "operators": "by_options", and
 * gantry_provider_api.native_handle, called with a null device, a null stream and the kind
 * GANTRY_DECLARED_OPERATORS, returns a gantry_declared_operators that lives as long as the
 * provider. The host opens such a provider only where options are given to it. The rules of
 * gantry/provider.h hold here too. */
#ifndef GANTRY_DECLARED_OPERATORS_H_
#define GANTRY_DECLARED_OPERATORS_H_

#include <gantry/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_DECLARED_OPERATORS "gantry.declared_operators"

typedef struct gantry_declared_operators {
  uint32_t size;
  uint32_t reserved;
  /* Calls `write` with the parts, in order, of a JSON array: the operators that the provider has
   * with these options of a session, as the manifest's member "operators" has them. The host calls
   * it before it infers the types of a model, once for each session, and claims after that. [any]
   */
  gantry_error* (*list)(gantry_provider* self, gantry_str options, void* target,
                        void (*write)(void* target, const void* data, uint64_t size_bytes));
} gantry_declared_operators;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GANTRY_DECLARED_OPERATORS_H_ */
