//===- DeviceProgram.cpp - Kernels for devices in a library ---------------===//
//
// How a kernel is started is what its schedule says: threads, shared memory, tensor maps.
// What only a run knows, the host program computes.
//
//===----------------------------------------------------------------------===//
#include "DeviceProgram.h"
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;
using codegen::device::Schedule;

static Schedule scheduleOf(const CompiledKernel &kernel, StringRef arch) {
  auto launch = cast<kernel::LaunchOp>(kernel.definition);
  return cast<tcc::gpu::SchedulesAttr>(launch.getScheduleAttr()).find(arch);
}

/// Which word of a launch is the address of each input, then of each result.
static SmallVector<unsigned> addressWords(kernel::LaunchOp launch) {
  SmallVector<unsigned> words;
  unsigned next = 0;
  auto add = [&](Type type) {
    words.push_back(next++);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      next += tensor.getNumDynamicDims();
  };
  for (Type type : launch.getInputs().getTypes())
    add(type);
  for (Type type : launch.getResultTypes())
    add(type);
  return words;
}

/// What is known of a kernel's tensor maps before a run.
static void addTensorMaps(emit::ProgramImage &image, kernel::LaunchOp launch, Schedule schedule) {
  constexpr unsigned elementBytes = 2;
  // Arithmetic on extents goes to a copy, which is thrown away.
  Operation *copy = launch->getParentOp()->clone();
  kernel::LaunchOp copied;
  copy->walk([&](kernel::LaunchOp op) { copied = op; });
  OpBuilder b(copied);
  SmallVector<unsigned> words = addressWords(launch);
  for (const auto &map : codegen::device::tensorMapsOf(b, copied, schedule)) {
    unsigned operand = map.index + (map.ofResult ? launch.getInputs().size() : 0);
    emit::ProgramTensorMap &described = image.maps.emplace_back();
    // Rows of a box are as wide as its swizzle.
    described = {words[operand], elementBytes, elementBytes * map.box.back(), map.box, {}};
    described.steps.assign(map.box.size(), 1);
    if (const auto &window = map.window) {
      described.pixels = window->pixels;
      llvm::append_range(described.low, window->low);
      llvm::append_range(described.high, window->high);
      llvm::copy(window->strides, described.steps.begin() + 1);
    }
  }
  copy->erase();
}

static emit::ProgramImage imageOf(const CompiledKernel &kernel, StringRef arch) {
  emit::ProgramImage image;
  Schedule schedule = scheduleOf(kernel, arch);
  image.threads = schedule.getThreads();
  image.sharedBytes = schedule.getSharedBytes();
  image.scratch = schedule.getScratchBytes() > 0;
  image.waits = GpuArch::find(arch)->pdl;
  if (Schedule narrow = schedule.getNarrow()) {
    image.cluster = schedule.getSplit();
    image.narrowThreads = narrow.getThreads();
    image.narrowSharedBytes = narrow.getSharedBytes();
  }
  for (const CodeObject &object : kernel.code) {
    if (object.architecture != arch)
      continue;
    if (object.kind == CodeKind::Cubin)
      image.cubin = object.bytes;
    else if (object.kind == CodeKind::Ptx)
      image.ptx = object.bytes;
    else
      image.function = kernel.symbol;
    for (const auto &[name, value] : object.facts)
      image.meets |= name == "meets" && value;
  }
  addTensorMaps(image, cast<kernel::LaunchOp>(kernel.definition), schedule);
  return image;
}

emit::ProgramDevices tcc::deviceProgram(const CompiledModel &compiled, const GpuTarget &devices,
                                        ArrayRef<emit::ManifestKernel> kernels) {
  emit::ProgramDevices program;
  if (devices.empty())
    return program;
  program.arenaSize = compiled.deviceArenaSize;
  program.stateSize = compiled.stateSize;
  for (const GpuCode &code : devices.codes)
    program.archs.push_back(
        {code.arch->name, code.arch->capability, code.arch->specific, code.arch->simulated});
  for (auto [kernel, facts] : llvm::zip_equal(compiled.kernels, kernels)) {
    if (kernel.onHost)
      continue;
    emit::ProgramDeviceKernel &described = program.kernels.emplace_back();
    described.name = kernel.symbol;
    described.sources = llvm::join(facts.sources, ", ");
    for (const emit::ProgramArch &arch : program.archs)
      described.images.push_back(imageOf(kernel, arch.name));
  }
  return program;
}

static StringRef kindName(CodeKind kind) {
  switch (kind) {
  case CodeKind::HostObject:
    return "object";
  case CodeKind::Cubin:
    return "cubin";
  case CodeKind::Ptx:
    return "ptx";
  case CodeKind::Text:
    return "text";
  }
  llvm_unreachable("all kinds are handled above");
}

std::vector<emit::ManifestCode> tcc::manifestCode(const CompiledKernel &kernel) {
  std::vector<emit::ManifestCode> all;
  for (const CodeObject &object : kernel.code) {
    if (object.kind == CodeKind::Text) // of no device
      continue;
    if (all.empty() || all.back().arch != object.architecture) {
      Schedule schedule = scheduleOf(kernel, object.architecture);
      all.push_back({object.architecture,
                     {},
                     {{"threads", schedule.getThreads()},
                      {"dynamic_shared_bytes", schedule.getSharedBytes()}}});
    }
    emit::ManifestCode &code = all.back();
    code.kinds.push_back(kindName(object.kind).str());
    for (const auto &fact : object.facts)
      if (fact.first != "meets") // for the simulated device alone
        code.facts.push_back(fact);
  }
  return all;
}
