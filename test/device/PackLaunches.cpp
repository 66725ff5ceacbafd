// Packs the launches of functions of primitives for a machine with a GPU, which RunLaunches
// replays there: pack-launches ARCH FILE.mlir FOLDER [FORM]. With FORM, launches that templates of
// that form take are run by those alone.
//
// Each function is fused. Its launches get random inputs (test.low and test.high of an argument
// bound them) and what the reference interpreter expects; without FORM once for each template that
// takes the launch. A function's test.schedules, if it has such an attribute, are used instead, for
// all of its launches. Functions named bench_* are too large for it: their inputs are made where
// they run, and a launch that a template does is compared with the general form of the same launch.
//
// FOLDER/launches lists one launch after the other, one word of its parameters a line; FOLDER/data
// holds the bytes; each cubin is a file.
#include "../RandomTensor.h"
#include "LaunchCheck.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tcc/Codegen/Gpu/ScheduleModel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Emit/Ptx.h"
#include "tcc/Fusion/Fusion.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Form;
using codegen::device::Schedule;
using reference::Tensor;

namespace {

class Packer {
public:
  Packer(const GpuArch &arch, std::optional<emit::Ptxas> ptxas, std::optional<Form> form,
         std::string folder)
      : arch(arch), ptxas(std::move(ptxas)), form(form), folder(std::move(folder)) {
    llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::create_directories(this->folder)));
    std::error_code code;
    list = std::make_unique<llvm::raw_fd_ostream>(this->folder + "/launches", code);
    data = std::make_unique<llvm::raw_fd_ostream>(this->folder + "/data", code);
  }

  void pack(func::FuncOp function) {
    bool bench = function.getName().starts_with("bench_");
    if (bench)
      return packBench(function);
    std::vector<Tensor> inputs;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      inputs.push_back(randomInput(function, i));
    for (unsigned choice = 0; choose(function, choice); ++choice)
      pack(function, inputs, choice);
  }

private:
  static constexpr const char *kSchedules = "test.schedules";
  /// After so many elements a random input repeats itself, so that an archive of many is small: a
  /// prime, so that no tile finds at its place what the tile before it has.
  static constexpr int64_t kPeriod = 65521;

  /// What the launches of `function` may be run by.
  SmallVector<Schedule> schedulesOf(func::FuncOp function, kernel::LaunchOp launch) {
    if (auto given = function->getAttrOfType<ArrayAttr>(kSchedules))
      return llvm::map_to_vector(given, [](Attribute a) { return cast<Schedule>(a); });
    SmallVector<Schedule> all = codegen::device::schedulesFor(launch, arch, rounds(function));
    auto others = [&](Schedule s) { return s.getForm() != *form; };
    if (form && !llvm::all_of(all, others))
      llvm::erase_if(all, others);
    return all;
  }

  /// Operands of f32 are rounded where that is asked for: functions named *tf32*. Their inputs have
  /// few digits.
  static bool rounds(func::FuncOp function) { return function.getName().contains("tf32"); }

  /// Has the launches run by the template that is number `choice` of those that take them; false
  /// where none has so many.
  bool choose(func::FuncOp function, unsigned choice) {
    bool any = false;
    function.walk([&](kernel::LaunchOp launch) {
      launch.removeScheduleAttr();
      SmallVector<Schedule> schedules = schedulesOf(function, launch);
      if (choice >= schedules.size())
        return;
      MLIRContext *context = launch.getContext();
      launch.setScheduleAttr(tcc::gpu::SchedulesAttr::get(
          context, StringAttr::get(context, arch.name), schedules[choice]));
      any = true;
    });
    return any;
  }

  /// The form, and the tile where several schedules of the form may differ in it.
  static std::string wordsOf(Schedule s) {
    std::string words = tcc::gpu::stringifyForm(s.getForm()).str();
    if (s.getRows() && s.getColumns())
      words += "_" + std::to_string(s.getRows()) + "x" + std::to_string(s.getColumns());
    if (s.getRowThreads())
      words += "_by" + std::to_string(s.getRowThreads());
    if (s.getSplit() > 1)
      words += "_split" + std::to_string(s.getSplit());
    if (s.getForm() == Form::Product)
      words += "_deep" + std::to_string(s.getDepth());
    if (s.getForm() == Form::Product && s.getLanes() > 1)
      words += "_each" + std::to_string(s.getLanes());
    return words + (s.getVectors() > 1 ? "_of" + std::to_string(s.getVectors()) : "");
  }

  void pack(func::FuncOp function, llvm::ArrayRef<Tensor> inputs, unsigned choice) {
    auto visit = [&](const LaunchRecord &r) {
      std::string name = function.getName().str() + "_" + r.symbol;
      kernel::LaunchOp launch = r.launch;
      if (!launch.getScheduleAttr())
        return;
      if (choice > 0)
        name += "." + wordsOf(r.schedule);
      begin(name, launch, r.schedule, r.maps, r.blocks, 0, 0);
      for (auto [i, type] : llvm::enumerate(launch.getInputs().getTypes()))
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          input(tensor, r.inputs[i]);
        else // an extent
          *list << "word " << r.inputs[i].integer(0) << '\n';
      for (auto [i, type] : llvm::enumerate(launch.getResultTypes()))
        output(cast<RankedTensorType>(type), r.expected[i]);
      *list << "end\n";
    };
    llvm::cantFail(forEachLaunch(function, inputs, WeightTable(), arch, visit));
  }

  /// Work of a launch whose inputs nobody looks at here.
  void packBench(func::FuncOp function) {
    unsigned count = 0;
    function.walk([&](kernel::LaunchOp launch) {
      std::string name = function.getName().str() + (count ? "_" + std::to_string(count) : "");
      ++count;
      SmallVector<Schedule> schedules = schedulesOf(function, launch);
      // The last one is the general form of a product; each other is compared with it.
      std::string like;
      for (Schedule schedule : llvm::reverse(schedules)) {
        bool chosen = schedule == schedules.front();
        std::string full = chosen ? name : name + "." + wordsOf(schedule);
        benchLaunch(full, launch, schedule, like);
        if (like.empty())
          like = full;
      }
    });
  }

  void benchLaunch(const std::string &name, kernel::LaunchOp launch, Schedule schedule,
                   const std::string &like) {
    OpBuilder b(launch);
    int64_t blocks = *getConstantIntValue(codegen::device::gridOf(b, launch, schedule));
    double flops = 0, bytes = 0;
    launch->walk([&](prim::DotOp dot) {
      double inner = 1;
      for (int64_t axis : dot.getLhsContract())
        inner *= cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(axis);
      flops += 2 * inner * cast<RankedTensorType>(dot.getType()).getNumElements();
    });
    launch->walk([&](prim::ConvOp conv) {
      auto w = cast<RankedTensorType>(conv.getW().getType());
      flops += 2.0 * w.getNumElements() / w.getDimSize(0) *
               cast<RankedTensorType>(conv.getType()).getNumElements();
    });
    auto sizeOf = [](Type type) {
      auto tensor = cast<RankedTensorType>(type);
      return static_cast<double>(tensor.getNumElements()) *
             reference::elementBytes(*prim::dtypeOf(tensor.getElementType()));
    };
    for (Type type : launch->getOperandTypes())
      bytes += sizeOf(type);
    for (Type type : launch.getResultTypes())
      bytes += sizeOf(type);
    begin(name, launch, schedule, codegen::device::tensorMapsOf(b, launch, schedule), blocks, flops,
          bytes);
    for (auto [i, type] : llvm::enumerate(launch.getInputs().getTypes())) {
      auto tensor = cast<RankedTensorType>(type);
      *list << "random " << dtypeName(*prim::dtypeOf(tensor.getElementType())) << ' '
            << tensor.getNumElements() << ' ' << i + 1 << '\n';
    }
    for (Type type : launch.getResultTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      DType d = *prim::dtypeOf(tensor.getElementType());
      // Rounded operands have eleven bits; the general form rounds none.
      double most = rounds(launch->getParentOfType<func::FuncOp>()) ? 2e-3 : tolerance(d);
      *list << "output " << dtypeName(d) << ' ' << tensor.getNumElements() << " -1 " << most
            << '\n';
    }
    if (!like.empty())
      *list << "like " << like << '\n';
    *list << "end\n";
  }

  void begin(const std::string &name, kernel::LaunchOp launch, Schedule schedule,
             llvm::ArrayRef<codegen::device::TensorMap> maps, int64_t blocks, double flops,
             double bytes) {
    std::string file = cubinOf(launch, schedule);
    *list << "launch " << name << ' ' << file << ' ' << blocks << ' ' << schedule.getThreads()
          << ' ' << schedule.getSharedBytes() << ' ' << flops << ' ' << bytes << ' '
          << schedule.getScratchBytes() << '\n';
    for (const codegen::device::TensorMap &map : maps) {
      auto before = llvm::make_range(launch.getInputs().begin(),
                                     launch.getInputs().begin() + (map.ofResult ? 0 : map.index));
      auto scalars =
          llvm::count_if(before, [](Value v) { return !isa<RankedTensorType>(v.getType()); });
      *list << "map " << map.ofResult << ' ' << map.index - scalars << ' ' << map.box.size();
      for (auto [extent, box] : llvm::zip_equal(map.extents, map.box))
        *list << ' ' << *getConstantIntValue(extent) << ' ' << box;
      *list << ' ' << (map.window ? map.window->pixels : 0);
      if (map.window)
        for (ArrayRef<int64_t> numbers :
             {ArrayRef<int64_t>(map.window->strides), ArrayRef<int64_t>(map.window->low),
              ArrayRef<int64_t>(map.window->high)})
          for (int64_t number : numbers)
            *list << ' ' << number;
      *list << '\n';
    }
  }

  std::string cubinOf(kernel::LaunchOp launch, Schedule schedule) {
    std::string name = "k" + std::to_string(kernels++), file = name + ".cubin";
    auto module = kernelModule(launch, "k", schedule, arch);
    if (!module || failed(codegen::device::lowerKernelModule(*module, schedule)))
      llvm::report_fatal_error("no code");
    std::string ptx = llvm::cantFail(emit::emitPtx(*module, arch));
    std::error_code code;
    llvm::raw_fd_ostream(folder + "/" + name + ".ptx", code) << ptx;
    if (!ptxas)
      return file;
    emit::Cubin cubin = llvm::cantFail(ptxas->assemble(ptx, arch));
    llvm::raw_fd_ostream(folder + "/" + file, code).write(cubin.bytes.data(), cubin.bytes.size());
    const emit::KernelResources &use = cubin.kernels["k"];
    llvm::outs() << file << ' ' << launch.getName() << ": " << use.registers << " registers, "
                 << use.spillStoreBytes << " bytes spilled, " << use.sharedBytes << " shared\n";
    for (const std::string &warning : cubin.warnings)
      llvm::outs() << "  " << warning << '\n';
    return file;
  }

  void bytes(const Tensor &tensor) {
    data->write(tensor.data(), tensor.bytes());
    offset += tensor.bytes();
  }
  void dims(RankedTensorType type, const Tensor &tensor) {
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        *list << "word " << tensor.dim(axis) << '\n';
  }
  void input(RankedTensorType type, const Tensor &tensor) {
    *list << "input " << offset << ' ' << tensor.bytes() << '\n';
    bytes(tensor);
    dims(type, tensor);
  }
  void output(RankedTensorType type, const Tensor &tensor) {
    *list << "output " << dtypeName(tensor.dtype()) << ' ' << tensor.elements() << ' ' << offset
          << ' ' << tolerance(tensor.dtype()) << '\n';
    bytes(tensor);
    dims(type, tensor);
  }

  Tensor randomInput(func::FuncOp function, unsigned i) {
    auto bound = [&](llvm::StringRef name, double otherwise) {
      auto attribute = function.getArgAttrOfType<FloatAttr>(i, name);
      return attribute ? attribute.getValueAsDouble() : otherwise;
    };
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t &d : shape)
      d = ShapedType::isDynamic(d) ? 37 : d;
    int64_t count = *reference::elementCount(shape);
    DType dtype = *prim::dtypeOf(type.getElementType());
    Tensor some = randomTensor(engine, dtype, {std::min(count, kPeriod)}, bound("test.low", -2),
                               bound("test.high", 2));
    std::vector<double> values(count);
    for (int64_t i = 0; i < count; ++i) {
      double v = some.real(i % kPeriod);
      values[i] = rounds(function) ? std::round(v * 128) / 128 : v;
    }
    return Tensor::ofReals(dtype, shape, values);
  }

  const GpuArch &arch;
  std::optional<emit::Ptxas> ptxas;
  std::optional<Form> form;
  std::string folder;
  std::unique_ptr<llvm::raw_fd_ostream> list, data;
  uint64_t offset = 0;
  unsigned kernels = 0;
  std::mt19937 engine{1};
};

} // namespace

int main(int argc, char **argv) {
  const GpuArch *arch = argc == 4 || argc == 5 ? GpuArch::find(argv[1]) : nullptr;
  std::optional<Form> form = argc == 5 ? tcc::gpu::symbolizeForm(argv[4]) : std::nullopt;
  if (!arch || (argc == 5 && !form)) {
    llvm::errs() << "usage: pack-launches ARCH FILE.mlir FOLDER [FORM]\n";
    return 2;
  }
  auto ptxas = llvm::cantFail(emit::Ptxas::find());
  if (!ptxas)
    llvm::errs() << "no ptxas on this machine: PTX alone\n";
  DialectRegistry registry;
  codegen::device::registerKernelDialects(registry);
  registry.insert<prim::PrimDialect, kernel::KernelDialect, tcc::gpu::GpuDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceFile<ModuleOp>(argv[2], &context);
  if (!module)
    return 2;
  PassManager passes(&context);
  passes.addPass(createFuseKernelsPass());
  passes.addPass(createShareKernelsPass());
  passes.addPass(codegen::createRecurrenceLaunchesPass(llvm::cantFail(GpuTarget::parse(argv[1]))));
  if (failed(passes.run(*module)))
    return 1;
  Packer packer(*arch, std::move(ptxas), form, argv[3]);
  for (auto function : module->getOps<func::FuncOp>())
    packer.pack(function);
  return 0;
}
