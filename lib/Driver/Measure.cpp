//===- Measure.cpp - A library timed in a process of its own --------------===//
//
// The child is a fork: it has the inputs already. It leaves what it found in a file whose
// last byte says that it is whole; whatever else it does is a candidate's fault, not ours.
//
//===----------------------------------------------------------------------===//
#include "Measure.h"
#include "tcc/Verify/LoadedModel.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <csignal>
#include <limits>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tcc;
using reference::Tensor;

namespace {

class Writer {
public:
  explicit Writer(raw_ostream &os) : os(os) {}
  template <typename T> void number(T value) {
    os.write(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void bytes(ArrayRef<char> data) {
    number<uint64_t>(data.size());
    os.write(data.data(), data.size());
  }

private:
  raw_ostream &os;
};

/// Reads what Writer wrote; `good` turns false where there is no more.
class Reader {
public:
  explicit Reader(StringRef rest) : rest(rest) {}
  template <typename T> T number() {
    T value{};
    good &= rest.size() >= sizeof value;
    if (good) {
      std::memcpy(&value, rest.data(), sizeof value);
      rest = rest.drop_front(sizeof value);
    }
    return value;
  }
  ArrayRef<char> bytes() {
    auto size = number<uint64_t>();
    good &= rest.size() >= size;
    StringRef data = good ? rest.take_front(size) : "";
    rest = rest.drop_front(data.size());
    return {data.data(), data.size()};
  }
  bool good = true;

private:
  StringRef rest;
};

} // namespace

/// What the child does; its exit code.
static int runChild(const std::string &library, ArrayRef<Tensor> inputs, ArrayRef<DType> types,
                    double seconds, int file) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned fewest = 4, most = 200;
  raw_fd_ostream os(file, /*shouldClose=*/false);
  Writer to(os);
  auto model = LoadedModel::open(library, "", /*profile=*/true);
  if (!model)
    return os << toString(model.takeError()), 2;
  StringMap<double> fastest;
  std::vector<Tensor> outputs;
  double shortest = std::numeric_limits<double>::infinity();
  Clock::time_point begin = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (unsigned i = 0; i < fewest || (i < most && elapsed() < seconds); ++i) {
    StringMap<double> before = (*model)->kernelSeconds();
    auto results = (*model)->run(inputs, types);
    if (!results)
      return os << toString(results.takeError()), 2;
    if (i == 0) { // also warms up
      outputs = std::move(results->outputs);
      continue;
    }
    shortest = std::min(shortest, results->seconds);
    for (const auto &[name, total] : (*model)->kernelSeconds()) {
      double once = total - before.lookup(name);
      auto [at, isNew] = fastest.try_emplace(name, once);
      at->second = std::min(at->second, once);
    }
  }
  to.number(shortest);
  to.number<uint64_t>(fastest.size());
  for (const auto &[name, once] : fastest) {
    to.bytes(ArrayRef(name.data(), name.size()));
    to.number(once);
  }
  for (const Tensor &output : outputs) {
    to.number<uint64_t>(output.shape().size());
    for (int64_t d : output.shape())
      to.number(d);
    to.bytes(output.packed());
  }
  to.number<char>(1);
  os.flush();
  return os.has_error() ? 2 : 0;
}

static Expected<Measurement> readResults(StringRef text, ArrayRef<DType> types) {
  Reader from(text);
  Measurement found;
  found.run = from.number<double>();
  auto kernels = from.number<uint64_t>();
  for (uint64_t i = 0; from.good && i < kernels; ++i) {
    ArrayRef<char> name = from.bytes();
    found.seconds[StringRef(name.data(), name.size())] = from.number<double>();
  }
  for (DType type : types) {
    SmallVector<int64_t> shape;
    auto rank = from.number<uint64_t>();
    for (uint64_t i = 0; from.good && i < rank; ++i)
      shape.push_back(from.number<int64_t>());
    ArrayRef<char> bytes = from.bytes();
    if (!from.good)
      break;
    Expected<Tensor> output = Tensor::fromPacked(type, shape, bytes);
    if (!output)
      return output.takeError();
    found.outputs.push_back(std::move(*output));
  }
  if (from.number<char>() != 1)
    return createStringError("it ended before it was done");
  return found;
}

Expected<Measurement> tcc::measure(const std::string &library, ArrayRef<Tensor> inputs,
                                   ArrayRef<DType> outputTypes, double seconds) {
  int file;
  std::string path = library + ".measured"; // a temporary folder's, as the library is
  if (std::error_code error =
          sys::fs::openFileForReadWrite(path, file, sys::fs::CD_CreateAlways, sys::fs::OF_None))
    return createStringError("no temporary file: " + error.message());
  llvm::scope_exit cleanUp([&] {
    close(file);
    (void)sys::fs::remove(path);
  });
  pid_t child = fork();
  if (child < 0)
    return createStringError("no process to measure in");
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
      std::signal(signal, SIG_DFL); // no crash report of ours
    constexpr unsigned patience = 60;
    alarm(patience + static_cast<unsigned>(10 * seconds));
    _exit(runChild(library, inputs, outputTypes, seconds, file));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return createStringError("signal " + Twine(WTERMSIG(status)));
  auto text = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!text)
    return createStringError("nothing to read: " + text.getError().message());
  if (WEXITSTATUS(status) != 0)
    return createStringError((*text)->getBuffer());
  return readResults((*text)->getBuffer(), outputTypes);
}
