// SPDX-License-Identifier: Apache-2.0
// gantry-worker: started by gantry to run a provider in a process of its own, of no use by hand.
#include <unistd.h>

#include "plugin/child_process.h"
#include "worker/server.h"

int main() {
  gantry::close_inherited_descriptors();
  constexpr int kBoot = 3;
  gantry::serve_application(kBoot);
  // Threads of the provider may still run, and need what an orderly end would take from them.
  _exit(0);
}
