#include "tcc/Emit/Program.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "tcc/Emit/WeightBlob.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

namespace {

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
  Constant *structure(ArrayRef<Constant *> fields) {
    return ConstantStruct::getAnon(context, fields);
  }
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
    Constant *dtype = structure({u8(dlpackCode(t.dtype)), u8(bitWidth(t.dtype)), u16(1)});
    elements.push_back(
        structure({text(t.name), dtype, u32(t.dims.size()), u32(t.mutated), u32(0), array(dims)}));
  }
  return array(elements);
}

void ProgramWriter::write(const ProgramDescription &p, const CpuTarget &cpu) {
  SmallVector<Constant *> symbols, kernels, inits;
  for (const ProgramSymbol &s : p.symbols)
    symbols.push_back(structure({text(s.name), u64(s.min), u64(s.max)}));
  for (const ProgramKernel &k : p.kernels)
    kernels.push_back(structure({text(k.name), external(k.symbol), text(k.sources)}));
  for (const ProgramStateInit &s : p.stateInits)
    inits.push_back(structure({u64(s.stateOffset), u64(s.weightsOffset), u64(s.size)}));
  constexpr uint32_t kProgramAbi = 3;
  bool weights = p.weightsSize > 0;
  Constant *value = structure({u32(kProgramAbi),
                               u32(p.inputs.size()),
                               u32(p.outputs.size()),
                               u32(p.symbols.size()),
                               u32(kernels.size()),
                               u32(inits.size()),
                               tensors(p.inputs),
                               tensors(p.outputs),
                               array(symbols),
                               array(kernels),
                               array(inits),
                               text(p.manifest),
                               u64(p.manifest.size()),
                               text(cpu.required),
                               weights && p.embeddedWeights ? external(weightSymbol) : null(),
                               weights && !p.embeddedWeights ? text(p.weightsFile) : null(),
                               u64(p.weightsOffset),
                               u64(p.weightsSize),
                               u64(p.weightsLayoutHash),
                               u64(p.weightsSampleHash),
                               u64(p.arenaSize),
                               u64(p.stateSize),
                               u64(p.generators),
                               external(p.entry)});
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
