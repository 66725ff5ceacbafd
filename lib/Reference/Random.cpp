//===- Random.cpp - Philox4x32-10 ----------------------------------------===//
//
// J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Any
// word can be computed on its own, which is why compiled kernels use it.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <array>
#include <cstring>

namespace tcc::reference {

using Words = std::array<uint32_t, 4>;

static Words philox(Words counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0], b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// Both element types have the words of a block in one order in memory: little endian.
static llvm::Expected<Tensor> randomBits(prim::RandomBitsOp op, Operands operands) {
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  DType type = resultDType(op.getResult());
  llvm::Expected<Tensor> result = Tensor::allocate(type, *shape);
  if (!result)
    return result;
  auto seed = static_cast<uint64_t>(operands[0].integer(0));
  auto offset = static_cast<uint64_t>(operands[1].integer(0));
  auto low = [](uint64_t x) { return static_cast<uint32_t>(x); };
  auto high = [](uint64_t x) { return static_cast<uint32_t>(x >> 32); };
  for (int64_t i = 0, e = result->bytes(); i < e; i += sizeof(Words)) {
    uint64_t block = static_cast<uint64_t>(i) / sizeof(Words);
    Words words =
        philox({low(block), high(block), low(offset), high(offset)}, low(seed), high(seed));
    std::memcpy(result->mutableData() + i, words.data(), std::min<int64_t>(sizeof(Words), e - i));
  }
  return result;
}

void addRandom(Evaluators &all) { all.add<prim::RandomBitsOp, randomBits>(); }

} // namespace tcc::reference
