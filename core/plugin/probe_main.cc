// SPDX-License-Identifier: Apache-2.0
// gantry-probe: started by gantry to try a provider, of no use by hand.
#include "plugin/probe.h"

int main() { return gantry::run_probe_child(); }
