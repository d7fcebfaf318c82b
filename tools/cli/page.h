// SPDX-License-Identifier: Apache-2.0
// The parts of the page that `gantry explain --html` writes, compiled in from explain_page.
#pragma once

namespace gantry::cli {

/// HTML with /*STYLE*/, /*SCRIPT*/ and /*FACTS*/ where the parts go.
extern const char* const kPage;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace gantry::cli
