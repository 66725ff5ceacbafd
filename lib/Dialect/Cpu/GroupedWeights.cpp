#include "tcc/Dialect/Cpu/GroupedWeights.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace tcc {

std::vector<char> packGroups(const GroupedSource &source, const GroupedShape &shape) {
  std::vector<char> bytes(shape.panels() * shape.groups * shape.groupWords() * 4);
  auto *word = reinterpret_cast<uint32_t *>(bytes.data());
  auto *number = reinterpret_cast<float *>(bytes.data());
  int64_t perWord = shape.perWord(), scales = shape.integerRows() * shape.width;
  for (int64_t panel = 0; panel < shape.panels(); ++panel)
    for (int64_t g = 0; g < shape.groups; ++g) {
      int64_t first = panel * shape.width, count = std::min(shape.width, shape.columns - first);
      for (int64_t i = 0; i < count; ++i) {
        const uint8_t *from = source.integers.data() + (first + i) * source.columnStride +
                              g * shape.group * source.kStride;
        for (int64_t k = 0; k < shape.group; ++k)
          word[k / perWord * shape.width + i] |= uint32_t(from[k * source.kStride])
                                                 << (k % perWord * shape.bits);
        int64_t at = (first + i) * shape.groups + g;
        number[scales + i] = source.scales[at];
        if (!shape.zero)
          number[scales + shape.width + i] = source.offsets[at];
      }
      word += shape.groupWords();
      number += shape.groupWords();
    }
  return bytes;
}

void unpackGroups(const char *packed, const GroupedShape &shape, int64_t columnStride,
                  int64_t kStride, float *to) {
  int64_t perWord = shape.perWord(), panelWords = shape.groups * shape.groupWords();
  uint32_t mask = (1U << shape.bits) - 1;
  auto wordAt = [&](int64_t at) {
    uint32_t word;
    std::memcpy(&word, packed + at * 4, 4);
    return word;
  };
  auto numberAt = [&](int64_t at) {
    float number;
    std::memcpy(&number, packed + at * 4, 4);
    return number;
  };
  for (int64_t column = 0; column < shape.columns; ++column)
    for (int64_t k = 0; k < shape.k(); ++k) {
      int64_t base = column / shape.width * panelWords + column % shape.width +
                     k / shape.group * shape.groupWords();
      int64_t within = k % shape.group;
      uint32_t word = wordAt(base + within / perWord * shape.width);
      float scale = numberAt(base + shape.integerRows() * shape.width);
      float offset = shape.zero ? -static_cast<float>(*shape.zero) * scale
                                : numberAt(base + (shape.integerRows() + 1) * shape.width);
      auto integer = static_cast<float>((word >> (within % perWord * shape.bits)) & mask);
      to[column * columnStride + k * kStride] = std::fma(integer, scale, offset);
    }
}

} // namespace tcc
