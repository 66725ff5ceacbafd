//===- Payloads.h - Parameters, buffers and constants ------------*- C++ -*-===//
#pragma once
#include "Import/TorchExport/Schema.h"
#include "Import/TorchExport/ZipArchive.h"
#include "tcc/Support/WeightTable.h"
#include <map>

namespace tcc::torchexport {

/// The data of a model's parameters, buffers and constants, put into the weight
/// table when they are first asked for. Two names of one tensor (tied weights)
/// become one weight.
class Payloads {
public:
  /// `buffer` is the mapped file, which the weights keep alive.
  Payloads(const ZipArchive &archive, std::string root, std::shared_ptr<const void> buffer,
           WeightTable &weights)
      : archive(archive), root(std::move(root)), buffer(std::move(buffer)), weights(weights) {}

  /// Reads the two configuration files that say where each tensor lies.
  llvm::Error readConfig(llvm::StringRef model);

  /// The name in the weight table of the tensor `name`, whose type the graph
  /// states as `meta`.
  llvm::Expected<std::string> weight(llvm::StringRef name, const TensorMeta &meta, WeightRole role);

private:
  struct Source {
    const ZipEntry *entry;
    Payload payload;
  };
  llvm::Error readConfigFile(llvm::StringRef model, llvm::StringRef folder);
  llvm::Expected<Weight> load(const Source &source, llvm::ArrayRef<int64_t> shape);

  const ZipArchive &archive;
  std::string root;
  std::shared_ptr<const void> buffer;
  WeightTable &weights;
  std::vector<llvm::json::Value> documents; ///< the payloads' strings lie here
  llvm::StringMap<Source> sources;
  std::map<std::tuple<const char *, DType, std::vector<int64_t>>, std::string> known;
};

} // namespace tcc::torchexport
