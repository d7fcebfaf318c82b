// SPDX-License-Identifier: Apache-2.0
// Schemas of operators that providers declare, beside those of the store. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <onnx/defs/schema.h>
#include <string>
#include <utility>
#include <vector>

#include "graph/declared_operator.h"
#include "onnx/messages/proto.h"

namespace gantry {

class DeclaredSchemas final : public onnx::ISchemaRegistry {
 public:
  /// Of several operators with one name the first counts that takes a node's inputs. Operators that
  /// the store has keep its schema.
  explicit DeclaredSchemas(const std::vector<DeclaredOperator>& operators);

  /// Of the store if it has the operator, else the declared one of any version; null: there is
  /// none.
  const onnx::OpSchema* GetSchema(const std::string& name, int version,
                                  const std::string& domain = onnx::ONNX_DOMAIN) const override;

  /// True once inference has met an operator of which no declaration tells the type of an output:
  /// what it says of the nodes behind is then no fault of the model.
  [[nodiscard]] bool has_left_untyped() const { return *has_left_untyped_; }

 private:
  std::shared_ptr<std::atomic<bool>> has_left_untyped_ = std::make_shared<std::atomic<bool>>(false);
  std::map<std::pair<std::string, std::string>, onnx::OpSchema> schemas_;  // by domain and name
};

}  // namespace gantry
