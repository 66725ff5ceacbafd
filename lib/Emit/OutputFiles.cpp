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

/// Whether both will be one file. A file that is there is told by its real path.
static bool isSame(StringRef a, StringRef b) {
  SmallString<256> folderA, folderB;
  auto folderOf = [](StringRef path, SmallVectorImpl<char> &folder) {
    StringRef parent = sys::path::parent_path(path);
    return fs::real_path(parent.empty() ? "." : parent, folder);
  };
  return sys::path::filename(a) == sys::path::filename(b) && !folderOf(a, folderA) &&
         !folderOf(b, folderB) && folderA == folderB;
}

Expected<std::string> OutputFiles::create(StringRef path, Turn turn) {
  SmallString<256> target(path), model, temporary;
  fs::file_status status;
  std::error_code missing = fs::status(path, status);
  bool exists = !missing && fs::exists(status);
  if (exists && fs::is_directory(status))
    return userError("cannot write '" + printable(path) + "': it is a directory");
  bool special = exists && !fs::is_regular_file(status); // perhaps a pipe, which has no real path
  if (exists && !special)
    if (std::error_code code = fs::real_path(path, target))
      return cannotWrite(path, code);
  for (const File &file : files)
    if (isSame(file.path, target))
      return userError("two outputs are to be '" + printable(path) + "': name another file");
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
  files.push_back({temporary.str().str(), target.str().str(), turn, special});
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

/// In one step, as rename does. A file that is there already is exchanged and removed when all
/// are in place: ext4 first writes back what is renamed over another file, which for the weights
/// of a large model takes longer than all else.
std::error_code OutputFiles::File::moveIntoPlace() {
  struct stat there;
  replaced = lstat(path.c_str(), &there) == 0;
  exchanged = replaced && S_ISREG(there.st_mode) &&
              renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0;
  return exchanged ? std::error_code() : fs::rename(temporary, path);
}

void OutputFiles::File::moveBack() {
  if (exchanged)
    renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE);
  else if (!replaced)
    fs::remove(path);
}

Error OutputFiles::commit() {
  // What is written and not renamed can fail on a full disk: first.
  auto rank = [](const File &file) { return file.special ? 0 : file.turn == Turn::Any ? 1 : 2; };
  stable_sort(files, [&](const File &a, const File &b) { return rank(a) < rank(b); });
  for (size_t i = 0; i < files.size(); ++i) {
    File &file = files[i];
    std::error_code code =
        file.special ? copyInto(file.temporary, file.path) : file.moveIntoPlace();
    if (!code)
      continue;
    while (i-- > 0)
      if (!files[i].special)
        files[i].moveBack();
    return cannotWrite(file.path, code);
  }
  for (const File &file : files) {
    if (file.special || file.exchanged)
      fs::remove(file.temporary);
    sys::DontRemoveFileOnSignal(file.temporary);
  }
  files.clear();
  return Error::success();
}

} // namespace tcc::emit
