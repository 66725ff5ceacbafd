#include "ExternalData.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/InputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tcc;
using namespace tcc::onnximport;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

ExternalData::ExternalData(StringRef modelPath, std::function<void(StringRef)> fileRead)
    : folder(path::parent_path(modelPath).str()), fileRead(std::move(fileRead)) {
  if (folder.empty())
    folder = ".";
}

/// Why `location` may not be used, judged by its text; empty if it may.
static StringRef refuseLocation(StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.contains('\0') || location.size() > 4096)
    return "is no file name";
  if (path::is_absolute(location))
    return "is an absolute path";
  for (StringRef part : llvm::make_range(path::begin(location), path::end(location)))
    if (part == "..")
      return "leaves the model's folder";
  return {};
}

llvm::Expected<std::shared_ptr<const llvm::MemoryBuffer>> ExternalData::open(StringRef location) {
  auto refuse = [&](const llvm::Twine &why) {
    return userError("its data file '" + printable(location) + "' " + why);
  };
  if (StringRef why = refuseLocation(location); !why.empty())
    return refuse(why + "; data must lie in the model's folder");
  llvm::SmallString<256> joined(folder), root, real;
  path::append(joined, location);
  if (std::error_code code = fs::real_path(joined, real))
    return refuse("cannot be opened: " + code.message());
  if (std::error_code code = fs::real_path(folder, root))
    return refuse("cannot be opened: " + code.message());
  if (!StringRef(real).starts_with(root) ||
      (root != "/" && real.size() > root.size() && !path::is_separator(real[root.size()])))
    return refuse("is a link out of the model's folder; copy the file there");
  auto buffer = openInputFile(real);
  if (!buffer)
    return refuse(llvm::toString(buffer.takeError()));
  if (fileRead)
    fileRead(joined);
  return std::shared_ptr<const llvm::MemoryBuffer>(std::move(*buffer));
}

llvm::Expected<ExternalData::Slice> ExternalData::map(StringRef location, uint64_t offset,
                                                      std::optional<uint64_t> length) {
  auto it = files.find(location);
  if (it == files.end()) {
    auto file = open(location);
    if (!file)
      return file.takeError();
    it = files.try_emplace(location, std::move(*file)).first;
  }
  const auto &file = it->second;
  uint64_t size = file->getBufferSize();
  if (offset > size || (length && *length > size - offset))
    return userError(
        "its data, bytes " + llvm::Twine(offset) + " to " +
        (length ? llvm::Twine(offset) + " + " + llvm::Twine(*length) : llvm::Twine("the end")) +
        ", is past the end of '" + printable(location) + "' (" + llvm::Twine(size) + " bytes)");
  const char *begin = file->getBufferStart() + offset;
  return Slice{{begin, static_cast<size_t>(length.value_or(size - offset))}, file};
}
