//===- StridedCopy.cpp - Moving elements between strided layouts ---------===//
//
// Axes of extent 1 go, axes that both sides step through as one are merged, and
// what is left is ordered so that the destination is written as sequentially as
// can be. The innermost loop is then a memcpy where both strides are 1; where
// the source's unit stride lies on another axis (a transpose), the two axes are
// walked in square tiles, so that every cache line read is used up while it is
// still in the cache.
//
//===----------------------------------------------------------------------===//
#include "Reference/StridedCopy.h"
#include "Reference/Wide.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>

namespace tcc::reference {

namespace {

struct Axis {
  int64_t extent, from, to; ///< strides in elements
};
using Axes = llvm::SmallVector<Axis, 6>;

Axes normalised(llvm::ArrayRef<int64_t> shape, const Strides &from, const Strides &to) {
  Axes axes;
  for (auto [extent, f, t] : llvm::zip_equal(shape, from, to))
    if (extent != 1)
      axes.push_back({extent, f, t});
  // Strides of the destination differ: no two elements share a place.
  llvm::sort(axes, [](const Axis &a, const Axis &b) { return std::abs(a.to) > std::abs(b.to); });
  Axes merged;
  for (const Axis &axis : axes) {
    if (!merged.empty() && merged.back().from == axis.from * axis.extent &&
        merged.back().to == axis.to * axis.extent)
      merged.back() = {merged.back().extent * axis.extent, axis.from, axis.to};
    else
      merged.push_back(axis);
  }
  return merged;
}

template <typename T> void copyRow(const Axis &axis, const T *from, T *to) {
  if (axis.to == 1 && axis.from == 1)
    std::memcpy(to, from, axis.extent * sizeof(T));
  else if (axis.to == 1 && axis.from == 0)
    std::fill_n(to, axis.extent, *from);
  else
    for (int64_t i = 0; i < axis.extent; ++i)
      to[i * axis.to] = from[i * axis.from];
}

template <typename T> void copyTiled(const Axis &outer, const Axis &inner, const T *from, T *to) {
  constexpr int64_t tile = 32;
  for (int64_t i0 = 0; i0 < outer.extent; i0 += tile)
    for (int64_t j0 = 0; j0 < inner.extent; j0 += tile)
      for (int64_t i = i0, ie = std::min(i0 + tile, outer.extent); i < ie; ++i)
        for (int64_t j = j0, je = std::min(j0 + tile, inner.extent); j < je; ++j)
          to[i * outer.to + j * inner.to] = from[i * outer.from + j * inner.from];
}

/// The axes after `at`, at a given position of those before.
template <typename T> void copyAxes(llvm::ArrayRef<Axis> axes, const T *from, T *to, bool tiled) {
  if (axes.empty())
    *to = *from;
  else if (axes.size() == 1)
    copyRow(axes[0], from, to);
  else if (axes.size() == 2 && tiled)
    copyTiled(axes[0], axes[1], from, to);
  else
    for (int64_t i = 0; i < axes[0].extent; ++i)
      copyAxes(axes.drop_front(), from + i * axes[0].from, to + i * axes[0].to, tiled);
}

} // namespace

Strides stridesOf(llvm::ArrayRef<int64_t> shape) {
  Strides strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

void copyStrided(llvm::ArrayRef<int64_t> shape, unsigned bytes, const ConstLayout &from,
                 const Layout &to) {
  if (llvm::is_contained(shape, 0))
    return;
  Axes axes = normalised(shape, from.strides, to.strides);
  // The axis along which the source is sequential goes next to the innermost.
  bool tiled = axes.size() >= 2 && std::abs(axes.back().from) != 1 && axes.back().from != 0;
  if (tiled) {
    auto *unit = llvm::find_if(axes, [](const Axis &a) { return std::abs(a.from) == 1; });
    tiled = unit != axes.end();
    if (tiled)
      std::rotate(unit, unit + 1, axes.end() - 1);
  }
  withBytes(bytes, [&]<typename T>() {
    copyAxes<T>(axes, reinterpret_cast<const T *>(from.base), reinterpret_cast<T *>(to.base),
                tiled);
  });
}

void fill(char *to, int64_t count, const char *value, unsigned bytes) {
  withBytes(bytes, [&]<typename T>() {
    T element;
    std::memcpy(&element, value, sizeof(T));
    std::fill_n(reinterpret_cast<T *>(to), count, element);
  });
}

} // namespace tcc::reference
