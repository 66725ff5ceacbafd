//===- GenerateCode.cpp - Kernels compiled in parallel, by content --------===//
//
// Every kernel is printed without names and locations, and compiled by the back-end for each of
// its architectures: a job for any thread, whose result KernelCompiler keeps on disk. The host
// program is one more object, for the CPU of the target, compiled beside them.
//
//===----------------------------------------------------------------------===//
#include "HostObject.h"
#include "KernelCompiler.h"
#include "KernelKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/PeakMemory.h"
#include "tcc/Codegen/Host/HostProgram.h"
#include "tcc/Dialect/Kernel/KernelText.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Emit/WeightBlob.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Support/DiskCache.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/LargeStack.h"
#include "tcc/Support/Logging.h"
#include <atomic>

using namespace mlir;
using namespace tcc;

namespace {

struct Kernel {
  std::string text;
  CompiledKernel compiled;
  const Backend *backend;
};

/// Each launch by the back-end of its kernel.
class LaunchesOfBoth final : public codegen::LaunchEmitter {
public:
  LaunchesOfBoth(const Backend &device, const Backend *host)
      : device(device.launchEmitter()), host(host ? host->launchEmitter() : nullptr) {}
  void emit(codegen::HostCode &code, const codegen::LaunchSite &site) override {
    bool onHost = host::LaunchOp(site.launch).getKernelOp().getOnHost();
    (onHost ? host : device)->emit(code, site);
  }

private:
  std::unique_ptr<codegen::LaunchEmitter> device, host;
};

/// A kernel for one architecture.
struct Job {
  const Kernel *kernel;
  unsigned architecture;
  std::optional<llvm::Expected<KernelCompiler::Result>> result;
};

class CodeGenerator {
public:
  CodeGenerator(Model &model, const PipelineOptions &options)
      : model(model), options(options), cache(options.cacheDir) {}
  llvm::Expected<CompiledModel> run();

private:
  llvm::Error addKernels();
  int64_t weightOffset(StringRef name);
  int64_t constantOffset(ElementsAttr value);
  int64_t stateOffset(StringRef name, CompiledModel &result);
  llvm::Error compileHost(CompiledModel &result);
  llvm::Error compileLowered(ModuleOp module, HostObject &host, CompiledModel &result);
  const CpuTarget &cpu() const { return options.backend->target().host; }
  /// Compiles the kernels, on this thread after `beside`.
  void runJobs(llvm::function_ref<void()> beside);
  llvm::Error collect(CompiledModel &result);

  Model &model;
  const PipelineOptions &options;
  DiskCache cache;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Job> jobs; ///< kernel by kernel
  emit::WeightLayout layout;
  std::map<std::string, int64_t> offsets;
};

} // namespace

static llvm::Error atKernel(StringRef symbol, llvm::Error error) {
  bool user = error.isA<UserError>();
  std::string text = ("kernel '" + symbol + "': ").str() + llvm::toString(std::move(error));
  return user ? userError(text) : llvm::createStringError(text);
}

/// Every kernel of the module, with its launches and its jobs.
llvm::Error CodeGenerator::addKernels() {
  llvm::StringMap<Kernel *> kernelOf;
  for (auto op : model.module->getOps<host::KernelOp>()) {
    kernel::LaunchOp launch = op.getKernelLaunch();
    if (!launch)
      return llvm::createStringError("no code for '" + op.getSymName() +
                                     "': a back-end compiles one kernel.launch a launch");
    const Backend *backend =
        op.getOnHost() ? options.backend->hostBackend() : options.backend.get();
    if (!backend)
      return llvm::createStringError("'" + op.getSymName() + "' is for a host beside a device");
    if (llvm::Error refused = backend->accepts(launch))
      return atKernel(op.getSymName(), std::move(refused));
    Kernel &kernel = *kernels.emplace_back(std::make_unique<Kernel>());
    kernel.text = kernel::textOf(launch);
    kernel.compiled.symbol = op.getSymName().str();
    kernel.compiled.definition = launch;
    kernel.compiled.onHost = op.getOnHost();
    kernel.backend = backend;
    kernelOf[op.getSymName()] = &kernel;
    for (unsigned i = 0; i < backend->architectures(); ++i)
      jobs.push_back({&kernel, i, std::nullopt});
  }
  model.module->walk([&](host::LaunchOp launch) {
    kernelOf.lookup(launch.getKernel())->compiled.launches.push_back(launch);
  });
  return llvm::Error::success();
}

/// Sub-byte elements lie one a byte at run time.
static uint64_t runTimeSize(const Weight &weight) {
  return bitWidth(weight.dtype) < 8 ? weight.elements() : weight.size();
}

int64_t CodeGenerator::weightOffset(StringRef name) {
  auto it = offsets.find(name.str());
  if (it != offsets.end())
    return it->second;
  const Weight *weight = model.weights->describe(name);
  assert(weight && "weight is not in the table");
  int64_t offset =
      layout.add(name, weight->dtype, weight->shape, runTimeSize(*weight), 1, weight->role);
  offsets[name.str()] = offset;
  return offset;
}

int64_t CodeGenerator::constantOffset(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto dense = cast<DenseElementsAttr>(value);
  std::vector<char> bytes;
  int64_t width = elementBytes(type.getElementType());
  auto append = [&](const APInt &v) {
    for (int64_t i = 0; i < width; ++i)
      bytes.push_back(static_cast<char>(v.zextOrTrunc(64).lshr(8 * i).getZExtValue() & 0xff));
  };
  if (isa<FloatType>(type.getElementType()))
    for (APFloat v : dense.getValues<APFloat>())
      append(v.bitcastToAPInt());
  else
    for (APInt v : dense.getValues<APInt>())
      append(v);
  DType dtype = *prim::dtypeOf(type.getElementType());
  std::string name = model.weights->addOwned("constant", dtype, type.getShape(), std::move(bytes));
  return weightOffset(name);
}

int64_t CodeGenerator::stateOffset(StringRef name, CompiledModel &result) {
  uint64_t from = weightOffset(name), size = runTimeSize(*model.weights->describe(name));
  uint64_t offset = llvm::alignTo(result.stateSize, emit::WeightLayout::alignment);
  result.stateInits.push_back({offset, from, size});
  result.stateSize = offset + size;
  return offset;
}

static void logJob(Job &job) {
  if (!*job.result)
    return;
  const std::string &symbol = job.kernel->compiled.symbol;
  KernelCompiler::Result &result = **job.result;
  log::write(log::Topic::Cache, (result.cached ? "hit " : "miss ") + symbol);
  size_t bytes = 0;
  for (const CodeObject &object : result.code)
    bytes += object.bytes.size();
  if (!result.cached)
    log::write(log::Topic::Codegen, symbol + ": " + llvm::Twine(bytes) + " bytes");
  log::write(log::Topic::Codegen, symbol + ":\n" + job.kernel->text, log::Level::Debug);
}

void CodeGenerator::runJobs(llvm::function_ref<void()> beside) {
  KernelCompiler compiler(*options.backend, options.code, options.codeObserver, cache);
  std::optional<KernelCompiler> ofHost;
  if (const Backend *host = options.backend->hostBackend())
    ofHost.emplace(*host, options.code, options.codeObserver, cache);
  std::atomic<size_t> next{0}, done{0};
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      Job &job = jobs[i];
      const KernelCompiler &own = job.kernel->compiled.onHost ? *ofHost : compiler;
      job.result.emplace(
          own.get({job.kernel->text, job.kernel->compiled.symbol, job.architecture}));
      logJob(job);
      ++done;
      if (options.kernelDone)
        options.kernelDone(done, jobs.size());
    }
  };
  std::vector<llvm::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(options.jobs, jobs.size()); ++i)
    threads.push_back(startWithLargeStack(work));
  beside();
  work();
  for (llvm::thread &t : threads)
    t.join();
}

/// What the jobs gave, kernel by kernel; the first error that there is.
llvm::Error CodeGenerator::collect(CompiledModel &result) {
  llvm::Error first = llvm::Error::success();
  auto job = jobs.begin();
  for (auto &kernel : kernels) {
    CompiledKernel &compiled = kernel->compiled;
    compiled.cached = true;
    for (; job != jobs.end() && job->kernel == kernel.get(); ++job) {
      llvm::Expected<KernelCompiler::Result> &made = *job->result;
      if (!made && first) {
        llvm::consumeError(made.takeError());
        continue;
      }
      if (!made) {
        first = atKernel(compiled.symbol, made.takeError());
        continue;
      }
      compiled.cached &= made->cached;
      compiled.seconds += made->seconds;
      for (CodeObject &object : made->code) {
        if (object.kind == CodeKind::HostObject)
          result.objects.push_back(std::move(object.bytes));
        if (object.kind != CodeKind::HostObject || !object.architecture.empty())
          compiled.code.push_back(std::move(object));
      }
    }
    result.kernels.push_back(std::move(compiled));
  }
  return first;
}

/// The functions of the model, of which `main` is the one that the runtime calls.
llvm::Error CodeGenerator::compileHost(CompiledModel &result) {
  MLIRContext *context = model.module->getContext();
  context->loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  codegen::HostCallbacks callbacks;
  callbacks.device = options.backend->memorySpace() == host::MemorySpace::device;
  callbacks.weightOffset = [&](StringRef name) { return weightOffset(name); };
  callbacks.constantOffset = [&](ElementsAttr value) { return constantOffset(value); };
  callbacks.stateOffset = [&](StringRef name) { return stateOffset(name, result); };
  LaunchesOfBoth launches(*options.backend, options.backend->hostBackend());
  for (auto function : model.module->getOps<func::FuncOp>()) {
    std::string name = codegen::kEntryName.str();
    if (function != model.main())
      name += ("_" + function.getName()).str();
    if (failed(codegen::emitHostProgram(function, name, *module, launches, callbacks)))
      return llvm::createStringError("host program failed");
  }
  HostObject host(*module, codegen::kEntryName, "host", cpu(), options.codeObserver);
  if (failed(host.lower()))
    return llvm::createStringError("lowering of the host program failed");
  return compileLowered(*module, host, result);
}

/// The host function's object; its text in the LLVM dialect is what it depends on.
llvm::Error CodeGenerator::compileLowered(ModuleOp module, HostObject &host,
                                          CompiledModel &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  std::string key =
      kernelKey({text, "host", cpu().key(), std::to_string(static_cast<int>(options.code))});
  llvm::SmallVector<char, 0> &object = result.objects.emplace_back();
  if (!options.codeObserver && cache.load(key, object))
    return llvm::Error::success();
  // Some of LLVM's passes take time quadratic in the size of a function, and a host
  // function gains little from any.
  constexpr int64_t kLarge = 20000;
  int64_t size = 0;
  module.walk([&](Operation *) { ++size; });
  emit::EmitOptions how;
  how.optLevel = size > kLarge ? 0 : 1;
  auto compiled = host.emit(options.code, how);
  if (!compiled)
    return compiled.takeError();
  object = std::move(*compiled);
  cache.store(key, object);
  return llvm::Error::success();
}

llvm::Expected<CompiledModel> CodeGenerator::run() {
  CompiledModel result;
  if (llvm::Error error = addKernels())
    return std::move(error);
  llvm::Error hostError = llvm::Error::success();
  runJobs([&] { hostError = compileHost(result); });
  llvm::Error kernelError = collect(result);
  if (hostError) {
    llvm::consumeError(std::move(kernelError));
    return std::move(hostError);
  }
  if (kernelError)
    return std::move(kernelError);
  for (const emit::WeightEntry &entry : layout.entries())
    result.weightNames.push_back(entry.name);
  result.arenaSize = arenaBytes(*model.module);
  result.deviceArenaSize = arenaBytes(*model.module, host::MemorySpace::device);
  return std::move(result);
}

llvm::Expected<CompiledModel> tcc::generateCode(Model &model, const PipelineOptions &options) {
  return CodeGenerator(model, options).run();
}
