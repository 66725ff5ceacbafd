//===- GridSort.h - Keys put in order by all blocks of a launch --*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../GridPhases.h"

namespace tcc::codegen::device {

/// Lines of keys, unsigned numbers of `keyBits` bits at most. Lines of one chunk may be shorter
/// than `length`, and any number.
struct GridSortSizes {
  static constexpr unsigned threads = 256;
  int64_t lines, length;
  unsigned keyBits, own; ///< own: elements of a thread

  unsigned wordBits() const { return keyBits > 32 ? 64 : 32; }
  unsigned passes() const { return (keyBits + 7) / 8; }
  unsigned digitBits() const { return (keyBits + passes() - 1) / passes(); }
  int64_t digits() const { return int64_t(1) << digitBits(); }
  int64_t chunk() const { return int64_t(threads) * own; }
  int64_t chunks() const { return (length + chunk() - 1) / chunk(); }
  /// Few elements are spread over the machine; of many, a chunk is worth its counts.
  static unsigned ownOf(int64_t elements);
  /// Of scratch memory.
  int64_t bytes() const;
  /// Of a block's shared memory.
  int64_t sharedBytes() const;
};

/// A stable sort of each line by its keys, digit by digit from the lowest on. A block puts a
/// chunk's elements where its line's digits, and what earlier chunks say that they have, lead.
class GridSort {
public:
  /// `offset`: where its part of scratch memory begins.
  GridSort(KernelFrame &f, GridSortSizes sizes, int64_t offset);

  const GridSortSizes sizes;

  /// A number of GridSortSizes::wordBits bits.
  using Key = llvm::function_ref<mlir::Value(mlir::Value line, mlir::Value place)>;
  /// `beside`(item) is called by all threads for each of lines * chunks items of the first phase.
  void run(GridPhases &phases, Key key, llvm::function_ref<void(mlir::Value item)> beside);
  /// By one block: a line of one chunk that has `elements`, which then lie in shared memory. Needs
  /// no scratch memory.
  void runLine(mlir::Value line, mlir::Value elements, Key key);
  /// Element `i` of that line in order: its key, and where it was (i32).
  mlir::Value keyInBlock(mlir::Value i);
  mlir::Value placeInBlock(mlir::Value i);

  /// Element `i` of a line when all are in order: its key, and where it was (i32).
  mlir::Value sortedKey(mlir::Value line, mlir::Value i);
  mlir::Value sortedPlace(mlir::Value line, mlir::Value i);

private:
  struct Element {
    mlir::Value key, place, inside;
  };
  mlir::Value word(int64_t v);
  mlir::Value keyAt(unsigned buffer, mlir::Value i);
  mlir::Value placeAt(unsigned buffer, mlir::Value i);
  mlir::Value countAt(unsigned pass, mlir::Value line, mlir::Value chunk, mlir::Value digit);
  mlir::Value totalAt(unsigned pass, mlir::Value line, mlir::Value digit);
  mlir::Value digitOf(mlir::Value key, unsigned pass);
  llvm::SmallVector<Element> elements(unsigned pass, mlir::Value line, mlir::Value chunk, Key key);
  std::pair<mlir::Value, mlir::Value> scanned(mlir::Value v);
  mlir::Value beforeInBlock(mlir::Value v);
  void clear(mlir::Value item);
  void count(mlir::Value line, mlir::Value chunk, Key key);
  void tell(mlir::Value place, mlir::Value state, mlir::Value number);
  mlir::Value lookBack(unsigned pass, mlir::Value line, mlir::Value chunk, mlir::Value digit,
                       mlir::Value asks);
  void place(unsigned pass, mlir::Value line, mlir::Value chunk, Key key);
  bool alone() const { return sizes.chunks() == 1; }

  KernelFrame &f;
  mlir::ImplicitLocOpBuilder &b;
  int64_t offset, buffers, counts, totals; ///< bytes of scratch memory before each
  mlir::Type wordType;
  mlir::Value length; ///< of a line
  mlir::Value lane, warp, ranks, bases, keys, places, warpTotals;
};

} // namespace tcc::codegen::device
