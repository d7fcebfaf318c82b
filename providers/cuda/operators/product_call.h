// SPDX-License-Identifier: Apache-2.0
// A product of which is known how its factors lie, and the ways of making it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../kernels/product.h"
#include "operators.h"

namespace gantry::cuda {

/// Elements from where the factors and the result begin, for one of several calls.
struct ProductOffsets {
  int64_t a = 0, b = 0, y = 0;  ///< y: of what is added too
};

/// Borrows the parameters and the walk through the batch.
struct ProductCall {
  ProductParameters& parameters;  ///< all but addresses
  const Walk& walk;
  uint32_t dtype;  ///< of all tensors
  Buffer y, a, b;
  /// Members of the parameters that are of what is added or subtracted.
  std::vector<std::pair<const void* const*, Buffer>> more;
  ProductActivation activation = ProductActivation::kNone;
  /// The product as cuBLASLt could take it, with the bias and c that it names; an activation that
  /// it does not have is left out.
  std::optional<ProductShape> blas;
  std::optional<Buffer> bias, added;
  /// Where that product is made, one call after the other; at the beginning alone if it is whole.
  std::vector<ProductOffsets> repeats{1};
};

/// Adds the steps: by cuBLASLt where it is there and takes it, for a few rows by a kernel that
/// reads the right factor once, for more of 16-bit floats by one for tensor cores, whichever is
/// faster; else by the provider's kernel for all that there is.
void plan_product(Planner& planner, const ProductCall& call);

/// The same for products of one left factor with nothing but a bias behind them, one launch where
/// they are of few rows or for tensor cores.
void plan_products(Planner& planner, const std::vector<ProductCall>& calls);

/// The source of a kernel of products like `call`: what its text takes as given, and the texts of
/// these files.
std::string product_source(const ProductCall& call, const std::string& defines,
                           std::initializer_list<const char*> files);
/// The members of the call's parameters that are addresses, with what they point to.
std::vector<std::pair<const void* const*, Buffer>> product_addresses(const ProductCall& call);

}  // namespace gantry::cuda
