// SPDX-License-Identifier: Apache-2.0
// gantry-probe: started by gantry to probe a provider; not for use by hand.
#include "plugin/child_process.h"
#include "plugin/probe.h"

int main() {
  gantry::close_inherited_descriptors();
  return gantry::run_probe_child();
}
