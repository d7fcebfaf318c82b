// SPDX-License-Identifier: Apache-2.0
// gantry-worker: started by gantry to run a provider in a process of its own; not for use by hand.
#include <unistd.h>

#include "plugin/child_process.h"
#include "worker/server.h"

int main() {
  gantry::close_inherited_descriptors();
  constexpr int kBoot = 3;
  gantry::serve_application(kBoot);
  // No exit handlers: threads of the provider may still use what they would destroy.
  _exit(0);
}
