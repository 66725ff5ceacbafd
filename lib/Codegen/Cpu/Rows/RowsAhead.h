//===- RowsAhead.h - The next row, fetched in time ---------------*- C++ -*-===//
//
// Internal to lib/Codegen/Cpu. A row that several loops pass over comes from memory in the first of
// them and goes there in the last, both of which compute little: they wait, and what computes much
// leaves memory idle. The hardware does not help across these turns. So a loop after the first
// fetches the lines of the next row, and the last loop before the stores those that the row's
// results go to.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "../KernelFrame.h"

namespace tcc::codegen {

class RowsAhead {
public:
  /// `space`: whose rows these are, along the axes after the first `rows`; `loops`: over a row;
  /// `pastCaches`: results are stored so.
  RowsAhead(KernelFrame &f, mlir::Value space, unsigned rows, unsigned loops, bool pastCaches);
  /// Fetches what one loop reads of `memory`, which has the space's shape, or `writes` there, so
  /// many bytes ahead.
  void stream(const Memory &memory, int64_t distance, unsigned loop = 0, bool writes = false);
  /// In one of the loops over a row, at the lanes from `at` on.
  void fetch(unsigned loop, llvm::ArrayRef<Coord> at);

private:
  struct Stream {
    Memory memory;
    unsigned loop;    ///< in which it is fetched
    int64_t distance; ///< bytes
    bool writes;
  };
  KernelFrame &f;
  unsigned locality = kInL2;
  static constexpr unsigned kInL1 = 3, kInL2 = 2;
  llvm::SmallVector<Stream> streams;
};

} // namespace tcc::codegen
