#include "GroupedPanels.h"

using namespace mlir;
namespace tcc::codegen {

GroupReader::GroupReader(KernelBuilder &k, const CpuTarget &cpu, const GroupedShape &shape,
                         ArrayRef<unsigned> widths, Value base, Index index)
    : k(k), shape(shape), widths(widths), lineWords(cpu.lineBytes / 4), base(base),
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
  words = k.mulAdd(row, k.constant(shape.width), first);
  loaded = load(k.builder.getI32Type(), words);
}

void GroupReader::prefetch(Value ahead) {
  for (int64_t offset = 0; offset < shape.width; offset += lineWords)
    k.prefetch(k.address(ahead, k.builder.getI32Type(), k.add(words, k.constant(offset))));
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
