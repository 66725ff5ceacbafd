//===- Random.cpp - Philox4x32-10 ----------------------------------------===//
//
// J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Any
// word can be computed on its own, which is why compiled kernels use it.
//
//===----------------------------------------------------------------------===//
#include "Reference/Evaluators.h"
#include <array>

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

static llvm::Expected<Tensor> randomBits(prim::RandomBitsOp op, Operands operands) {
  auto shape = resultShape(op.getResult(), valuesOf(op.getSizes(), operands));
  if (!shape)
    return shape.takeError();
  llvm::Expected<Tensor> result = Tensor::allocate(DType::U32, *shape);
  if (!result)
    return result;
  auto seed = static_cast<uint64_t>(operands[0].integer(0));
  for (int64_t i = 0, e = result->elements(); i < e; i += 4) {
    auto block = static_cast<uint64_t>(i / 4);
    Words words = philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                         static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
    std::copy_n(words.begin(), std::min<int64_t>(4, e - i), result->mutableAs<uint32_t>() + i);
  }
  return result;
}

void addRandom(Evaluators &all) { all.add<prim::RandomBitsOp, randomBits>(); }

} // namespace tcc::reference
