//===- Program.cpp - The description of a model as an object --------------===//
//
// Writes the structs of the runtime's header: each field goes to the offset that the
// header gives it, so that a field added there moves what follows here as well. Every
// target has pointers of 8 bytes and aligns fields to their size, as this machine does.
//
//===----------------------------------------------------------------------===//
#include "tcc/Emit/Program.h"
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
  Constant *tensors(const std::vector<ProgramTensor> &list);

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

Constant *ProgramWriter::array(ArrayRef<Constant *> elements) {
  if (elements.empty())
    return null();
  return global(
      ConstantArray::get(ArrayType::get(elements[0]->getType(), elements.size()), elements));
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
    elements.push_back(structure(
        sizeof(tcc_io_desc), {{offsetof(tcc_io_desc, name), text(t.name)},
                              {offsetof(tcc_io_desc, dtype), dtype},
                              {offsetof(tcc_io_desc, rank), u32(t.dims.size())},
                              {offsetof(tcc_io_desc, flags), u32(t.mutated ? TCC_IO_MUTATED : 0)},
                              {offsetof(tcc_io_desc, dims), array(dims)}}));
  }
  return array(elements);
}

void ProgramWriter::write(const ProgramDescription &p, const CpuTarget &cpu) {
  SmallVector<Constant *> symbols, kernels, inits;
  for (const ProgramSymbol &s : p.symbols)
    symbols.push_back(
        structure(sizeof(tcc_symbol_desc), {{offsetof(tcc_symbol_desc, name), text(s.name)},
                                            {offsetof(tcc_symbol_desc, min), u64(s.min)},
                                            {offsetof(tcc_symbol_desc, max), u64(s.max)}}));
  for (const ProgramKernel &k : p.kernels)
    kernels.push_back(structure(sizeof(tcc_kernel_desc),
                                {{offsetof(tcc_kernel_desc, name), text(k.name)},
                                 {offsetof(tcc_kernel_desc, fn), external(k.symbol)},
                                 {offsetof(tcc_kernel_desc, sources), text(k.sources)}}));
  for (const ProgramStateInit &s : p.stateInits)
    inits.push_back(structure(sizeof(tcc_state_init),
                              {{offsetof(tcc_state_init, state_offset), u64(s.stateOffset)},
                               {offsetof(tcc_state_init, weights_offset), u64(s.weightsOffset)},
                               {offsetof(tcc_state_init, size), u64(s.size)}}));
  bool weights = p.weightsSize > 0;
  using Program = struct tcc_program;
  Constant *value = structure(sizeof(Program),
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
                               {offsetof(Program, entry), external(p.entry)}});
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
