#include "tcc/Emit/OutputFiles.h"
#include "WriteBlob.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

using namespace llvm;
namespace fs = llvm::sys::fs;

namespace tcc::emit {

static Error cannotWrite(StringRef path, std::error_code code) {
  return userError("cannot write '" + printable(path) + "': " + code.message());
}

OutputFiles::~OutputFiles() {
  for (const File &file : files) {
    fs::remove(file.temporary);
    sys::DontRemoveFileOnSignal(file.temporary);
  }
}

Expected<std::string> OutputFiles::create(StringRef path) {
  SmallString<256> target(path), model, temporary;
  fs::file_status status;
  std::error_code missing = fs::status(path, status);
  bool exists = !missing && fs::exists(status);
  if (exists && fs::is_directory(status))
    return userError("cannot write '" + printable(path) + "': it is a directory");
  if (exists)
    if (std::error_code code = fs::real_path(path, target))
      return cannotWrite(path, code);
  bool special = exists && !fs::is_regular_file(status);
  if (special)
    sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  else
    model = sys::path::parent_path(target);
  sys::path::append(model, sys::path::filename(target) + ".tmp-%%%%%%%%");
  int descriptor;
  if (std::error_code code = fs::createUniqueFile(model, descriptor, temporary))
    return cannotWrite(path, code);
  sys::RemoveFileOnSignal(temporary);
  sys::fs::file_t handle = fs::convertFDToNativeFile(descriptor);
  fs::closeFile(handle);
  files.push_back({temporary.str().str(), target.str().str(), special});
  return files.back().temporary;
}

Expected<std::string> OutputFiles::write(StringRef path, function_ref<Error(int)> fill) {
  Expected<std::string> temporary = create(path);
  if (!temporary)
    return temporary.takeError();
  int file;
  if (std::error_code code = fs::openFileForWrite(*temporary, file, fs::CD_OpenExisting))
    return cannotWrite(path, code);
  Error error = fill(file);
  std::error_code code = sys::Process::SafelyCloseFileDescriptor(file);
  if (error)
    return userError("cannot write '" + printable(path) + "': " + toString(std::move(error)));
  if (code)
    return cannotWrite(path, code);
  return temporary;
}

Error OutputFiles::write(StringRef path, StringRef content) {
  auto fill = [&](int file) { return writeAt(file, content, 0); };
  return write(path, fill).takeError();
}

static std::error_code copyInto(StringRef from, StringRef to) {
  auto content = MemoryBuffer::getFile(from);
  if (!content)
    return content.getError();
  std::error_code code;
  raw_fd_ostream os(to, code, fs::CD_OpenExisting, fs::FA_Write, fs::OF_None);
  if (code)
    return code;
  os << (*content)->getBuffer();
  os.close();
  code = os.error();
  os.clear_error();
  return code;
}

/// In one step, as rename does. A file that is there already is exchanged and then removed:
/// ext4 first writes back what is renamed over another file, which for the weights of a large
/// model takes longer than all else.
static std::error_code moveOver(const std::string &from, const std::string &to) {
  struct stat there;
  if (lstat(to.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
      renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0)
    return fs::remove(from);
  return fs::rename(from, to);
}

Error OutputFiles::commit() {
  for (const File &file : files) {
    std::error_code code =
        file.special ? copyInto(file.temporary, file.path) : moveOver(file.temporary, file.path);
    if (code)
      return cannotWrite(file.path, code);
    if (file.special)
      fs::remove(file.temporary);
    sys::DontRemoveFileOnSignal(file.temporary);
  }
  files.clear();
  return Error::success();
}

} // namespace tcc::emit
