// SPDX-License-Identifier: Apache-2.0
// A graph as one block of bytes, for another process of the same build to make it from without
// reading the model again. Numbers that lie in memory which both processes have, a mapped model's,
// are referred to; all others stand in the block and are used there. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gantry {

/// Memory that whoever reads an image has too: the same bytes, under the same number.
struct ImageSource {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< null: borrowed
};

/// The image of a graph with dense ids, bodies included. Empty: it has none, since a constant is no
/// dense tensor. Equal graphs have equal images.
std::vector<std::byte> to_image(const Graph& graph, std::span<const ImageSource> sources);

/// The graph of an image that starts at a multiple of kTensorAlignment. Its constants are views of
/// the sources' memory, and of the image's, which `owner` keeps. INVALID_ARGUMENT: it is no image,
/// or one that was cut, or of other sources; what is wrong with it.
std::unique_ptr<Graph> from_image(std::span<const std::byte> image,
                                  const std::shared_ptr<const void>& owner,
                                  std::span<const ImageSource> sources);

}  // namespace gantry
