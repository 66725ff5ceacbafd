//===- Sha256.cpp - SHA-256 ----------------------------------------------===//
//
// Large model files are hashed, which takes longer than the rest of a compile from a warm cache
// where the CPU has no instructions for it. They are used where they are there.
//
//===----------------------------------------------------------------------===//
#include "tcc/Support/Sha256.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

using namespace llvm;

namespace tcc {

#if defined(__x86_64__)

alignas(16) static constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static bool hasInstructions() {
  unsigned a, b, c, d;
  constexpr unsigned sse41 = 1u << 19, sha = 1u << 29;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & sse41) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
         (b & sha);
}

/// Four rounds at a time; the words of the message are made four at a time as well. The
/// instructions want the state as {a,b,e,f} and {c,d,g,h}.
__attribute__((target("sha,sse4.1"))) static void hashBlocks(uint32_t *state, const char *data,
                                                             size_t blocks) {
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto load = [](const void *p) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i *>(p));
  };
  __m128i low = _mm_shuffle_epi32(load(state), 0xb1);
  __m128i high = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(low, high, 8);
  __m128i cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; blocks; --blocks, data += 64) {
    __m128i savedAbef = abef, savedCdgh = cdgh, w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(load(data + 16 * i), bigEndian);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      __m128i &now = w[i % 4];
      const __m128i &second = w[(i + 1) % 4], &third = w[(i + 2) % 4], &last = w[(i + 3) % 4];
      __m128i sum = _mm_add_epi32(now, load(kRoundConstants + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i < 12)
        now = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(now, second), _mm_alignr_epi8(last, third, 4)),
            last);
    }
    abef = _mm_add_epi32(abef, savedAbef);
    cdgh = _mm_add_epi32(cdgh, savedCdgh);
  }
  low = _mm_shuffle_epi32(abef, 0x1b);
  high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state), _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(state + 4), _mm_alignr_epi8(high, low, 8));
}

static std::string sha256ByInstructions(function_ref<StringRef()> nextPart) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t length = 0;
  char tail[128] = {};
  size_t rest = 0;
  for (StringRef part = nextPart(); !part.empty(); part = nextPart()) {
    hashBlocks(state, part.data(), part.size() / 64);
    length += part.size();
    rest = part.size() % 64;
    std::memcpy(tail, part.end() - rest, rest);
  }
  // A one bit, zeros, and the length in bits fill up the last block or two.
  tail[rest] = static_cast<char>(0x80);
  size_t blocks = rest < 56 ? 1 : 2;
  support::endian::write64be(tail + blocks * 64 - 8, length * 8);
  hashBlocks(state, tail, blocks);
  uint8_t digest[32];
  for (int i = 0; i < 8; ++i)
    support::endian::write32be(digest + 4 * i, state[i]);
  return toHex(digest, /*LowerCase=*/true);
}

#endif

/// All parts but the last have a multiple of 64 bytes; an empty one ends them.
static std::string hashParts(function_ref<StringRef()> nextPart) {
#if defined(__x86_64__)
  static const bool fast = hasInstructions();
  if (fast)
    return sha256ByInstructions(nextPart);
#endif
  SHA256 hash;
  for (StringRef part = nextPart(); !part.empty(); part = nextPart())
    hash.update(part);
  return toHex(hash.final(), /*LowerCase=*/true);
}

std::string sha256(StringRef bytes) {
  return hashParts([&] { return std::exchange(bytes, StringRef()); });
}

namespace {

/// A part of a file, mapped for as long as this lives.
class Window {
public:
  Window() = default;
  ~Window() { reset(); }
  void reset() {
    if (data != MAP_FAILED)
      munmap(data, size);
    data = MAP_FAILED;
  }
  /// Whether it could be mapped.
  bool map(int file, uint64_t offset, size_t bytes) {
    reset();
    size = bytes;
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, off_t(offset));
    return data != MAP_FAILED;
  }
  StringRef bytes() const { return StringRef(static_cast<const char *>(data), size); }

private:
  void *data = MAP_FAILED;
  size_t size = 0;
};

} // namespace

std::optional<std::string> sha256OfFile(const std::string &path) {
  constexpr uint64_t windowBytes = 16 << 20;
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) {
    if (file >= 0)
      close(file);
    return std::nullopt;
  }
  uint64_t size = status.st_size, offset = 0;
  bool failed = false;
  Window window;
  std::string result = hashParts([&] {
    uint64_t bytes = std::min(windowBytes, size - offset);
    failed |= bytes != 0 && !window.map(file, offset, bytes);
    if (failed || bytes == 0)
      return StringRef();
    offset += bytes;
    return window.bytes();
  });
  close(file);
  return failed ? std::nullopt : std::optional(result);
}

} // namespace tcc
