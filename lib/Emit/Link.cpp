// lld reads files by name only. The objects are in memory, so each becomes an
// anonymous file of the kernel (memfd), which has a name below /proc/self/fd
// and leaves nothing behind; where that is not possible it is a temporary file.
//
// lld keeps its state in globals that it clears after each link: links are
// serialised by a lock.
#include "tcc/Emit/Link.h"
#include "Embedded.h"
#include "WriteBlob.h"
#include "lld/Common/Driver.h"
#include "tcc/Runtime/model_file.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/Path.h"
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

namespace tcc::emit {

namespace {

/// One input of the linker, gone when this is.
class LinkInput {
public:
  LinkInput() = default;
  LinkInput(const LinkInput &) = delete;
  ~LinkInput() {
    if (descriptor >= 0)
      close(descriptor);
    if (!temporary.empty())
      sys::fs::remove(temporary);
  }

  Error open() {
    descriptor = memfd_create("tcc", MFD_CLOEXEC);
    path = "/proc/self/fd/" + std::to_string(descriptor);
    if (descriptor >= 0 && access(path.c_str(), R_OK) == 0)
      return Error::success();
    if (descriptor >= 0)
      close(descriptor);
    if (std::error_code code = sys::fs::createTemporaryFile("tcc", "o", descriptor, temporary))
      return createStringError(code, "no temporary file for the linker: " + code.message());
    path = temporary.str();
    return Error::success();
  }

  Error fill(function_ref<Error(int)> write) {
    Error error = write(descriptor);
    return error
               ? createStringError("no room for the linker's input: " + toString(std::move(error)))
               : Error::success();
  }

  std::string path;

private:
  int descriptor = -1;
  SmallString<128> temporary;
};

using LinkInputs = std::vector<std::unique_ptr<LinkInput>>;

} // namespace

static Expected<StringRef> addInput(LinkInputs &inputs, function_ref<Error(int)> write) {
  inputs.push_back(std::make_unique<LinkInput>());
  if (Error error = inputs.back()->open())
    return error;
  if (Error error = inputs.back()->fill(write))
    return error;
  return StringRef(inputs.back()->path);
}

static Expected<StringRef> addInput(LinkInputs &inputs, StringRef content) {
  return addInput(inputs, [&](int file) { return writeAt(file, content, 0); });
}

/// Only the C interface is visible; everything else, kernels included, is local.
static constexpr StringRef versionScript = "{ global: tcc_abi_version; tcc_get_api; tcc_model_*; "
                                           "tcc_context_*; tcc_run; tcc_run_on; local: *; };\n";

static std::vector<std::string> flags(const LinkJob &job, StringRef output) {
  std::vector<std::string> flags = {"ld.lld",
                                    "-shared",
                                    "-soname",
                                    job.soname,
                                    "-o",
                                    output.str(),
                                    "--gc-sections",
                                    "--as-needed",
                                    "--no-undefined",
                                    "--build-id=none",
                                    "--hash-style=gnu",
                                    "--strip-debug",
                                    "-z",
                                    "now",
                                    "-z",
                                    "noexecstack",
                                    "--threads=" + std::to_string(std::max(1u, job.threads))};
  return flags;
}

static bool hasWeights(const LinkJob &job) {
  return job.weights && !job.weights->layout.entries().empty();
}

/// Puts all inputs where lld can read them and appends their names.
static Error addInputs(const LinkJob &job, LinkInputs &inputs, std::vector<std::string> &args) {
  auto add = [&](auto &&content, StringRef before = "") -> Error {
    Expected<StringRef> path = addInput(inputs, content);
    if (!path)
      return path.takeError();
    args.push_back((before + *path).str());
    return Error::success();
  };
  if (Error error = add(versionScript, "--version-script="))
    return error;
  for (MemoryBufferRef object : job.objects)
    if (Error error = add(object.getBuffer()))
      return error;
  EmbeddedFiles embedded = embeddedFiles(job.triple);
  for (StringRef file : {embedded.runtime, embedded.libm, embedded.libc})
    if (Error error = add(file))
      return error;
  if (job.devices)
    if (Error error = add(embedded.device))
      return error;
  if (!hasWeights(job))
    return Error::success();
  Expected<std::string> weights = weightObject(job.weights->layout, job.triple);
  return weights ? add(*weights) : weights.takeError();
}

/// lld's --threads sets LLVM's process-wide strategy, which others use too.
static Error runLinker(ArrayRef<std::string> args) {
  static std::mutex lock;
  static bool broken = false;
  std::lock_guard guard(lock);
  if (broken)
    return createStringError("the linker failed before and cannot run again in this process");
  std::vector<const char *> pointers;
  for (const std::string &arg : args)
    pointers.push_back(arg.c_str());
  std::string text;
  raw_string_ostream os(text);
  ThreadPoolStrategy strategy = parallel::strategy;
  lld::Result result = lld::lldMain(pointers, os, os, {{lld::Gnu, &lld::elf::link}});
  parallel::strategy = strategy;
  broken = !result.canRunAgain;
  if (result.retCode == 0)
    return Error::success();
  return createStringError("linking failed: " + StringRef(text).trim().take_front(2000));
}

/// What the user knows the file at `path` by, which has a temporary name.
static std::string finalName(const LinkJob &job, StringRef path) {
  SmallString<256> name(sys::path::parent_path(path));
  sys::path::append(name, job.soname);
  return name.str().str();
}

/// lld writes through a mapping of a sparse file, where a full disk ends the process with SIGBUS:
/// what it will need is taken for a moment, which shows quotas and limits on sizes too.
static Error checkSpace(const LinkJob &job, uint64_t needed, StringRef path) {
  for (MemoryBufferRef object : job.objects)
    needed += object.getBufferSize();
  int file;
  bool isNew = !sys::fs::exists(path);
  std::error_code code = sys::fs::openFileForWrite(path, file, sys::fs::CD_OpenAlways);
  if (!code) {
    int failed = posix_fallocate(file, 0, static_cast<off_t>(needed));
    code = std::error_code(failed, std::generic_category());
    if (ftruncate(file, 0) != 0 && !code)
      code = std::error_code(errno, std::generic_category());
    close(file);
    if (isNew)
      sys::fs::remove(path);
  }
  if (!code)
    return Error::success();
  return userError("cannot write '" + printable(finalName(job, path)) + "': room for its code, " +
                   Twine(needed) + " bytes: " + code.message());
}

/// The last bytes of the file: include/tcc/Runtime/model_file.h says what for.
static Error writeSeal(int file, uint64_t weightsPlace, uint64_t weightsSize) {
  std::unique_ptr<FILE, int (*)(FILE *)> stream(fdopen(dup(file), "rb"), fclose);
  if (!stream || fseek(stream.get(), 0, SEEK_END) != 0)
    return errorCodeToError(std::error_code(errno, std::generic_category()));
  auto end = uint64_t(ftell(stream.get()));
  tcc_seal seal = {};
  std::memcpy(seal.name, TCC_SEAL_NAME, sizeof seal.name);
  seal.weights_place = weightsPlace;
  seal.weights_size = weightsSize;
  if (!tcc_seal_checksum(stream.get(), end, &seal, &seal.crc))
    return createStringError("the file cannot be read back");
  return writeAt(file, StringRef(reinterpret_cast<const char *>(&seal), sizeof seal), end);
}

static Error insertWeightsAndSeal(int file, const LinkJob &job) {
  if (!hasWeights(job))
    return writeSeal(file, 0, 0);
  Expected<uint64_t> place = insertWeights(*job.weights, file, job.threads);
  return place ? writeSeal(file, *place, job.weights->layout.size()) : place.takeError();
}

/// What is done to the library after the linker.
static Error finishLibrary(StringRef path, const LinkJob &job) {
  std::string name = printable(finalName(job, path));
  int file;
  std::error_code code = sys::fs::openFile(path, file, sys::fs::CD_OpenExisting,
                                           sys::fs::FA_Read | sys::fs::FA_Write, sys::fs::OF_None);
  if (code)
    return userError("cannot write '" + name + "': " + code.message());
  Error error = insertWeightsAndSeal(file, job);
  close(file);
  if (error)
    return userError("cannot write '" + name + "': " + toString(std::move(error)));
  return Error::success();
}

StringRef runtimeObject(const Triple &triple) { return embeddedFiles(triple).runtime; }

Error linkModel(const LinkJob &job, StringRef path) {
  if (runtimeObject(job.triple).empty())
    return userError("no runtime for target '" + printable(job.triple.str()) +
                     "': choose x86_64-linux-gnu or aarch64-linux-gnu");
  if (Error error = checkSpace(job, runtimeObject(job.triple).size() + (64 << 10), path))
    return error;
  std::vector<std::string> args = flags(job, path);
  LinkInputs inputs;
  if (Error error = addInputs(job, inputs, args))
    return error;
  if (Error error = runLinker(args))
    return error;
  return finishLibrary(path, job);
}

Error linkRelocatable(const LinkJob &job, StringRef path) {
  std::vector<std::string> args = {"ld.lld",        "-r",         "-o", path.str(),
                                   "--strip-debug", "--threads=1"};
  if (Error error = checkSpace(job, 4 << 10, path))
    return error;
  LinkInputs inputs;
  for (MemoryBufferRef object : job.objects) {
    Expected<StringRef> input = addInput(inputs, object.getBuffer());
    if (!input)
      return input.takeError();
    args.push_back(input->str());
  }
  return runLinker(args);
}

} // namespace tcc::emit
