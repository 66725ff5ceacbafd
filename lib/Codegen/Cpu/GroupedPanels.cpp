#include "GroupedPanels.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace mlir;
namespace tcc::codegen {

GroupReader::GroupReader(KernelBuilder &k, const CpuTarget &cpu, const GroupedShape &shape,
                         ArrayRef<unsigned> widths, Value base, Index index, unsigned rows)
    : k(k), shape(shape), widths(widths), lineWords(cpu.lineBytes / 4),
      masksAtOnce(cpu.maskedMemory && rows == 1), base(base),
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

void GroupReader::prefetch(Value ahead) { fetch(ahead, words, 1); }

void GroupReader::prefetchScales(Value ahead) {
  int64_t rows = shape.rows() - shape.integerRows();
  fetch(ahead, k.add(first, k.constant(shape.integerRows() * shape.width)), rows);
}

void GroupReader::fetch(Value ahead, Index at, int64_t rows) {
  for (int64_t offset = 0; offset < rows * shape.width; offset += lineWords)
    k.prefetch(k.address(ahead, k.builder.getI32Type(), k.add(at, k.constant(offset))));
}

GroupReader::Values GroupReader::integers(unsigned i) {
  constexpr unsigned mantissa = 23;
  unsigned bit = i * shape.bits;
  if (i == 0 || bit + shape.bits - shifted > mantissa)
    shifted = bit;
  unsigned place = bit - shifted;
  Values all;
  for (Value word : loaded) {
    auto type = cast<VectorType>(word.getType());
    Type floats = type.clone(k.builder.getF32Type());
    auto splat = [&](int64_t value) {
      return arith::ConstantOp::create(k.builder, k.loc,
                                       DenseElementsAttr::get(type, int32_t(value)));
    };
    if (shifted)
      word = arith::ShRUIOp::create(k.builder, k.loc, word, splat(shifted));
    if (!masksAtOnce && place)
      word = arith::ShRUIOp::create(k.builder, k.loc, word, splat(place));
    bool isLast = i + 1 == shape.perWord();
    int64_t mask = (1 << shape.bits) - 1;
    if (!masksAtOnce) {
      if (!isLast)
        word = arith::AndIOp::create(k.builder, k.loc, word, splat(mask));
      all.push_back(arith::SIToFPOp::create(k.builder, k.loc, floats, word));
      continue;
    }
    // Where an integer lies in the mantissa, under an exponent of which it counts ones, a number is
    // that much more than a power of two: one instruction puts it there.
    float power = std::ldexp(1.0f, mantissa - place);
    word = arith::AndIOp::create(k.builder, k.loc, word, splat(mask << place));
    word = arith::OrIOp::create(k.builder, k.loc, word, splat(llvm::bit_cast<int32_t>(power)));
    Value number = arith::BitcastOp::create(k.builder, k.loc, floats, word);
    Value less = arith::ConstantOp::create(
        k.builder, k.loc, DenseElementsAttr::get(cast<VectorType>(floats), -power));
    all.push_back(arith::AddFOp::create(k.builder, k.loc, number, less));
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
