//===- Crc32.cpp - CRC-32 by carry-less multiplication --------------------===//
//
// A CRC is the remainder of a polynomial over GF(2). 128 bits that lie n bits
// ahead of others may be multiplied by x^n mod P and added to those without a
// change to the remainder ("folding"); the two halves of 64 bits have a factor
// each. Four blocks fold at once over 512 bits, since one product takes several
// cycles, then into one; zlib takes the remainder of that. After V. Gopal and
// others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel, 2009); the factors are in the bit-reflected form of zip.
//
//===----------------------------------------------------------------------===//
#include "tcc/Support/Crc32.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

using namespace llvm;

namespace tcc {

#if defined(__x86_64__)

static bool hasInstructions() {
  unsigned a, b, c, d;
  constexpr unsigned pclmulqdq = 1u << 1, sse41 = 1u << 19;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & pclmulqdq) && (c & sse41);
}

/// `block`, moved over the distance of the factors, plus what lies there.
__attribute__((target("pclmul,sse4.1"))) static inline __m128i fold(__m128i block, __m128i factors,
                                                                    __m128i there) {
  __m128i low = _mm_clmulepi64_si128(block, factors, 0x00);
  __m128i high = _mm_clmulepi64_si128(block, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

constexpr size_t kStep = 64;

/// Of a multiple of kStep bytes, not none.
__attribute__((target("pclmul,sse4.1"))) static uint32_t crcOfBlocks(uint32_t crc,
                                                                     StringRef bytes) {
  const __m128i by512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
  const __m128i by128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const auto *from = reinterpret_cast<const __m128i *>(bytes.data());
  __m128i sum[4];
  for (int i = 0; i < 4; ++i)
    sum[i] = _mm_loadu_si128(from + i);
  sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  for (size_t step = 1; step < bytes.size() / kStep; ++step)
    for (int i = 0; i < 4; ++i)
      sum[i] = fold(sum[i], by512, _mm_loadu_si128(from + 4 * step + i));
  __m128i all = sum[0];
  for (int i = 1; i < 4; ++i)
    all = fold(all, by128, sum[i]);
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i *>(rest), all);
  return llvm::crc32(~0u, rest); // the start is folded in already
}

#endif

uint32_t crc32(uint32_t crc, StringRef bytes) {
#if defined(__x86_64__)
  static const bool fast = hasInstructions();
  if (fast && bytes.size() >= kStep) {
    size_t whole = bytes.size() - bytes.size() % kStep;
    crc = crcOfBlocks(crc, bytes.take_front(whole));
    bytes = bytes.drop_front(whole);
  }
#endif
  return llvm::crc32(crc, arrayRefFromStringRef(bytes));
}

} // namespace tcc
