//===- GpuBackend.cpp - Kernels as code for NVIDIA's GPUs -----------------===//
//
// A kernel is compiled once for each architecture: to PTX, and by ptxas to a cubin, where there
// is a ptxas on this machine. PTX is kept beside it where that is asked for, and alone where it is
// all there is.
//
// The architecture `sim` takes the same way up to the LLVM dialect; there the kernel becomes code
// for the host's CPU.
//
//===----------------------------------------------------------------------===//
#include "Backends.h"
#include "HostObject.h"
#include "Runtime/Program.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Codegen/Gpu/DeviceLaunch.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Codegen/Gpu/Simulate.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class GpuBackend final : public Backend {
public:
  GpuBackend(const Target &target, std::optional<emit::Ptxas> ptxas)
      : Backend(target), model(target.devices), ptxas(std::move(ptxas)),
        cpu(llvm::cantFail(createCpuBackend({target.host, {}}))) {}

  StringRef name() const override { return "cuda"; }
  llvm::Error accepts(kernel::LaunchOp launch) const override;
  void addDecomposePasses(OpPassManager &passes, WeightTable &weights) const override {
    // Several lines beside each other fit shared memory up to 512 numbers, and half as many of
    // twice as long ones, which blocks for all multiprocessors make worth it.
    FourierKernels has{4096, 512, 1, /*convolves=*/false, /*mirrors=*/true, 1024, 264};
    passes.addPass(createFourierLinesPass(&weights, has));
    // A block has a matrix, and a thread a row of it.
    passes.addPass(
        createMatrixLoopsPass(GpuArch::threads, [devices = target().devices](Operation *factor) {
          return hasSpectralKernel(factor, devices);
        }));
  }
  void addAxisOrderPasses(OpPassManager &passes, Precision) const override {
    // Strips of planes read memory in short pieces: of more, two transposes cost less.
    constexpr int64_t kMostProducts = 3 << 20;
    // A row kernel that reads across takes 1.7 ns an element of a group, the kernels without groups
    // 8 us.
    constexpr int64_t kFewestOfGroup = 8192;
    passes.addPass(createGroupedChannelsPass(kFewestOfGroup));
    passes.addPass(createChannelsLastPass(0, kMostProducts));
  }
  void addLayoutPasses(OpPassManager &passes, WeightTable &weights,
                       const LayoutChooser &) const override {
    // A warp of the template for few rows has a result alone; blocks share a sum.
    constexpr int64_t kMostRows = 16, kShortest = 16384;
    passes.addPass(createFilterGradientsPass());
    passes.addPass(createVectorProductsPass({nullptr, kMostRows, kShortest}));
    passes.addPass(createKMajorWeightsPass(&weights));
    passes.addPass(createProductColumnsPass());
    passes.addPass(createJoinProductsPass(&weights));
  }
  void addSchedulePasses(OpPassManager &passes) const override {
    passes.addPass(createRecurrenceLaunchesPass(target().devices));
    passes.addPass(createJoinChecksPass());
    passes.addPass(createEarlyStartsPass());
    passes.addPass(createWordIndicesPass());
  }
  const ScheduleModel &schedules() const override { return model; }
  const Backend *hostBackend() const override { return cpu.get(); }
  host::MemorySpace memorySpace() const override { return host::MemorySpace::device; }
  std::unique_ptr<LaunchEmitter> launchEmitter() const override {
    return std::make_unique<device::DeviceLaunchEmitter>();
  }
  unsigned architectures() const override { return target().devices.codes.size(); }
  llvm::Expected<KernelCode> compile(const KernelSource &kernel) const override;
  void registerDialects(DialectRegistry &registry) const override {
    device::registerKernelDialects(registry);
  }
  std::string key(unsigned architecture) const override;
  std::string tuningKey() const override { return target().devices.key(); }
  std::vector<std::string> notes() const override;

private:
  llvm::Expected<CodeObject> simulate(const KernelSource &kernel, ModuleOp module,
                                      unsigned sharedBytes) const;
  llvm::Expected<KernelCode> assemble(const KernelSource &kernel, ModuleOp module) const;
  const GpuCode &codeFor(const KernelSource &kernel) const {
    return target().devices.codes[kernel.architecture];
  }
  /// What tells the architectures of one kernel apart in the names of dumped files.
  std::string suffix(const GpuArch &arch, StringRef kind) const {
    return architectures() == 1 ? kind.str() : ("." + StringRef(arch.name) + kind).str();
  }

  GpuScheduleModel model;
  std::optional<emit::Ptxas> ptxas;
  std::unique_ptr<Backend> cpu;
};

} // namespace

llvm::Error GpuBackend::accepts(kernel::LaunchOp launch) const {
  auto schedules = dyn_cast_or_null<tcc::gpu::SchedulesAttr>(launch.getScheduleAttr());
  for (const GpuCode &code : target().devices.codes)
    if (!schedules || !schedules.find(code.arch->name))
      return userError("it was not scheduled for " + llvm::Twine(code.arch->name) +
                       ": start from phase schedule or an earlier one");
  return acceptsElements(launch);
}

/// Kernels of a model are assembled as one where they are written as PTX: their helpers may not
/// have one name.
static void nameHelpers(ModuleOp module, StringRef kernel) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
        function.getName() == kernel)
      continue;
    auto name = StringAttr::get(module.getContext(), kernel + "_" + function.getName());
    (void)SymbolTable::replaceAllSymbolUses(function, name, module);
    function.setSymNameAttr(name);
    function.setLinkage(LLVM::Linkage::Internal);
  }
}

llvm::Expected<KernelCode> GpuBackend::compile(const KernelSource &kernel) const {
  const GpuArch &arch = *codeFor(kernel).arch;
  kernel::LaunchOp launch = kernel.launch;
  device::Schedule schedule =
      cast<tcc::gpu::SchedulesAttr>(launch.getScheduleAttr()).find(arch.name);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(launch.getContext()));
  if (!device::emitKernel(launch, *module, kernel.symbol, schedule, arch))
    return llvm::createStringError("no code for " + llvm::Twine(arch.name));
  if (device::Schedule narrow = schedule.getNarrow();
      narrow &&
      !device::emitKernel(launch, *module, (kernel.symbol + TCC_NARROW).str(), narrow, arch))
    return llvm::createStringError("no narrow code for " + llvm::Twine(arch.name));
  showLoops(*module, kernel.symbol, suffix(arch, ".mlir"), kernel.observer);
  ExpandMathOptions math =
      arch.simulated ? ExpandMathOptions::forTarget(target().host) : ExpandMathOptions::forGpu();
  math.roughWhereNarrowed = true;
  expandMath(*module, math);
  if (failed(device::lowerKernelModule(*module, schedule)))
    return llvm::createStringError("lowering failed");
  nameHelpers(*module, kernel.symbol);
  if (!arch.simulated)
    return assemble(kernel, *module);
  auto object = simulate(kernel, *module, schedule.getSharedBytes());
  if (!object)
    return object.takeError();
  KernelCode code;
  code.push_back(std::move(*object));
  return code;
}

/// An object of the host; it says whether the threads of a block wait for each other.
llvm::Expected<CodeObject> GpuBackend::simulate(const KernelSource &kernel, ModuleOp module,
                                                unsigned sharedBytes) const {
  FailureOr<bool> meets = device::simulateKernel(module, kernel.symbol, sharedBytes);
  if (failed(meets))
    return llvm::createStringError("it cannot be simulated");
  HostObject object(module, kernel.symbol, kernel.symbol, target().host, kernel.observer);
  emit::EmitOptions how;
  how.optLevel = 1; // tests run it once
  auto bytes = object.emit(kernel.form, how);
  if (!bytes)
    return bytes.takeError();
  return CodeObject{
      CodeKind::HostObject, codeFor(kernel).arch->name, std::move(*bytes), {{"meets", *meets}}};
}

static llvm::SmallVector<char, 0> bytesOf(StringRef text) { return {text.begin(), text.end()}; }

llvm::Expected<KernelCode> GpuBackend::assemble(const KernelSource &kernel, ModuleOp module) const {
  const GpuCode &wanted = codeFor(kernel);
  const GpuArch &arch = *wanted.arch;
  emit::EmitOptions asIr;
  asIr.kind = emit::OutputKind::LlvmIr;
  KernelCode code;
  if (kernel.observer || kernel.form == CodeForm::LlvmIr) {
    auto ir = emit::emitPtx(module, arch, asIr);
    if (!ir)
      return ir.takeError();
    if (kernel.observer)
      kernel.observer(kernel.symbol, suffix(arch, ".ll"), *ir);
    if (kernel.form == CodeForm::LlvmIr) {
      code.push_back({CodeKind::Ptx, arch.name, bytesOf(*ir), {}});
      return code;
    }
  }
  auto ptx = emit::emitPtx(module, arch);
  if (!ptx)
    return ptx.takeError();
  if (kernel.observer)
    kernel.observer(kernel.symbol, suffix(arch, ".ptx"), *ptx);
  bool assembles = ptxas && kernel.form == CodeForm::Object;
  if (assembles) {
    auto cubin = ptxas->assemble(*ptx, arch);
    if (!cubin)
      return cubin.takeError();
    const emit::KernelResources &used = cubin->kernels[kernel.symbol];
    code.push_back({CodeKind::Cubin,
                    arch.name,
                    std::move(cubin->bytes),
                    {{"registers", used.registers},
                     {"shared_bytes", used.sharedBytes},
                     {"stack_bytes", used.stackBytes},
                     {"spill_store_bytes", used.spillStoreBytes},
                     {"spill_load_bytes", used.spillLoadBytes}}});
  }
  if (!assembles || wanted.ptx)
    code.push_back({CodeKind::Ptx, arch.name, bytesOf(*ptx), {}});
  return code;
}

std::string GpuBackend::key(unsigned architecture) const {
  const GpuCode &code = target().devices.codes[architecture];
  std::string text = code.arch->key() + (code.ptx ? " +ptx" : "");
  return text + " " +
         (code.arch->simulated ? target().host.key()
          : ptxas              ? ptxas->version()
                               : "no ptxas");
}

std::vector<std::string> GpuBackend::notes() const {
  if (ptxas || target().devices.simulated())
    return {};
  return {
      "no ptxas on this machine: the library has PTX alone, which the GPU's driver compiles when "
      "the model is opened (--ptxas names one)"};
}

llvm::Expected<std::unique_ptr<Backend>> tcc::createGpuBackend(const Target &target) {
  if (target.devices.empty())
    return userError("--backend cuda needs --arch: the GPUs to compile for");
  std::optional<emit::Ptxas> ptxas;
  if (!target.devices.simulated())
    if (llvm::Error error = emit::Ptxas::find(target.devices.ptxas).moveInto(ptxas))
      return std::move(error);
  return std::make_unique<GpuBackend>(target, std::move(ptxas));
}
