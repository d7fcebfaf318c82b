// SPDX-License-Identifier: Apache-2.0
// The functions that plugin execution providers get: those of OrtApi that are here, and OrtEpApi.
// Any thread.
#pragma once

namespace gantry::ort {

class ApiTable;

/// OrtApiBase, for CreateEpFactories.
const void* api_base();

void add_graph_functions(ApiTable& table);
void add_device_functions(ApiTable& table);
void add_metadata_functions(ApiTable& table);
void add_settings_functions(ApiTable& table);

/// OrtEpApi.
const void* ep_api();

}  // namespace gantry::ort
