//===- Ptxas.cpp - PTX to cubin by NVIDIA's assembler ---------------------===//
//
// The library form (nvJitLink) is no substitute: it ignores setmaxnreg, on which the
// warp-specialised kernels rely. So ptxas runs as a program, its files in a folder of
// its own that is removed afterwards.
//
//===----------------------------------------------------------------------===//
#include "tcc/Emit/Ptx.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/TemporaryFolder.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
namespace tcc::emit {
namespace {

struct Outcome {
  int code;
  std::string text; ///< of both streams
};

Expected<Outcome> runProgram(StringRef program, ArrayRef<StringRef> arguments,
                             const std::string &log) {
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  std::string message;
  int code = sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 0, 0, &message);
  if (code < 0)
    return createStringError(program + ": " + message);
  auto text = MemoryBuffer::getFile(log);
  return Outcome{code, text ? (*text)->getBuffer().str() : std::string()};
}

bool canRun(const Twine &path) { return sys::fs::can_execute(path); }

/// NVIDIA's wheel nvidia-cuda-nvcc in the Python environment that is active.
std::optional<std::string> inPythonEnvironment() {
  std::optional<std::string> root = sys::Process::GetEnv("VIRTUAL_ENV");
  if (!root)
    return std::nullopt;
  std::error_code code;
  for (sys::fs::directory_iterator it(*root + "/lib", code), end; !code && it != end;
       it.increment(code))
    for (StringRef package : {"cu13", "cuda_nvcc"}) {
      std::string path = it->path() + "/site-packages/nvidia/" + package.str() + "/bin/ptxas";
      if (canRun(path))
        return path;
    }
  return std::nullopt;
}

std::optional<std::string> findProgram() {
  if (ErrorOr<std::string> path = sys::findProgramByName("ptxas"))
    return *path;
  if (std::optional<std::string> home = sys::Process::GetEnv("CUDA_HOME"))
    if (canRun(*home + "/bin/ptxas"))
      return *home + "/bin/ptxas";
  if (canRun("/usr/local/cuda/bin/ptxas"))
    return std::string("/usr/local/cuda/bin/ptxas");
  return inPythonEnvironment();
}

/// The number before `what` in "..., 8 bytes spill stores, ...", or 0.
int64_t amountBefore(StringRef line, StringRef what) {
  size_t at = line.find(what);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.take_front(at).rtrim();
  int64_t amount = 0;
  size_t begin = before.find_last_not_of("0123456789");
  before.drop_front(begin == StringRef::npos ? 0 : begin + 1).getAsInteger(10, amount);
  return amount;
}

} // namespace

Expected<std::optional<Ptxas>> Ptxas::find(StringRef path) {
  std::string program;
  if (!path.empty()) {
    ErrorOr<std::string> found = sys::findProgramByName(path);
    if (!found || !canRun(*found))
      return userError("--ptxas: " + printable(path) + " is no program that can be run");
    program = *found;
  } else if (std::optional<std::string> found = findProgram()) {
    program = *found;
  } else {
    return std::nullopt;
  }
  Expected<TemporaryFolder> folder = TemporaryFolder::create("tcc-ptxas");
  if (!folder)
    return folder.takeError();
  auto outcome = runProgram(program, {program, "--version"}, folder->file("version"));
  if (!outcome)
    return outcome.takeError();
  // "Cuda compilation tools, release 13.0, V13.0.88"
  StringRef release = StringRef(outcome->text).rsplit(", V").second.split('\n').first;
  if (outcome->code != 0 || release.empty() || release == outcome->text)
    return userError(printable(program) + " does not answer --version as NVIDIA's ptxas does");
  return Ptxas(program, ("V" + release).str());
}

void Ptxas::readLog(StringRef log, Cubin &cubin) {
  KernelResources *kernel = nullptr;
  for (StringRef line : split(log, '\n')) {
    if (size_t at = line.find("Function properties for "); at != StringRef::npos) {
      StringRef name = line.substr(at).rsplit(' ').second;
      kernel = &cubin.kernels[name.trim("'\" \r")];
    } else if (line.contains("bytes stack frame") && kernel) {
      kernel->stackBytes = amountBefore(line, "bytes stack frame");
      kernel->spillStoreBytes = amountBefore(line, "bytes spill stores");
      kernel->spillLoadBytes = amountBefore(line, "bytes spill loads");
    } else if (line.contains(": Used ") && kernel) {
      kernel->registers = amountBefore(line, "registers");
      kernel->sharedBytes = amountBefore(line, "bytes smem");
    } else if (line.contains("(C7") || line.contains(": warning") || line.contains("warning :")) {
      cubin.warnings.push_back(line.trim().str());
    }
  }
}

Expected<Cubin> Ptxas::assemble(StringRef ptx, const GpuArch &arch) const {
  Expected<TemporaryFolder> folder = TemporaryFolder::create("tcc-ptxas");
  if (!folder)
    return folder.takeError();
  std::string input = folder->file("kernel.ptx"), output = folder->file("kernel.cubin");
  std::error_code code;
  raw_fd_ostream file(input, code);
  if (!code) {
    file << ptx;
    file.close();
    code = file.error();
  }
  if (code)
    return createStringError(code, "cannot write " + input);
  std::string target = std::string("-arch=") + arch.name;
  auto outcome =
      runProgram(program, {program, "-v", "-O3", target, input, "-o", output}, folder->file("log"));
  if (!outcome)
    return outcome.takeError();
  if (outcome->code != 0)
    return createStringError("ptxas " + release + " refuses the code for " + arch.name + ": " +
                             printable(StringRef(outcome->text).trim(), 2000));
  auto bytes = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return createStringError(bytes.getError(), "ptxas wrote no cubin");
  Cubin cubin;
  cubin.bytes.append((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  readLog(outcome->text, cubin);
  return std::move(cubin);
}

} // namespace tcc::emit
