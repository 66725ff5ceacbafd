//===- Artefact.cpp - From compiled kernels to files ---------------------===//
//
// Everything that the library and its manifest say is gathered from the planned module here, once.
// Files get their names together or none does, so that a manifest never stands beside another
// library.
//
//===----------------------------------------------------------------------===//
#include "Artefact.h"
#include "DeviceProgram.h"
#include "DynamicPeak.h"
#include "OwnFiles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Analysis/Crossings.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Decompose/Rules.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Emit/Link.h"
#include "tcc/Emit/Manifest.h"
#include "tcc/Emit/Program.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace tcc;
using mlir::cast;

bool tcc::hasRule(StringRef domain, StringRef op, int64_t version) {
  return allRules().lookup(domain, op, version) != nullptr;
}

namespace {

/// The model's interface as the program states it, with symbols numbered by first use.
class InterfaceWriter {
public:
  InterfaceWriter(mlir::func::FuncOp function, emit::ProgramDescription &program)
      : function(function), signature(function), program(program) {}
  void run();

private:
  emit::ProgramTensor tensor(mlir::Type type, const Port &port);
  int64_t symbol(StringRef name);

  mlir::func::FuncOp function;
  Signature signature;
  emit::ProgramDescription &program;
};

} // namespace

int64_t InterfaceWriter::symbol(StringRef name) {
  for (size_t i = 0; i < program.symbols.size(); ++i)
    if (program.symbols[i].name == name)
      return -1 - static_cast<int64_t>(i);
  Symbol symbol = signature.symbol(name);
  program.symbols.push_back({symbol.name, symbol.min, symbol.max});
  return -static_cast<int64_t>(program.symbols.size());
}

emit::ProgramTensor InterfaceWriter::tensor(mlir::Type type, const Port &port) {
  auto shaped = cast<mlir::ShapedType>(type);
  emit::ProgramTensor t;
  t.name = port.name.str();
  if (auto memory = mlir::dyn_cast<mlir::MemRefType>(type))
    t.onDevice = host::memorySpace(memory) == host::MemorySpace::device;
  t.dtype = *prim::dtypeOf(shaped.getElementType());
  ArrayRef<int64_t> shape = shaped.getShape();
  if (port.isComplex) {
    t.dtype = t.dtype == DType::F64 ? DType::C128 : DType::C64;
    shape = shape.drop_back();
  }
  for (auto [i, d] : enumerate(shape)) {
    StringRef name = port.symbol(i);
    if (!mlir::ShapedType::isDynamic(d))
      t.dims.push_back(d);
    else
      t.dims.push_back(name.empty() ? INT64_MIN : symbol(name));
  }
  return t;
}

/// State is no input, and what changes an argument is no output.
void InterfaceWriter::run() {
  llvm::DenseSet<unsigned> changed;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto argument = signature.changedArgument(i))
      changed.insert(*argument);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (signature.isState(i))
      continue;
    program.inputs.push_back(tensor(function.getArgumentTypes()[i], signature.argument(i)));
    program.inputs.back().mutated = changed.contains(i);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (signature.isOutput(i))
      program.outputs.push_back(tensor(function.getResultTypes()[i], signature.result(i)));
}

static emit::ManifestTensor manifestTensor(const emit::ProgramTensor &t,
                                           const emit::ProgramDescription &program) {
  emit::ManifestTensor m{t.name, t.dtype, {}, t.mutated};
  for (int64_t d : t.dims) {
    if (d >= 0)
      m.shape.push_back(d);
    else
      m.shape.push_back(d == INT64_MIN ? std::string() : program.symbols[-1 - d].name);
  }
  return m;
}

static emit::ManifestCrossings countCrossings(mlir::ModuleOp module) {
  emit::ManifestCrossings counts;
  for (const Crossing &crossing : crossings(module)) {
    counts.stalls += crossing.stalls;
    counts.inLoops += crossing.repeated;
    counts.atEnd += !crossing.stalls;
  }
  return counts;
}

/// Everything that the manifest says, from the planned module.
static emit::Manifest makeManifest(Model &model, const CompiledModel &compiled,
                                   const emit::ProgramDescription &program,
                                   const emit::WeightLayout &weights, const DriverOptions &options,
                                   const Target &target, const InputFacts &input) {
  const CpuTarget &cpu = target.host;
  emit::Manifest m;
  m.toolVersion = TCC_VERSION;
  m.flags = options.resultFlags();
  m.inputFormat = input.format.str();
  m.inputSha256 = input.sha256();
  m.triple = cpu.triple;
  m.cpu = cpu.name;
  SmallVector<StringRef> features;
  StringRef(cpu.required).split(features, ',', -1, /*KeepEmpty=*/false);
  for (const GpuCode &code : target.devices.codes)
    m.archs.push_back(code.arch->name + std::string(code.ptx ? "+ptx" : ""));
  m.features.assign(features.begin(), features.end());
  for (const emit::ProgramSymbol &s : program.symbols)
    m.symbols.push_back({s.name, s.min, s.max == INT64_MAX ? std::nullopt : std::optional(s.max)});
  for (const emit::ProgramTensor &t : program.inputs)
    m.inputs.push_back(manifestTensor(t, program));
  for (const emit::ProgramTensor &t : program.outputs)
    m.outputs.push_back(manifestTensor(t, program));
  m.kernels = manifestKernels(compiled);
  m.memory.arenaBytes = program.arenaSize;
  m.memory.deviceArenaBytes = compiled.deviceArenaSize;
  m.memory.stateBytes = compiled.stateSize;
  if (!target.devices.empty())
    m.crossings = countCrossings(*model.module);
  m.memory.peakBytes = peakBytes(model.main(), program.arenaSize + compiled.stateSize);
  model.module->walk([&](kernel::LaunchOp launch) {
    for (mlir::Type t : launch.getResultTypes())
      m.memory.dynamic |= !cast<mlir::RankedTensorType>(t).hasStaticShape();
  });
  m.weightsFile = program.weightsFile;
  m.weights = weights;
  return m;
}

/// Elements [begin, end) below 8 bits, one a byte as the run time wants them.
static void spread(const Weight &weight, uint64_t begin, uint64_t end, char *to) {
  unsigned bits = bitWidth(weight.dtype), perByte = 8 / bits, mask = (1u << bits) - 1;
  for (uint64_t i = begin; i < end; ++i) {
    unsigned v = (static_cast<uint8_t>(weight.bytes[i / perByte]) >> (bits * (i % perByte))) & mask;
    if (isSignedInt(weight.dtype) && (v >> (bits - 1)))
      v |= ~mask;
    *to++ = static_cast<char>(v);
  }
}

std::string tcc::manifestPath(StringRef library) { return (library + ".json").str(); }

static emit::WeightBlob blobOf(const WeightTable &weights, ArrayRef<std::string> names) {
  emit::WeightBlob blob;
  for (const std::string &name : names) {
    const Weight *weight = weights.describe(name);
    uint64_t size = bitWidth(weight->dtype) < 8 ? weight->elements() : weight->size();
    blob.layout.add(name, weight->dtype, weight->shape, size,
                    weight->maker ? weight->maker->grain : 1, weight->role);
  }
  blob.read = [&weights](const emit::WeightEntry &entry, uint64_t begin, uint64_t end, char *room) {
    const Weight &weight = *weights.describe(entry.name);
    StringRef made(room, end - begin);
    if (weight.maker)
      return weight.maker->make(begin, end, room), made;
    if (bitWidth(weight.dtype) < 8)
      return spread(weight, begin, end, room), made;
    return StringRef(weight.bytes.data() + begin, end - begin);
  };
  return blob;
}

/// All but kernels and manifest.
static emit::ProgramDescription describeProgram(Model &model, const CompiledModel &compiled,
                                                const DriverOptions &options, const Target &target,
                                                const emit::WeightLayout &weights) {
  emit::ProgramDescription program;
  InterfaceWriter(model.main(), program).run();
  program.entry = "tcc_entry";
  program.weightsSize = weights.size();
  program.embeddedWeights = weights.size() <= options.embedLimit;
  program.arenaSize = compiled.arenaSize;
  program.stateSize = target.devices.empty() ? compiled.stateSize : 0;
  if (auto known =
          model.module->getOperation()->getAttrOfType<mlir::IntegerAttr>(prim::kGeneratorsAttr))
    program.generators = static_cast<uint64_t>(known.getInt());
  for (const CompiledModel::StateInit &init : compiled.stateInits)
    program.stateInits.push_back({init.offset, init.weightsOffset, init.size});
  if (!program.embeddedWeights) {
    std::string head = emit::safetensorsHead(weights);
    program.weightsFile = sys::path::filename(options.output).str() + ".safetensors";
    program.weightsOffset = head.size();
    program.weightsLayoutHash = emit::safetensorsLayoutHash(head);
  }
  return program;
}

/// What the interpreter runs; empty for a kernel that is machine code.
static std::string textFor(const CompiledKernel &kernel) {
  for (const CodeObject &object : kernel.code)
    if (object.kind == CodeKind::Text)
      return std::string(object.bytes.begin(), object.bytes.end());
  return "";
}

static Error linkArtefact(const CompiledModel &compiled, ArrayRef<char> description,
                          const emit::WeightBlob *embedded, const DriverOptions &options,
                          const Target &target, StringRef path) {
  emit::LinkJob job;
  job.triple = Triple(target.host.triple);
  auto add = [&](ArrayRef<char> object) {
    job.objects.push_back(MemoryBufferRef(StringRef(object.data(), object.size()), "object"));
  };
  for (const auto &object : compiled.objects)
    add(object);
  add(description);
  job.weights = embedded;
  job.devices = !target.devices.empty();
  job.soname = sys::path::filename(options.output).str();
  job.threads = options.threads();
  return emit::linkModel(job, path);
}

Error Artefact::write(Model &model, const CompiledModel &compiled, const DriverOptions &options,
                      const Target &target, const InputFacts &input, emit::OutputFiles &files) {
  emit::WeightBlob blob = blobOf(*model.weights, compiled.weightNames);
  emit::ProgramDescription program = describeProgram(model, compiled, options, target, blob.layout);
  weightBytes = blob.layout.size();
  // The library gets its place first and its name last.
  using Turn = emit::OutputFiles::Turn;
  if (Error error = files.create(options.output, Turn::Last).moveInto(libraryPath))
    return error;
  auto fill = [&](int file) { return emit::writeSafetensors(blob, file, options.threads()); };
  if (!program.embeddedWeights) {
    std::string path = options.output + ".safetensors";
    if (Error error = mayReplace(path, OwnFile::Weights))
      return error;
    if (Error error = files.write(path, fill).moveInto(weightsPath))
      return error;
    if (Error error = emit::safetensorsSampleHash(weightsPath, blob.layout)
                          .moveInto(program.weightsSampleHash))
      return error;
  }
  emit::Manifest facts =
      makeManifest(model, compiled, program, blob.layout, options, target, input);
  program.devices = deviceProgram(compiled, target.devices, facts.kernels);
  for (auto [kernel, made] : zip_equal(facts.kernels, compiled.kernels))
    if (target.devices.empty() || made.onHost)
      program.kernels.push_back(
          {kernel.name, kernel.name, join(kernel.sources, ", "), textFor(made)});
  program.manifest = manifest = emit::manifestJson(facts);
  auto description = emit::emitProgram(program, target.host);
  if (!description)
    return description.takeError();
  if (!isSpecialFile(options.output))
    if (Error error = files.write(manifestPath(options.output), program.manifest))
      return error;
  bool embeds = program.weightsSize && program.embeddedWeights;
  return linkArtefact(compiled, *description, embeds ? &blob : nullptr, options, target,
                      libraryPath);
}
