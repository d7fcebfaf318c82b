// SPDX-License-Identifier: Apache-2.0
// Serializes a graph to one block of bytes (an image), from which another process of the same build
// restores it without importing the model. Constants in memory that both processes have, such as a
// mapped model file, are stored as references; all others are in the block and are used in place.
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gantry {

/// Memory that the reader of an image has too: the same bytes at the same index of the sources.
struct ImageSource {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< null: borrowed
};

/// The image of a graph with dense ids, bodies included. Empty: a constant is no dense tensor.
/// Equal graphs have equal images.
std::vector<std::byte> to_image(const Graph& graph, std::span<const ImageSource> sources);

/// Restores the graph of an image, which must start at a multiple of kTensorAlignment. Its
/// constants are views of the sources and of the image, which `owner` keeps alive.
/// INVALID_ARGUMENT: not an image, truncated, or of other sources; the message says which.
std::unique_ptr<Graph> from_image(std::span<const std::byte> image,
                                  const std::shared_ptr<const void>& owner,
                                  std::span<const ImageSource> sources);

}  // namespace gantry
