// What layout packs, everybody else reads through prim::StorageLayout: packed and unpacked again,
// weights are what they were.
#include "mlir/IR/MLIRContext.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include <catch2/catch.hpp>
#include <numeric>

using namespace tcc;
using Shape = llvm::ArrayRef<int64_t>;

namespace {

struct Context : mlir::MLIRContext {
  Context() : MLIRContext(Threading::DISABLED) { loadDialect<cpu::CpuDialect>(); }
};

std::vector<char> counting(Shape shape) {
  std::vector<char> values(mlir::ShapedType::getNumElements(shape));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

/// What is left of weights of `shape` after packing and unpacking.
std::vector<char> thereAndBack(cpu::PanelsAttr panels, Shape shape) {
  std::vector<char> weights = counting(shape), back(weights.size());
  auto packed = packPanels(weights.data(), 1, cpu::packingOf(panels, shape));
  CHECK(int64_t(packed.size()) == mlir::ShapedType::getNumElements(panels.getStorageShape(shape)));
  panels.unpack(shape, 1, packed.data(), back.data());
  return back;
}

} // namespace

TEST_CASE("weights in panels are read in order") {
  Context context;
  auto panels = [&](Shape k, int64_t columns, int64_t width, int64_t groups = 1, int64_t bytes = 1,
                    int64_t run = 0, int64_t sums = 0) {
    return cpu::PanelsAttr::get(&context, k, columns, width, groups, bytes, run, sums);
  };
  auto check = [&](cpu::PanelsAttr attr, Shape shape, Shape stored) {
    CHECK(Shape(attr.getStorageShape(shape)) == stored);
    CHECK(thereAndBack(attr, shape) == counting(shape));
  };
  check(panels({0}, 1, 24), {12, 40}, {1, 2, 12, 24});
  check(panels({1}, 0, 8), {40, 12}, {1, 5, 12, 8});
  // [filters, channels, window]: taps before channels, of two groups and of all in one.
  check(panels({2, 3, 1}, 0, 4, 2), {6, 3, 2, 2}, {2, 1, 12, 4});
  check(panels({2, 1}, 0, 8), {16, 1, 3}, {1, 2, 3, 8});
  // Bytes: all of k fills steps, or each tap does; the last step of a panel holds sums.
  check(panels({0}, 1, 8, 1, 4), {13, 9}, {1, 2, 4, 8, 4});
  check(panels({2, 3, 1}, 0, 4, 1, 4, 3, -128), {5, 3, 2, 1}, {1, 2, 3, 4, 4});
}

TEST_CASE("transformed weights are transformed back") {
  Context context;
  std::vector<int64_t> shape = {10, 3, 3, 3};
  auto tiles = cpu::WinogradAttr::get(&context, 8);
  PanelShape stored{2, kWinogradPoints, 3, 8};
  CHECK(Shape(tiles.getStorageShape(shape)) == Shape(stored.dims()));
  std::vector<float> weights(270), packed(stored.elements()), back(270);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = float(i % 17) / 4 - 2;
  packWinograd(weights.data(), 10, stored, 0, 2, packed.data());
  tiles.unpack(shape, 4, reinterpret_cast<char *>(packed.data()),
               reinterpret_cast<char *>(back.data()));
  for (size_t i = 0; i < weights.size(); ++i)
    CHECK(back[i] == Approx(weights[i]).margin(1e-6));
}
