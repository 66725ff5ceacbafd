//===- Checkpoint.cpp - IR between two phases on disk ---------------------===//
//
// `--stop-after` writes the module as text and the weights that it names beside
// it (PATH.weights, in safetensors form); `--start-from` reads both back.
//
//===----------------------------------------------------------------------===//
#include "Artefact.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Driver/CrashReport.h"
#include "tcc/Emit/OutputFiles.h"
#include "tcc/Emit/WeightBlob.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/InputFile.h"
#include "tcc/Support/Json.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tcc;

std::string tcc::checkpointWeightsPath(StringRef path) { return (path + ".weights").str(); }

Error tcc::writeCheckpoint(Model &model, StringRef path, emit::OutputFiles &files) {
  std::string text;
  raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo();
  // A node with subgraphs reads back in generic form only.
  bool hasNodes = model.module->walk([](graph::NodeOp) { return mlir::WalkResult::interrupt(); })
                      .wasInterrupted();
  if (hasNodes)
    flags.printGenericOpForm();
  model.module->print(os, flags);
  emit::WeightBlob blob;
  for (const std::string &name : model.weights->names()) {
    const Weight *weight = model.weights->lookup(name);
    blob.layout.add(name, weight->dtype, weight->shape, weight->size(), 1, weight->role);
  }
  blob.read = [&](const emit::WeightEntry &entry, uint64_t begin, uint64_t end, char *) {
    return StringRef(model.weights->lookup(entry.name)->bytes.data() + begin, end - begin);
  };
  auto fill = [&](int file) { return emit::writeSafetensors(blob, file, 1, /*sealed=*/true); };
  if (!blob.layout.entries().empty())
    if (Error error = files.write(checkpointWeightsPath(path), fill).takeError())
      return error;
  return files.write(path, text);
}

/// Adds `name` at its place in the data of the mapped file, with the type that the
/// IR gives it; the file cannot express every element type.
static Error addWeight(Model &model, const json::Object &head, StringRef data, StringRef name,
                       mlir::RankedTensorType type, std::shared_ptr<const void> owner) {
  if (model.weights->lookup(name))
    return Error::success();
  const json::Object *entry = head.getObject(name);
  const json::Array *place = entry ? entry->getArray("data_offsets") : nullptr;
  auto begin = place && place->size() == 2 ? (*place)[0].getAsInteger() : std::nullopt;
  auto end = place && place->size() == 2 ? (*place)[1].getAsInteger() : std::nullopt;
  auto dtype = prim::dtypeOf(type.getElementType());
  if (!begin || !end || !dtype || *begin < 0 || *end < *begin ||
      static_cast<uint64_t>(*end) > data.size() ||
      storageBytes(*dtype, type.getNumElements()) != static_cast<uint64_t>(*end - *begin))
    return userError("the weights beside the IR lack '" + printable(name) + "'");
  ArrayRef<char> bytes(data.data() + *begin, *end - *begin);
  Weight weight{*dtype, SmallVector<int64_t, 4>(type.getShape()), bytes, std::move(owner)};
  if (const json::Object *facts = head.getObject("__metadata__"))
    weight.role = parseRole(facts->getString(("role of " + name).str()).value_or(""))
                      .value_or(WeightRole::Constant);
  model.weights->add(name, std::move(weight));
  return Error::success();
}

static Error readWeights(Model &model, StringRef path) {
  SmallVector<std::pair<std::string, mlir::RankedTensorType>> named;
  model.module->walk([&](mlir::Operation *op) {
    if (auto weight = mlir::dyn_cast<prim::WeightOp>(op))
      named.push_back({weight.getName().str(),
                       prim::storedType(mlir::cast<mlir::RankedTensorType>(weight.getType()))});
    if (auto weight = mlir::dyn_cast<host::WeightOp>(op))
      named.push_back({weight.getName().str(), host::tensorType(weight.getType())});
    if (auto weight = mlir::dyn_cast<graph::WeightOp>(op))
      named.push_back(
          {weight.getName().str(), mlir::cast<mlir::RankedTensorType>(weight.getType())});
  });
  model.module->walk([&](mlir::FunctionOpInterface function) {
    Signature signature(function);
    for (unsigned i : signature.states()) {
      auto type = mlir::cast<mlir::ShapedType>(function.getArgumentTypes()[i]);
      named.push_back({signature.firstValue(i).str(),
                       mlir::RankedTensorType::get(type.getShape(), type.getElementType())});
    }
  });
  if (named.empty())
    return Error::success();
  if (!sys::fs::exists(path))
    return userError("its weights are missing: '" + printable(path) +
                     "' does not exist; --stop-after writes IR with its weights beside it, "
                     "--dump-ir writes it without");
  auto file = openInputFile(path);
  if (!file)
    return userError("'" + printable(path) + "' " + toString(file.takeError()));
  std::shared_ptr<const MemoryBuffer> owner(std::move(*file));
  StringRef text = owner->getBuffer();
  uint64_t length = text.size() < 8 ? 0 : support::endian::read64le(text.data());
  if (text.size() < 8 || length > text.size() - 8)
    return userError("'" + printable(path) + "' is cut short");
  auto head = parseJson(text.substr(8, length));
  if (!head)
    return userError("'" + printable(path) + "' is damaged: " + toString(head.takeError()));
  if (!head->getAsObject())
    return userError("'" + printable(path) + "' is damaged: its head is no object");
  if (!emit::safetensorsSealHolds(text.substr(8, length)))
    return userError("'" + printable(path) + "' is damaged: its head is not what was written");
  for (auto &[name, type] : named)
    if (Error error =
            addWeight(model, *head->getAsObject(), text.drop_front(8 + length), name, type, owner))
      return error;
  return Error::success();
}

bool tcc::looksLikeCheckpoint(StringRef path) {
  auto file = openInputFile(path);
  if (!file) {
    consumeError(file.takeError());
    return false;
  }
  StringRef text = (*file)->getBuffer();
  return text.starts_with("module {") || text.starts_with("module attributes") ||
         text.starts_with("#loc") || text.starts_with("#cpu.") || text.starts_with("#gpu.");
}

Error tcc::readCheckpoint(Model &model, StringRef path, mlir::MLIRContext &context) {
  if (auto file = openInputFile(path); !file)
    return userError("'" + printable(path) + "' " + toString(file.takeError()));
  crashWhileReadingIr(IrText::IsRead);
  model.module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  crashWhileReadingIr(model.module ? IrText::None : IrText::WasRefused);
  if (!model.module)
    return userError("'" + printable(path) + "' is not IR that --stop-after wrote");
  if (!model.main() || model.main().isDeclaration())
    return userError("'" + printable(path) + "' has no function @main: it is no model");
  return readWeights(model, checkpointWeightsPath(path));
}
