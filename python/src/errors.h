// SPDX-License-Identifier: Apache-2.0
// gantry::Error as Python's exceptions: one class for each code, written in gantry/errors.py.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

namespace gantry::python {

/// Registers the translation of gantry::Error to the exception class of its code. Called once, when
/// the module is imported.
void register_errors();

/// Name of an object's class: "list".
std::string class_name(nanobind::handle object);

/// The object as error messages name it: "a list", "an int", "None".
std::string described(nanobind::handle object);

}  // namespace gantry::python
