#include "OwnFiles.h"
#include "tcc/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tcc;

static constexpr StringLiteral kManifestMark = "\"manifest_version\"";
/// The roles of weights may follow.
static constexpr StringLiteral kWeightsMark = R"({"__metadata__":{"format":"tcc")";

static bool isOurs(StringRef content, OwnFile kind) {
  constexpr size_t lengthField = 8; // of safetensors
  switch (kind) {
  case OwnFile::Library:
    return content.starts_with("\x7f"
                               "ELF") &&
           content.contains(kManifestMark);
  case OwnFile::Manifest:
    return content.starts_with("{") && content.take_front(100).contains(kManifestMark);
  case OwnFile::Weights:
    return content.drop_front(std::min(lengthField, content.size())).starts_with(kWeightsMark);
  case OwnFile::Text:
    return false;
  }
  llvm_unreachable("all kinds are handled above");
}

bool tcc::isSpecialFile(StringRef path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && sys::fs::exists(status) &&
         !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status);
}

Error tcc::mayReplace(StringRef path, OwnFile kind) {
  if (!sys::fs::exists(path) || isSpecialFile(path))
    return Error::success();
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file && isOurs((*file)->getBuffer(), kind))
    return Error::success();
  std::string known = kind == OwnFile::Text ? "exists" : "exists and tcc did not write it";
  return userError("'" + printable(path) + "' " + known +
                   ": remove it, or name another output with -o");
}

std::string tcc::defaultOutput(StringRef input, StringRef extension) {
  StringRef name = sys::path::filename(input);
  size_t dot = name.rfind('.');
  bool hidden = dot == 0; // the dot begins the name
  if (dot != StringRef::npos && !hidden)
    input = input.drop_back(name.size() - dot);
  return (input + extension).str();
}
