//===- TorchExportMutator.h - Damages .pt2 files that stay archives -*- C++ -*-===//
//
// A flipped byte fails an archive's checksum and says nothing about the model.
// This changes values of model.json and writes the archive anew around it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <random>
#include <string>

namespace tcc::test {

/// The archive with one to four changes of its model.json, or nothing when
/// `archive` is not one or holds no readable model.json.
std::optional<std::string> mutateTorchExport(llvm::StringRef archive, std::minstd_rand &random);

} // namespace tcc::test
