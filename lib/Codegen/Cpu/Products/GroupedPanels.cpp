#include "GroupedPanels.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
namespace tcc::codegen {

GroupReader::GroupReader(KernelBuilder &k, const CpuTarget &cpu, const GroupedShape &shape,
                         ArrayRef<unsigned> widths, Value base, Index index)
    : k(k), cpu(cpu), shape(shape), widths(widths), base(base),
      first(k.mul(index, k.constant(shape.groupWords()))) {}

GroupReader::Values GroupReader::load(Type element, Index first) {
  Values vectors;
  int64_t column = 0;
  for (unsigned width : widths) {
    Value at = k.address(base, element, k.add(first, k.constant(column)));
    vectors.push_back(k.load(VectorType::get({int64_t(width)}, element), at));
    column += width;
  }
  return vectors;
}

void GroupReader::beginWords(Index row) {
  loaded = load(k.builder.getI32Type(), k.mulAdd(row, k.constant(shape.width), first));
}

void GroupReader::prefetch(Value ahead, Index row, int64_t rows) {
  Index at = k.mulAdd(row, k.constant(shape.width), first);
  for (int64_t offset = 0; offset < rows * shape.width; offset += cpu.lineBytes / 4)
    k.prefetch(k.address(ahead, k.builder.getI32Type(), k.add(at, k.constant(offset))),
               KernelBuilder::kInL1);
}

void GroupReader::prefetchScales(Value ahead) {
  int64_t integers = shape.integerRows();
  prefetch(ahead, k.constant(integers), shape.rows() - integers);
}

Value GroupReader::lookedUp(Value words) {
  auto type = cast<VectorType>(words.getType());
  int64_t lanes = type.getNumElements(), numbers = 1 << shape.bits;
  bool wide = lanes == 16;
  bool exists = llvm::is_contained(llvm::split(cpu.required, ','), wide ? "avx512f" : "avx2");
  if (numbers > lanes || !exists || (!wide && lanes != 8))
    return {};
  // As many entries as lanes: bits of the number above are looked at and say nothing.
  SmallVector<float> entries;
  for (int64_t i = 0; i < lanes; ++i)
    entries.push_back(float(i % numbers));
  auto floats = type.clone(k.builder.getF32Type());
  Value table = arith::ConstantOp::create(k.builder, k.loc,
                                          DenseElementsAttr::get(floats, ArrayRef(entries)));
  StringRef name = wide ? "llvm.x86.avx512.permvar.sf.512" : "llvm.x86.avx2.permps";
  return LLVM::CallIntrinsicOp::create(k.builder, k.loc, floats, k.builder.getStringAttr(name),
                                       ValueRange{table, words})
      .getResult(0);
}

GroupReader::Values GroupReader::integers(unsigned i) {
  Values all;
  for (Value word : loaded) {
    auto type = cast<VectorType>(word.getType());
    auto splat = [&](int64_t value) {
      return arith::ConstantOp::create(k.builder, k.loc,
                                       DenseElementsAttr::get(type, int32_t(value)));
    };
    if (i)
      word = arith::ShRUIOp::create(k.builder, k.loc, word, splat(i * shape.bits));
    if (Value found = lookedUp(word)) {
      all.push_back(found);
      continue;
    }
    if (i + 1 < shape.perWord())
      word = arith::AndIOp::create(k.builder, k.loc, word, splat((1 << shape.bits) - 1));
    Type floats = type.clone(k.builder.getF32Type());
    all.push_back(arith::SIToFPOp::create(k.builder, k.loc, floats, word));
  }
  return all;
}

GroupReader::Values GroupReader::scales() {
  return load(k.builder.getF32Type(), k.add(first, k.constant(shape.integerRows() * shape.width)));
}

GroupReader::Values GroupReader::offsets(const Values &scales) {
  if (!shape.zero)
    return load(k.builder.getF32Type(),
                k.add(first, k.constant((shape.integerRows() + 1) * shape.width)));
  Values all;
  for (Value scale : *shape.zero ? ArrayRef(scales) : ArrayRef<Value>()) {
    Value zero = arith::ConstantOp::create(
        k.builder, k.loc,
        DenseElementsAttr::get(cast<VectorType>(scale.getType()), -float(*shape.zero)));
    all.push_back(arith::MulFOp::create(k.builder, k.loc, scale, zero));
  }
  return all;
}

} // namespace tcc::codegen
