// SPDX-License-Identifier: Apache-2.0
// The parts of the page of `gantry explain --html`, compiled in from explain_page/.
#pragma once

namespace gantry::cli {

/// HTML with the placeholders /*STYLE*/, /*SCRIPT*/ and /*FACTS*/.
extern const char* const kPage;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace gantry::cli
