// SPDX-License-Identifier: Apache-2.0
#include "operators/linear_algebra/matmul_call.h"

#include "compile/kernel_texts.h"

namespace gantry::cuda {

std::vector<std::pair<const void* const*, Buffer>> matmul_addresses(const MatmulCall& call) {
  const MatmulParameters& p = call.parameters;
  auto addresses = call.more;
  addresses.emplace_back(&p.result, call.y);
  addresses.emplace_back(&p.a, call.a);
  addresses.emplace_back(&p.b, call.b);
  return addresses;
}

std::string matmul_source(const MatmulCall& call, const std::string& defines,
                          std::initializer_list<const char*> files) {
  const char* const gelu = call.activation == MatmulActivation::kGeluTanh ? "1\n"
                           : call.activation == MatmulActivation::kGelu   ? "2\n"
                                                                          : "0\n";
  std::string texts(kernel_text("matmul_epilogue.cu"));
  for (const char* file : files) texts += kernel_text(file);
  return kernel_source({"index.h", "index.cu", "matmul.h"},
                       "\ntypedef " + type_name(call.dtype) + " T;\ntypedef " +
                           computed_name(call.dtype) + " C;\n#define GELU " + gelu + defines +
                           texts);
}

}  // namespace gantry::cuda
