//===- KernelCompiler.cpp - One kernel's code, by content -----------------===//
//
// A kernel's text is parsed into a context that no other thread uses, so that any number of them
// compile at once. What comes out is cached under the hash of the text and of all else that it
// depends on:
//
//   number of objects, then for each its kind, architecture, facts and bytes
//
//===----------------------------------------------------------------------===//
#include "KernelCompiler.h"
#include "KernelKey.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/ScopeExit.h"
#include <ctime>

using namespace mlir;
using namespace tcc;

namespace {

/// Numbers of 64 bits, and texts with their lengths before them.
class Packer {
public:
  void number(int64_t value) {
    const char *bytes = reinterpret_cast<const char *>(&value);
    to.append(bytes, bytes + sizeof value);
  }
  void text(StringRef value) {
    number(static_cast<int64_t>(value.size()));
    to.append(value.begin(), value.end());
  }
  llvm::SmallVector<char, 0> to;
};

class Unpacker {
public:
  explicit Unpacker(ArrayRef<char> bytes) : rest(bytes.data(), bytes.size()) {}
  int64_t number() {
    int64_t value = 0;
    good &= rest.size() >= sizeof value;
    if (good)
      memcpy(&value, rest.data(), sizeof value);
    rest = rest.drop_front(std::min(rest.size(), sizeof value));
    return value;
  }
  StringRef text() {
    auto size = static_cast<uint64_t>(number());
    good &= size <= rest.size();
    StringRef value = good ? rest.take_front(size) : "";
    rest = rest.drop_front(value.size());
    return value;
  }
  bool good = true;

private:
  StringRef rest;
};

} // namespace

static llvm::SmallVector<char, 0> pack(const KernelCode &code) {
  Packer packer;
  packer.number(static_cast<int64_t>(code.size()));
  for (const CodeObject &object : code) {
    packer.number(static_cast<int64_t>(object.kind));
    packer.text(object.architecture);
    packer.number(static_cast<int64_t>(object.facts.size()));
    for (const auto &[name, value] : object.facts) {
      packer.text(name);
      packer.number(value);
    }
    packer.text(StringRef(object.bytes.data(), object.bytes.size()));
  }
  return std::move(packer.to);
}

/// Nothing where the bytes are not what pack gives.
static std::optional<KernelCode> unpack(ArrayRef<char> bytes) {
  Unpacker from(bytes);
  KernelCode code;
  for (int64_t objects = from.number(); from.good && objects > 0; --objects) {
    CodeObject &object = code.emplace_back();
    object.kind = static_cast<CodeKind>(from.number());
    object.architecture = from.text().str();
    for (int64_t facts = from.number(); from.good && facts > 0; --facts) {
      std::string name = from.text().str();
      object.facts.emplace_back(std::move(name), from.number());
    }
    StringRef content = from.text();
    object.bytes.append(content.begin(), content.end());
  }
  return from.good ? std::optional(std::move(code)) : std::nullopt;
}

std::unique_ptr<MLIRContext> KernelCompiler::takeContext() const {
  {
    std::scoped_lock lock(contextsMutex);
    if (!contexts.empty()) {
      std::unique_ptr<MLIRContext> context = std::move(contexts.back());
      contexts.pop_back();
      return context;
    }
  }
  DialectRegistry registry;
  registerDialects(registry);
  backend.registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

void KernelCompiler::giveBack(std::unique_ptr<MLIRContext> context) const {
  std::scoped_lock lock(contextsMutex);
  contexts.push_back(std::move(context));
}

llvm::Expected<KernelCode> KernelCompiler::compile(const KernelRequest &request) const {
  std::unique_ptr<MLIRContext> owned = takeContext();
  llvm::scope_exit done([&] { giveBack(std::move(owned)); });
  MLIRContext &context = *owned;
  std::string reported;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Error && reported.empty())
      reported = d.str();
    return success();
  });
  auto parsed = parseSourceString<ModuleOp>(request.text, &context);
  if (!parsed)
    return llvm::createStringError("it does not parse: " + reported);
  kernel::LaunchOp launch;
  parsed->walk([&](kernel::LaunchOp op) { launch = op; });
  auto code = backend.compile({launch, request.symbol, request.architecture, form, observer});
  if (code || reported.empty())
    return code;
  bool user = code.errorIsA<UserError>();
  std::string text = llvm::toString(code.takeError()) + ": " + reported;
  return user ? userError(text) : llvm::createStringError(text);
}

static double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

llvm::Expected<KernelCompiler::Result> KernelCompiler::get(const KernelRequest &request) const {
  Result result;
  std::string key =
      kernelKey({request.text.str(), request.symbol.str(), backend.name().str(),
                 backend.key(request.architecture), std::to_string(static_cast<int>(form))});
  llvm::SmallVector<char, 0> bytes;
  if (!observer && cache.load(key, bytes))
    if (auto known = unpack(bytes))
      return Result{std::move(*known), /*cached=*/true};
  double start = threadSeconds();
  auto code = compile(request);
  if (!code)
    return code.takeError();
  cache.store(key, pack(*code));
  return Result{std::move(*code), /*cached=*/false, threadSeconds() - start};
}
