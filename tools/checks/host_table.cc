// SPDX-License-Identifier: Apache-2.0
#include "host_table.h"

#include "host.h"
#include "host_fragment.h"
#include "host_run.h"

namespace gantry::checks {
namespace {

gantry_host make_table() {
  gantry_host table = {};
  table.size = sizeof(table);
  add_host_services(table);
  add_fragment_services(table);
  add_run_services(table);
  return table;
}

}  // namespace

const gantry_host* host_table() {
  static const gantry_host table = make_table();
  return &table;
}

}  // namespace gantry::checks
