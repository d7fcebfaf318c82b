// SPDX-License-Identifier: Apache-2.0
#include "process_runtime.h"

namespace gantry::python {

Runtime& runtime() {
  static Runtime* shared = new Runtime;
  return *shared;
}

}  // namespace gantry::python
