#include "tcc/Support/DType.h"
#include <iterator>

namespace tcc {

namespace {
struct Info {
  const char *name;
  unsigned bits;
};
} // namespace

// In the order of the enum.
static constexpr Info kInfo[] = {
    {"f16", 16},       {"bf16", 16},  {"f32", 32},       {"f64", 64},      {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8}, {"f8e8m0fnu", 8}, {"f4e2m1fn", 4},
    {"i2", 2},         {"i4", 4},     {"i8", 8},         {"i16", 16},      {"i32", 32},
    {"i64", 64},       {"u2", 2},     {"u4", 4},         {"u8", 8},        {"u16", 16},
    {"u32", 32},       {"u64", 64},   {"bool", 8},       {"c64", 64},      {"c128", 128},
};
static_assert(std::size(kInfo) == static_cast<size_t>(DType::C128) + 1);

unsigned bitWidth(DType type) { return kInfo[static_cast<size_t>(type)].bits; }

uint64_t storageBytes(DType type, uint64_t count) { return (count * bitWidth(type) + 7) / 8; }

llvm::StringRef dtypeName(DType type) { return kInfo[static_cast<size_t>(type)].name; }

std::optional<DType> parseDType(llvm::StringRef name) {
  for (size_t i = 0; i < std::size(kInfo); ++i)
    if (name == kInfo[i].name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace tcc
