// Products in large squares of a thread, whose slices come by registers or by copies, on the
// simulated device against the reference interpreter.
#include "KernelTexts.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace tcc;
using namespace tcc::test;
using codegen::device::Schedule;
using reference::Tensor;

TEST_CASE("products: what is multiplied next is read ahead, brought by registers or by copies") {
  struct Way {
    unsigned rows, columns, depth, threads, across, parts, split, stages;
  };
  struct Sizes {
    int64_t m, n, k;
    bool leftAcross, rightAcross; ///< neighbours in memory differ in rows, or columns
    const char *type = "f32";
  };
  for (const Sizes &z : {Sizes{70, 150, 130, false, false},
                         {132, 136, 96, false, true},
                         {13, 140, 300, true, true},
                         {129, 33, 77, true, false},
                         {70, 68, 130, false, false, "f64"},
                         {33, 129, 64, true, true, "f64"}}) {
    std::string t = z.type;
    auto matrix = [&](int64_t own, bool across) {
      std::string o = std::to_string(own), k = std::to_string(z.k);
      return "tensor<2x" + (across ? k + "x" + o : o + "x" + k) + "x" + t + ">";
    };
    auto shape = [&](int64_t own, bool across) {
      return across ? llvm::SmallVector<int64_t>{2, z.k, own}
                    : llvm::SmallVector<int64_t>{2, own, z.k};
    };
    std::string l = matrix(z.m, z.leftAcross), r = matrix(z.n, z.rightAcross),
                y = "tensor<2x" + std::to_string(z.m) + "x" + std::to_string(z.n) + "x" + t + ">";
    std::string text =
        function("%a: " + l + ", %b: " + r, y,
                 std::string("%0 = prim.dot %a, %b batch [0] x [0] contract [") +
                     (z.leftAcross ? "1" : "2") + "] x [" + (z.rightAcross ? "1" : "2") + "] : (" +
                     l + ", " + r + ") -> " + y + "\n%y = prim.neg %0 : (" + y + ") -> " + y);
    DType d = *parseDType(t);
    unsigned bytes = d == DType::F64 ? 8 : 4;
    for (const Way &w : {Way{128, 128, 8, 128, 16, 1, 1, 0},
                         {128, 128, 8, 128, 8, 1, 2, 4},
                         {64, 64, 16, 64, 8, 2, 1, 3},
                         {64, 64, 8, 128, 16, 1, 3, 0},
                         {32, 64, 16, 32, 8, 4, 2, 3},
                         {64, 128, 16, 128, 16, 1, 1, 3}}) {
      CAPTURE(text, w.rows, w.columns, w.threads, w.parts, w.split, w.stages);
      checkAs(text, {random(d, shape(z.m, z.leftAcross)), random(d, shape(z.n, z.rightAcross))},
              codegen::device::Form::Product, [&](MLIRContext *context, Schedule s) {
                unsigned tiles =
                    2 * llvm::divideCeil(z.m, w.rows) * llvm::divideCeil(z.n, w.columns);
                unsigned sums = w.rows * w.columns * bytes;
                unsigned slice = w.depth * (w.rows + w.columns + 8) * bytes;
                if (bytes == 8) // whichever way it lies
                  slice = (w.rows + w.columns) * (w.depth + 4) * bytes + w.depth * 8 * bytes;
                unsigned shared = w.stages ? std::max(w.parts * w.stages * slice,
                                                      w.parts > 1 ? w.parts * sums : 0)
                                           : 0;
                return Schedule::get(
                    context, s.getForm(), w.threads * w.parts, 1, w.parts, w.across, 0, w.rows,
                    w.columns, w.depth, shared, 0, w.split,
                    w.split > 1 ? codegen::device::kCounterBytes + tiles * w.split * sums : 0,
                    s.getIndexBits(), s.getNextEarly());
              });
    }
  }
}
