//===- GenerateCode.cpp - Kernels compiled in parallel, by content --------===//
//
// Every kernel is printed without names and locations. Each text is parsed into a
// context of its own on a worker thread, so that compilation scales, and its object is
// cached on disk under the hash of text, CPU and tool version. The host program is one
// more object.
//
//===----------------------------------------------------------------------===//
#include "KernelKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tcc/Analysis/PeakMemory.h"
#include "tcc/Codegen/Common/LowerToLLVM.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Codegen/Cpu/CpuLaunch.h"
#include "tcc/Codegen/Host/HostProgram.h"
#include "tcc/Dialect/Kernel/KernelText.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Emit/WeightBlob.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Support/DiskCache.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/LargeStack.h"
#include "tcc/Support/Logging.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/SHA256.h"
#include <atomic>

using namespace mlir;
using namespace tcc;

namespace {

struct Job {
  std::string text;
  CompiledKernel kernel;
  llvm::SmallVector<char, 0> object;
  std::string error;
  std::string refused; ///< why, where the model asks for what tcc cannot do
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
  llvm::Error compileLowered(ModuleOp module, CompiledModel &result);
  void compileKernel(Job &job);
  void showLoops(StringRef symbol, ModuleOp module) const;
  void showCode(StringRef symbol, ModuleOp lowered, emit::EmitOptions how) const;
  emit::EmitOptions emitOptions() const {
    emit::EmitOptions result;
    result.kind = options.code == PipelineOptions::Code::Assembly ? emit::OutputKind::Assembly
                  : options.code == PipelineOptions::Code::LlvmIr ? emit::OutputKind::LlvmIr
                                                                  : emit::OutputKind::Object;
    return result;
  }
  void runJobs();

  Model &model;
  const PipelineOptions &options;
  DiskCache cache;
  std::vector<std::unique_ptr<Job>> jobs;
  emit::WeightLayout layout;
  std::map<std::string, int64_t> offsets;
};

} // namespace

/// Helpers stay inside their object: several objects may have the same.
static void hideHelpers(ModuleOp lowered, StringRef entry) {
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && function.getName() != entry)
      function.setLinkage(LLVM::Linkage::Internal);
}

/// A job for every kernel of the module, with its launches.
llvm::Error CodeGenerator::addKernels() {
  llvm::StringMap<Job *> jobOf;
  for (auto kernel : model.module->getOps<host::KernelOp>()) {
    kernel::LaunchOp launch = kernel.getKernelLaunch();
    if (!launch)
      return llvm::createStringError("no code for '" + kernel.getSymName() +
                                     "': the CPU does one kernel.launch a launch");
    Job &job = *jobs.emplace_back(std::make_unique<Job>());
    job.text = kernel::textOf(launch);
    job.kernel.symbol = kernel.getSymName().str();
    job.kernel.definition = launch;
    jobOf[kernel.getSymName()] = &job;
  }
  model.module->walk([&](host::LaunchOp launch) {
    jobOf.lookup(launch.getKernel())->kernel.launches.push_back(launch);
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
  int64_t offset = layout.add(name, weight->dtype, weight->shape, runTimeSize(*weight));
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

static bool usesComplex(kernel::LaunchOp launch) {
  auto isComplex = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<ComplexType>(tensor.getElementType());
  };
  return launch
      .walk([&](Operation *op) {
        bool found = llvm::any_of(op->getOperandTypes(), isComplex) ||
                     llvm::any_of(op->getResultTypes(), isComplex);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t CodeGenerator::stateOffset(StringRef name, CompiledModel &result) {
  uint64_t from = weightOffset(name), size = runTimeSize(*model.weights->describe(name));
  uint64_t offset = llvm::alignTo(result.stateSize, emit::WeightLayout::alignment);
  result.stateInits.push_back({offset, from, size});
  result.stateSize = offset + size;
  return offset;
}

/// Compiles one printed kernel; thread-safe.
void CodeGenerator::compileKernel(Job &job) {
  std::string key = kernelKey({job.text, job.kernel.symbol, options.cpu.key(),
                               std::to_string(static_cast<int>(options.code))});
  if (!options.codeObserver && cache.load(key, job.object)) {
    job.kernel.cached = true;
    return;
  }
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Error && job.error.empty())
      job.error = d.str();
    return success();
  });
  auto parsed = parseSourceString<ModuleOp>(job.text, &context);
  if (!parsed) {
    job.error = "kernel does not parse: " + job.error;
    return;
  }
  kernel::LaunchOp launch;
  parsed->walk([&](kernel::LaunchOp op) { launch = op; });
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  context.loadAllAvailableDialects();
  if (usesComplex(launch)) {
    job.refused = "no code is generated for complex numbers yet";
    return;
  }
  func::FuncOp function = codegen::emitKernel(launch, *module, job.kernel.symbol, options.cpu);
  if (!function) {
    if (job.error.empty())
      job.error = "no code for kernel " + job.kernel.symbol;
    return;
  }
  showLoops(job.kernel.symbol, *module);
  codegen::expandMath(*module, codegen::ExpandMathOptions::forTarget(options.cpu));
  if (failed(codegen::lowerKernelModule(*module))) {
    job.error = "lowering failed: " + job.error;
    return;
  }
  hideHelpers(*module, job.kernel.symbol);
  showCode(job.kernel.symbol, *module, emitOptions());
  auto object = emit::emitObject(*module, options.cpu, emitOptions());
  if (!object) {
    job.error = llvm::toString(object.takeError());
    return;
  }
  job.object = std::move(*object);
  cache.store(key, job.object);
}

/// Easier to read than what is compiled, which LLVM cleans up.
void CodeGenerator::showLoops(StringRef symbol, ModuleOp module) const {
  if (!options.codeObserver)
    return;
  OwningOpRef<ModuleOp> tidy = module.clone();
  PassManager pm(module.getContext());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  (void)pm.run(*tidy);
  std::string text;
  llvm::raw_string_ostream(text) << *tidy << '\n';
  options.codeObserver(symbol, ".mlir", text);
}

void CodeGenerator::showCode(StringRef symbol, ModuleOp lowered, emit::EmitOptions how) const {
  if (!options.codeObserver)
    return;
  for (auto [kind, suffix] :
       {std::pair(emit::OutputKind::LlvmIr, ".ll"), std::pair(emit::OutputKind::Assembly, ".s")}) {
    how.kind = kind;
    auto text = emit::emitObject(lowered, options.cpu, how);
    if (text)
      options.codeObserver(symbol, suffix, StringRef(text->data(), text->size()));
    else
      llvm::consumeError(text.takeError()); // the object's emission says so
  }
}

static void logKernel(const Job &job) {
  const CompiledKernel &kernel = job.kernel;
  log::write(log::Topic::Cache, (kernel.cached ? "hit " : "miss ") + kernel.symbol);
  if (!kernel.cached)
    log::write(log::Topic::Codegen,
               kernel.symbol + ": " + llvm::Twine(job.object.size()) + " bytes");
  log::write(log::Topic::Codegen, kernel.symbol + ":\n" + job.text, log::Level::Debug);
}

void CodeGenerator::runJobs() {
  std::atomic<size_t> next{0}, done{0};
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      compileKernel(*jobs[i]);
      logKernel(*jobs[i]);
      ++done;
      if (options.kernelDone)
        options.kernelDone(done, jobs.size());
    }
  };
  std::vector<llvm::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(options.jobs, jobs.size()); ++i)
    threads.push_back(startWithLargeStack(work));
  work();
  for (llvm::thread &t : threads)
    t.join();
}

/// The functions of the model, of which `main` is the one that the runtime calls.
llvm::Error CodeGenerator::compileHost(CompiledModel &result) {
  MLIRContext *context = model.module->getContext();
  context->loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context));
  codegen::HostCallbacks callbacks;
  callbacks.weightOffset = [&](StringRef name) { return weightOffset(name); };
  callbacks.constantOffset = [&](ElementsAttr value) { return constantOffset(value); };
  callbacks.stateOffset = [&](StringRef name) { return stateOffset(name, result); };
  codegen::CpuLaunchEmitter launches(options.cpu);
  for (auto function : model.module->getOps<func::FuncOp>()) {
    std::string name = codegen::kEntryName.str();
    if (function != model.main())
      name += ("_" + function.getName()).str();
    if (failed(codegen::emitHostProgram(function, name, *module, launches, callbacks)))
      return llvm::createStringError("host program failed");
  }
  showLoops("host", *module);
  codegen::expandMath(*module, codegen::ExpandMathOptions::forTarget(options.cpu));
  if (failed(codegen::lowerKernelModule(*module)))
    return llvm::createStringError("lowering of the host program failed");
  hideHelpers(*module, codegen::kEntryName);
  return compileLowered(*module, result);
}

/// The host function's object; its text in the LLVM dialect is what it depends on.
llvm::Error CodeGenerator::compileLowered(ModuleOp module, CompiledModel &result) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  std::string key =
      kernelKey({text, "host", options.cpu.key(), std::to_string(static_cast<int>(options.code))});
  llvm::SmallVector<char, 0> &object = result.objects.emplace_back();
  if (!options.codeObserver && cache.load(key, object))
    return llvm::Error::success();
  // Some of LLVM's passes take time quadratic in the size of a function, and a host
  // function gains little from any.
  constexpr int64_t kLarge = 20000;
  int64_t size = 0;
  module.walk([&](Operation *) { ++size; });
  emit::EmitOptions hostOptions = emitOptions();
  hostOptions.optLevel = size > kLarge ? 0 : 1;
  showCode("host", module, hostOptions);
  auto compiled = emit::emitObject(module, options.cpu, hostOptions);
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
  if (llvm::Error error = compileHost(result))
    return std::move(error);
  runJobs();
  for (auto &job : jobs) {
    if (!job->refused.empty())
      return userError("kernel '" + job->kernel.symbol + "': " + job->refused);
    if (!job->error.empty())
      return llvm::createStringError("kernel '" + job->kernel.symbol + "': " + job->error);
    result.objects.push_back(std::move(job->object));
    result.kernels.push_back(std::move(job->kernel));
  }
  for (const emit::WeightEntry &entry : layout.entries())
    result.weightNames.push_back(entry.name);
  result.arenaSize = arenaBytes(*model.module);
  return std::move(result);
}

llvm::Expected<CompiledModel> tcc::generateCode(Model &model, const PipelineOptions &options) {
  return CodeGenerator(model, options).run();
}
