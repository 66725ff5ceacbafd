//===- LaunchCheck.cpp - Kernels compared with the interpreter -----------===//
//
// Every launch of a file is run as kernel and as operators, on the simulated device and, from a
// packed file, on a GPU. The cases are text, so that a new form of kernel is a new case and no new
// code.
//
//===----------------------------------------------------------------------===//
#include "LaunchCheck.h"
#include "SimulatedDevice.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Codegen/Common/VectorMath.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
namespace tcc::test {

using codegen::device::Schedule;
using reference::Tensor;

/// What the kernel's code depends on.
static std::string textOf(kernel::LaunchOp launch) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Type type : launch->getOperandTypes())
    os << type << ' ';
  launch.getBody().front().print(os);
  for (Type type : launch->getResultTypes())
    os << type << ' ';
  os << launch->getAttrDictionary();
  return text;
}

OwningOpRef<ModuleOp> kernelModule(kernel::LaunchOp launch, llvm::StringRef symbol,
                                   Schedule schedule, const GpuArch &arch,
                                   const codegen::ExpandMathOptions &math) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(launch.getContext()));
  if (!codegen::device::emitKernel(launch, *module, symbol, schedule, arch))
    return {};
  codegen::expandMath(*module, math);
  return module;
}

std::vector<int64_t>
launchWords(const LaunchRecord &record,
            llvm::function_ref<int64_t(bool isResult, unsigned index)> address) {
  std::vector<int64_t> words;
  auto tensor = [&](RankedTensorType type, const Tensor &value, int64_t at) {
    words.push_back(at);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        words.push_back(value.dim(axis));
  };
  kernel::LaunchOp launch = record.launch;
  for (auto [i, type] : llvm::enumerate(launch.getInputs().getTypes())) {
    if (auto ranked = dyn_cast<RankedTensorType>(type)) {
      tensor(ranked, record.inputs[i], address(false, i));
      continue;
    }
    int64_t word = 0;
    std::memcpy(&word, record.inputs[i].data(), record.inputs[i].bytes());
    words.push_back(isa<FloatType>(type) ? word : record.inputs[i].integer(0));
  }
  for (auto [i, type] : llvm::enumerate(launch.getResultTypes()))
    tensor(cast<RankedTensorType>(type), record.expected[i], address(true, i));
  return words;
}

double distance(const Tensor &have, const Tensor &want) {
  double largest = 0, furthest = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    double h = have.real(i), w = want.real(i);
    if (std::isfinite(w))
      largest = std::max(largest, std::abs(w));
    if (h == w || (std::isnan(h) && std::isnan(w)))
      continue;
    if (!std::isfinite(h) || !std::isfinite(w))
      return std::numeric_limits<double>::infinity();
    furthest = std::max(furthest, std::abs(h - w));
  }
  return furthest == 0 ? 0 : furthest / std::max(largest, 1e-30);
}

double tolerance(DType type) {
  if (!isFloat(type))
    return 0;
  switch (bitWidth(type)) {
  case 64:
    return 1e-12;
  case 32:
    return 2e-5;
  default:
    return type == DType::F16 ? 2e-3 : bitWidth(type) == 16 ? 1e-2 : 0.15;
  }
}

/// `value` as a tensor of `type` lies in memory. Its layout knows the way back, and is asked for
/// the numbers of elements.
static Tensor stored(Type type, const Tensor &value) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  prim::StorageLayout layout = tensor ? prim::layoutOf(tensor) : prim::StorageLayout();
  if (!layout)
    return value;
  std::vector<int64_t> numbers(value.elements()), places(value.elements());
  std::iota(numbers.begin(), numbers.end(), 0);
  layout.unpack(tensor.getShape(), sizeof(int64_t), reinterpret_cast<char *>(numbers.data()),
                reinterpret_cast<char *>(places.data()));
  Tensor memory = llvm::cantFail(Tensor::allocate(value.dtype(), value.shape()));
  uint64_t bytes = reference::elementBytes(value.dtype());
  for (auto [i, place] : llvm::enumerate(places))
    std::memcpy(memory.mutableData() + place * bytes, value.data() + i * bytes, bytes);
  return memory;
}

llvm::Error forEachLaunch(func::FuncOp function, llvm::ArrayRef<Tensor> inputs,
                          const WeightTable &weights, const GpuArch &arch,
                          llvm::function_ref<void(const LaunchRecord &)> visit, bool tf32,
                          std::optional<codegen::device::Form> form) {
  llvm::DenseMap<Value, Tensor> known;
  struct Plan {
    Schedule schedule;
    OpFoldResult grid;
    llvm::SmallVector<codegen::device::TensorMap> maps;
    std::string symbol, text;
  };
  llvm::DenseMap<Operation *, Plan> plans;
  std::map<std::string, std::string> symbols;
  function.walk([&](kernel::LaunchOp launch) {
    auto given = dyn_cast_or_null<tcc::gpu::SchedulesAttr>(launch.getScheduleAttr());
    auto schedules = given ? SmallVector<Schedule>{given.find(arch.name)}
                           : codegen::device::schedulesFor(launch, arch, tf32);
    auto *wanted = llvm::find_if(schedules, [&](Schedule s) { return s.getForm() == form; });
    Schedule schedule = wanted == schedules.end() ? schedules.front() : *wanted;
    OpBuilder b(launch);
    OpFoldResult grid = codegen::device::gridOf(b, launch, schedule);
    std::string text = textOf(launch);
    auto [it, fresh] =
        symbols.insert({text, "k" + std::to_string(symbols.size()) + "_" + launch.getName().str()});
    plans[launch] = {schedule, grid, codegen::device::tensorMapsOf(b, launch, schedule), it->second,
                     text};
  });
  for (auto [argument, value] : llvm::zip(function.getArguments(), inputs))
    known[argument] = value;
  reference::EvaluateOptions options;
  options.observer = [&](OpResult result, Tensor &value) {
    known[result] = value;
    auto launch = dyn_cast<kernel::LaunchOp>(result.getOwner());
    if (!launch || result.getResultNumber() + 1 != launch->getNumResults())
      return;
    const Plan &plan = plans[launch];
    LaunchRecord record{launch, plan.symbol, plan.text, plan.schedule, 0, {}, {}, {}};
    auto numberOf = [&](OpFoldResult v) {
      auto constant = getConstantIntValue(v);
      return constant ? *constant : known.at(cast<Value>(v)).integer(0);
    };
    record.blocks = numberOf(plan.grid);
    record.maps = plan.maps;
    for (codegen::device::TensorMap &map : record.maps)
      for (OpFoldResult &extent : map.extents)
        extent = Builder(launch.getContext()).getIndexAttr(numberOf(extent));
    for (Value input : launch.getInputs()) {
      if (!known.count(input)) // an argument of a region, which nobody observes
        return;
      record.inputs.push_back(stored(input.getType(), known.at(input)));
    }
    for (Value output : launch.getResults())
      record.expected.push_back(known.at(output));
    visit(record);
  };
  auto outputs = reference::evaluate(function, inputs, weights, options);
  return outputs ? llvm::Error::success() : outputs.takeError();
}

/// Runs a launch; one line for each result that is wrong.
static std::vector<std::string> simulate(const LaunchRecord &record, const SimulatedKernel &kernel,
                                         unsigned seed) {
  std::vector<std::string> wrong;
  std::vector<Tensor> results;
  for (const Tensor &expected : record.expected) {
    results.push_back(llvm::cantFail(Tensor::allocate(expected.dtype(), expected.shape())));
    std::memset(results.back().mutableData(), 0xA5, results.back().bytes());
  }
  auto words = launchWords(record, [&](bool isResult, unsigned i) {
    return reinterpret_cast<int64_t>((isResult ? results[i] : record.inputs[i]).data());
  });
  std::vector<char> scratch(record.schedule.getScratchBytes());
  if (!scratch.empty())
    words.push_back(reinterpret_cast<int64_t>(scratch.data()));
  kernel.launch(words, record.blocks, seed);
  unsigned counters = std::min<size_t>(scratch.size(), codegen::device::kCounterBytes);
  if (llvm::any_of(llvm::ArrayRef(scratch).take_front(counters), [](char c) { return c != 0; }))
    wrong.push_back(record.symbol + ": a counter is not zero again");
  for (auto [i, expected] : llvm::enumerate(record.expected)) {
    double far = distance(results[i], expected);
    if (!(far <= tolerance(expected.dtype())))
      wrong.push_back(record.symbol + " result " + std::to_string(i) + ": off by " +
                      std::to_string(far));
  }
  return wrong;
}

llvm::Expected<std::vector<std::string>>
simulateLaunches(func::FuncOp function, llvm::ArrayRef<Tensor> inputs, const WeightTable &weights,
                 const GpuArch &arch, llvm::ArrayRef<unsigned> seeds, bool tf32) {
  std::map<std::string, std::unique_ptr<SimulatedKernel>> kernels;
  std::vector<std::string> wrong;
  auto visit = [&](const LaunchRecord &record) {
    std::unique_ptr<SimulatedKernel> &kernel = kernels[record.text];
    if (!kernel) {
      auto math = codegen::ExpandMathOptions::forTarget(simulatingCpu());
      math.roughWhereNarrowed = true;
      auto module =
          kernelModule(record.launch, record.symbol, record.schedule, *GpuArch::find("sim"), math);
      if (!module) {
        wrong.push_back(record.symbol + ": no code");
        return;
      }
      kernel = std::make_unique<SimulatedKernel>(*module, record.symbol, record.schedule);
    }
    for (unsigned seed : seeds)
      llvm::append_range(wrong, simulate(record, *kernel, seed));
  };
  if (llvm::Error error = forEachLaunch(function, inputs, weights, arch, visit, tf32))
    return std::move(error);
  return wrong;
}

} // namespace tcc::test
