//===- Program.cpp - The description of a model as an object --------------===//
//
// Writes the structs of the runtime's header: each field goes to the offset that the
// header gives it, so that a field added there moves what follows here as well. Every
// target has pointers of 8 bytes and aligns fields to their size, as this machine does.
//
//===----------------------------------------------------------------------===//
#include "tcc/Emit/Program.h"
#include "Runtime/Interpreter.h"
#include "Runtime/Program.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Emit/WeightBlob.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <cstddef>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

namespace {

static_assert(sizeof(void *) == 8);

/// A field of a struct: where the header has it, and what it is.
struct Field {
  size_t offset;
  Constant *value;
};

/// Constants of one module.
class ProgramWriter {
public:
  explicit ProgramWriter(Module &module)
      : module(module), context(module.getContext()), pointer(PointerType::get(context, 0)) {}

  void write(const ProgramDescription &program, const CpuTarget &cpu);

private:
  Constant *u8(uint64_t v) { return ConstantInt::get(Type::getInt8Ty(context), v); }
  Constant *u16(uint64_t v) { return ConstantInt::get(Type::getInt16Ty(context), v); }
  Constant *u32(uint64_t v) { return ConstantInt::get(Type::getInt32Ty(context), v); }
  Constant *u64(uint64_t v) { return ConstantInt::get(Type::getInt64Ty(context), v); }
  Constant *null() { return ConstantPointerNull::get(pointer); }
  Constant *text(StringRef s);
  Constant *array(ArrayRef<Constant *> elements);
  Constant *structure(size_t size, ArrayRef<Field> fields);
  Constant *external(StringRef name) {
    auto *global = new GlobalVariable(module, u8(0)->getType(), true, GlobalValue::ExternalLinkage,
                                      nullptr, name);
    global->setVisibility(GlobalValue::HiddenVisibility);
    return global;
  }
  Constant *global(Constant *value);
  Constant *kernelText(StringRef s);
  Constant *tensors(const std::vector<ProgramTensor> &list);
  Constant *bytes(ArrayRef<char> data);
  Constant *archs(const ProgramDevices &devices);
  Constant *tensorMaps(ArrayRef<ProgramTensorMap> maps);
  Constant *image(const ProgramImage &image);
  Constant *deviceKernels(const ProgramDevices &devices);

  Module &module;
  LLVMContext &context;
  PointerType *pointer;
};

} // namespace

Constant *ProgramWriter::global(Constant *value) {
  auto *g = new GlobalVariable(module, value->getType(), true, GlobalValue::PrivateLinkage, value);
  g->setAlignment(Align(8));
  return g;
}

/// A struct of `size` bytes; what no field takes is zero.
Constant *ProgramWriter::structure(size_t size, ArrayRef<Field> fields) {
  SmallVector<Constant *> parts;
  size_t end = 0;
  auto padTo = [&](size_t offset) {
    assert(offset >= end && "fields in the order of the header");
    if (offset > end)
      parts.push_back(
          ConstantAggregateZero::get(ArrayType::get(Type::getInt8Ty(context), offset - end)));
    end = offset;
  };
  for (const Field &field : fields) {
    padTo(field.offset);
    parts.push_back(field.value);
    end += module.getDataLayout().getTypeStoreSize(field.value->getType());
  }
  padTo(size);
  return ConstantStruct::getAnon(context, parts, /*Packed=*/true);
}

Constant *ProgramWriter::text(StringRef s) {
  return global(ConstantDataArray::getString(context, s));
}

/// Code, aligned as the driver wants it.
Constant *ProgramWriter::bytes(ArrayRef<char> data) {
  Constant *value = ConstantDataArray::get(
      context, ArrayRef(reinterpret_cast<const uint8_t *>(data.data()), data.size()));
  auto *g = cast<GlobalVariable>(global(value));
  g->setAlignment(Align(64));
  return g;
}

Constant *ProgramWriter::array(ArrayRef<Constant *> elements) {
  if (elements.empty())
    return null();
  return global(
      ConstantArray::get(ArrayType::get(elements[0]->getType(), elements.size()), elements));
}

/// A struct tcc_kernel_text.
Constant *ProgramWriter::kernelText(StringRef s) {
  Constant *bytes = ConstantDataArray::getString(context, s, /*AddNull=*/false);
  return global(ConstantStruct::getAnon(context, {u64(s.size()), bytes}, /*Packed=*/true));
}

/// DLPack's type codes (dlpack.h, DLDataTypeCode).
static unsigned dlpackCode(DType type) {
  switch (type) {
  case DType::BF16:
    return 4;
  case DType::F8E4M3FN:
    return 10;
  case DType::F8E4M3FNUZ:
    return 11;
  case DType::F8E5M2:
    return 12;
  case DType::F8E5M2FNUZ:
    return 13;
  case DType::F8E8M0FNU:
    return 14;
  case DType::F4E2M1FN:
    return 17;
  case DType::Bool:
    return 6;
  case DType::C64:
  case DType::C128:
    return 5;
  default:
    return isFloat(type) ? 2 : isSignedInt(type) ? 0 : 1;
  }
}

Constant *ProgramWriter::tensors(const std::vector<ProgramTensor> &list) {
  SmallVector<Constant *> elements;
  for (const ProgramTensor &t : list) {
    SmallVector<Constant *> dims;
    for (int64_t d : t.dims)
      dims.push_back(u64(d));
    Constant *dtype =
        structure(sizeof(DLDataType), {{offsetof(DLDataType, code), u8(dlpackCode(t.dtype))},
                                       {offsetof(DLDataType, bits), u8(bitWidth(t.dtype))},
                                       {offsetof(DLDataType, lanes), u16(1)}});
    elements.push_back(
        structure(sizeof(tcc_io_desc),
                  {{offsetof(tcc_io_desc, name), text(t.name)},
                   {offsetof(tcc_io_desc, dtype), dtype},
                   {offsetof(tcc_io_desc, rank), u32(t.dims.size())},
                   {offsetof(tcc_io_desc, flags),
                    u32((t.mutated ? TCC_IO_MUTATED : 0u) | (t.onDevice ? TCC_IO_DEVICE : 0u))},
                   {offsetof(tcc_io_desc, dims), array(dims)}}));
  }
  return array(elements);
}

Constant *ProgramWriter::archs(const ProgramDevices &devices) {
  SmallVector<Constant *> all;
  for (const ProgramArch &arch : devices.archs)
    all.push_back(structure(
        sizeof(tcc_device_arch),
        {{offsetof(tcc_device_arch, name), text(arch.name)},
         {offsetof(tcc_device_arch, capability), u32(arch.capability)},
         {offsetof(tcc_device_arch, flags), u32((arch.specific ? TCC_ARCH_SPECIFIC : 0u) |
                                                (arch.simulated ? TCC_ARCH_SIMULATED : 0u))}}));
  return array(all);
}

Constant *ProgramWriter::tensorMaps(ArrayRef<ProgramTensorMap> maps) {
  using Map = tcc_tensor_map_desc;
  SmallVector<Constant *> all;
  for (const ProgramTensorMap &map : maps) {
    SmallVector<Field> fields = {{offsetof(Map, word), u32(map.word)},
                                 {offsetof(Map, rank), u32(map.box.size())},
                                 {offsetof(Map, element_bytes), u32(map.elementBytes)},
                                 {offsetof(Map, swizzle_bytes), u32(map.swizzleBytes)}};
    for (auto [i, extent] : enumerate(map.box))
      fields.push_back({offsetof(Map, box) + sizeof(uint32_t) * i, u32(extent)});
    for (auto [i, step] : enumerate(map.steps))
      fields.push_back({offsetof(Map, steps) + sizeof(uint32_t) * i, u32(step)});
    if (map.pixels) {
      constexpr size_t at = offsetof(Map, window);
      fields.push_back({at + offsetof(tcc_tensor_window, pixels), u32(map.pixels)});
      for (auto [i, first] : enumerate(map.low))
        fields.push_back({at + offsetof(tcc_tensor_window, low) + sizeof(int32_t) * i, u32(first)});
      for (auto [i, last] : enumerate(map.high))
        fields.push_back({at + offsetof(tcc_tensor_window, high) + sizeof(int32_t) * i, u32(last)});
    }
    all.push_back(structure(sizeof(Map), fields));
  }
  return array(all);
}

Constant *ProgramWriter::image(const ProgramImage &i) {
  using Image = tcc_device_image;
  Constant *code = !i.function.empty() ? external(i.function)
                   : i.cubin.empty()   ? null()
                                       : bytes(i.cubin);
  unsigned flags = (i.scratch ? TCC_IMAGE_SCRATCH : 0u) | (i.meets ? TCC_IMAGE_MEETS : 0u) |
                   (i.waits ? TCC_IMAGE_WAITS : 0u);
  return structure(
      sizeof(Image),
      {{offsetof(Image, code), code},
       {offsetof(Image, code_size), u64(i.cubin.size())},
       {offsetof(Image, ptx), i.ptx.empty() ? null() : text(StringRef(i.ptx.data(), i.ptx.size()))},
       {offsetof(Image, threads), u32(i.threads)},
       {offsetof(Image, shared_bytes), u32(i.sharedBytes)},
       {offsetof(Image, flags), u32(flags)},
       {offsetof(Image, cluster), u32(i.cluster)},
       {offsetof(Image, narrow_threads), u32(i.narrowThreads)},
       {offsetof(Image, narrow_shared_bytes), u32(i.narrowSharedBytes)},
       {offsetof(Image, num_maps), u32(i.maps.size())},
       {offsetof(Image, maps), tensorMaps(i.maps)}});
}

Constant *ProgramWriter::deviceKernels(const ProgramDevices &devices) {
  using Kernel = tcc_device_kernel_desc;
  SmallVector<Constant *> all;
  for (const ProgramDeviceKernel &kernel : devices.kernels) {
    SmallVector<Constant *> images;
    for (const ProgramImage &i : kernel.images)
      images.push_back(image(i));
    all.push_back(structure(sizeof(Kernel), {{offsetof(Kernel, name), text(kernel.name)},
                                             {offsetof(Kernel, sources), text(kernel.sources)},
                                             {offsetof(Kernel, images), array(images)}}));
  }
  return array(all);
}

void ProgramWriter::write(const ProgramDescription &p, const CpuTarget &cpu) {
  SmallVector<Constant *> symbols, kernels, inits;
  for (const ProgramSymbol &s : p.symbols)
    symbols.push_back(
        structure(sizeof(tcc_symbol_desc), {{offsetof(tcc_symbol_desc, name), text(s.name)},
                                            {offsetof(tcc_symbol_desc, min), u64(s.min)},
                                            {offsetof(tcc_symbol_desc, max), u64(s.max)}}));
  for (const ProgramKernel &k : p.kernels)
    kernels.push_back(structure(
        sizeof(tcc_kernel_desc),
        {{offsetof(tcc_kernel_desc, name), text(k.name)},
         {offsetof(tcc_kernel_desc, fn), k.text.empty() ? external(k.symbol) : kernelText(k.text)},
         {offsetof(tcc_kernel_desc, sources), text(k.sources)}}));
  for (const ProgramStateInit &s : p.stateInits)
    inits.push_back(structure(sizeof(tcc_state_init),
                              {{offsetof(tcc_state_init, state_offset), u64(s.stateOffset)},
                               {offsetof(tcc_state_init, weights_offset), u64(s.weightsOffset)},
                               {offsetof(tcc_state_init, size), u64(s.size)}}));
  bool weights = p.weightsSize > 0, devices = !p.devices.archs.empty();
  StringRef driver = p.devices.simulated() ? "tcc_simulated" : "tcc_cuda";
  bool interpreted = llvm::any_of(p.kernels, [](auto &kernel) { return !kernel.text.empty(); });
  using Program = struct tcc_program;
  Constant *value = structure(
      sizeof(Program),
      {{offsetof(Program, abi_version), u32(TCC_PROGRAM_ABI)},
       {offsetof(Program, num_inputs), u32(p.inputs.size())},
       {offsetof(Program, num_outputs), u32(p.outputs.size())},
       {offsetof(Program, num_symbols), u32(p.symbols.size())},
       {offsetof(Program, num_kernels), u32(kernels.size())},
       {offsetof(Program, num_state_inits), u32(inits.size())},
       {offsetof(Program, inputs), tensors(p.inputs)},
       {offsetof(Program, outputs), tensors(p.outputs)},
       {offsetof(Program, symbols), array(symbols)},
       {offsetof(Program, kernels), array(kernels)},
       {offsetof(Program, state_inits), array(inits)},
       {offsetof(Program, manifest), text(p.manifest)},
       {offsetof(Program, manifest_size), u64(p.manifest.size())},
       {offsetof(Program, cpu_features), text(cpu.required)},
       {offsetof(Program, embedded_weights),
        weights && p.embeddedWeights ? external(weightSymbol) : null()},
       {offsetof(Program, weights_file),
        weights && !p.embeddedWeights ? text(p.weightsFile) : null()},
       {offsetof(Program, weights_offset), u64(p.weightsOffset)},
       {offsetof(Program, weights_size), u64(p.weightsSize)},
       {offsetof(Program, weights_layout_hash), u64(p.weightsLayoutHash)},
       {offsetof(Program, weights_sample_hash), u64(p.weightsSampleHash)},
       {offsetof(Program, arena_size), u64(p.arenaSize)},
       {offsetof(Program, state_size), u64(p.stateSize)},
       {offsetof(Program, num_generators), u64(p.generators)},
       {offsetof(Program, entry), external(p.entry)},
       {offsetof(Program, interpreter), interpreted ? external("tcc_interpreter") : null()},
       {offsetof(Program, num_device_archs), u32(p.devices.archs.size())},
       {offsetof(Program, num_device_kernels), u32(p.devices.kernels.size())},
       {offsetof(Program, device_archs), archs(p.devices)},
       {offsetof(Program, device_kernels), deviceKernels(p.devices)},
       {offsetof(Program, device_driver), devices ? external(driver) : null()},
       {offsetof(Program, device_runtime), devices ? external("tcc_device_runtime") : null()},
       {offsetof(Program, device_arena_size), u64(p.devices.arenaSize)},
       {offsetof(Program, device_state_size), u64(p.devices.stateSize)}});
  auto *g = new GlobalVariable(module, value->getType(), true, GlobalValue::ExternalLinkage, value,
                               "tcc_program");
  g->setVisibility(GlobalValue::HiddenVisibility);
  g->setAlignment(Align(8));
}

Expected<SmallVector<char, 0>> tcc::emit::emitProgram(const ProgramDescription &program,
                                                      const CpuTarget &cpu) {
  LLVMContext context;
  Module module("tcc", context);
  ProgramWriter(module).write(program, cpu);
  return emitLlvmModule(module, cpu);
}
