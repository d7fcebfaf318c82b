// SPDX-License-Identifier: Apache-2.0
#include "blas_api.h"

namespace gantry::cuda {

bool BlasFunctions::load(const SharedLibrary& library) {
  return library.find("cublasLtCreate", create) && library.find("cublasLtDestroy", destroy) &&
         library.find("cublasLtGetVersion", version) &&
         library.find("cublasLtGetStatusName", status_name) &&
         library.find("cublasLtMatrixLayoutCreate", layout_create) &&
         library.find("cublasLtMatrixLayoutDestroy", layout_destroy) &&
         library.find("cublasLtMatrixLayoutSetAttribute", layout_set) &&
         library.find("cublasLtMatmulDescCreate", product_create) &&
         library.find("cublasLtMatmulDescDestroy", product_destroy) &&
         library.find("cublasLtMatmulDescSetAttribute", product_set) &&
         library.find("cublasLtMatmulPreferenceCreate", preference_create) &&
         library.find("cublasLtMatmulPreferenceDestroy", preference_destroy) &&
         library.find("cublasLtMatmulPreferenceSetAttribute", preference_set) &&
         library.find("cublasLtMatmulAlgoGetHeuristic", heuristic) &&
         library.find("cublasLtMatmul", multiply);
}

}  // namespace gantry::cuda
