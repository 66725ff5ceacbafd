//===- Schemas.cpp - ONNX's schemas, each operator's when it is asked for --===//
//
// ONNX has 660 schemas, one for each version of an operator. To make them all takes most of the
// time in which a small model is read, so those of an operator are made when one of them is
// first asked for.
//
//===----------------------------------------------------------------------===//
#include "Inference.h"
#include "onnx/defs/operator_sets.h"
#include "onnx/defs/operator_sets_ml.h"
#include "onnx/defs/operator_sets_preview.h"
#include "onnx/defs/operator_sets_training.h"
#include "llvm/ADT/STLExtras.h"
#include <mutex>
#include <set>

using namespace tcc;

namespace {

struct Maker {
  llvm::StringRef op;
  onnx::OpSchema (*make)();
};
#define TCC_ONNX_SCHEMA(domain, version, name)                                                     \
  {#name, &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name)>},
const Maker kMakers[] = {
#include "OnnxSchemas.inc"
};
#undef TCC_ONNX_SCHEMA

std::string schemaDomain(const std::string &domain) { return domain == "onnx" ? "" : domain; }

/// Of the registry, which schemas are put into while others are looked up.
std::mutex mutex;

/// Whatever its domain: what has a domain of few schemas is made with the first.
void makeSchemas(const std::string &op) {
  static std::set<std::string> made;
  if (made.empty()) {
    onnx::RegisterOnnxTrainingOperatorSetSchema();
    onnx::RegisterOnnxPreviewOperatorSetSchema();
  }
  if (!made.insert(op).second)
    return;
  for (const Maker &maker : kMakers)
    if (maker.op == op)
      onnx::RegisterSchema(maker.make(), 0, /*fail_duplicate_schema=*/false);
}

/// For ONNX's own inference over the bodies of functions.
class Registry final : public onnx::ISchemaRegistry {
public:
  const onnx::OpSchema *GetSchema(const std::string &op, int version,
                                  const std::string &domain) const override {
    return onnximport::findSchema(domain, op, version);
  }
};

} // namespace

const onnx::OpSchema *onnximport::findSchema(const std::string &domain, const std::string &op,
                                             int64_t version) {
  std::lock_guard lock(mutex);
  makeSchemas(op);
  return onnx::OpSchemaRegistry::Schema(op, static_cast<int>(version), schemaDomain(domain));
}

const onnx::ISchemaRegistry *onnximport::schemaRegistry() {
  static const Registry registry;
  return &registry;
}

std::optional<int64_t> onnximport::firstVersion(const std::string &domain, const std::string &op) {
  std::optional<int64_t> first;
  std::optional<int64_t> newest = newestOpset(domain);
  for (int64_t version = newest.value_or(0); version > 0;) {
    const onnx::OpSchema *schema = findSchema(domain, op, version);
    if (!schema)
      break;
    first = schema->since_version();
    version = *first - 1;
  }
  return first;
}

std::optional<int64_t> onnximport::newestOpset(const std::string &domain) {
  const auto &map = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto it = map.find(schemaDomain(domain));
  return it == map.end() ? std::nullopt : std::optional<int64_t>(it->second.second);
}
