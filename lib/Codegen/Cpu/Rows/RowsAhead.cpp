//===- RowsAhead.cpp - The next row, fetched in time ----------------------===//
#include "RowsAhead.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

RowsAhead::RowsAhead(KernelFrame &f, Value space, unsigned rows, unsigned loops, bool pastCaches)
    : f(f) {
  // Nearer than this the line is asked for before its time has come.
  constexpr int64_t kLeastDistance = 1024;
  // Lines of shorter rows are asked for when the row before still waits for its own.
  constexpr int64_t kShortBytes = 1536;
  RankedTensorType type = tensorType(space);
  if (loops < 2 || !type.hasStaticShape() || unsigned(type.getRank()) == rows)
    return;
  int64_t points = 1, all = type.getNumElements(), rowBytes = 0, allBytes = 0;
  for (int64_t extent : type.getShape().drop_front(rows))
    points *= extent;
  auto add = [&](Type value, const Memory &memory, bool writes) {
    auto tensor = dyn_cast<RankedTensorType>(value);
    if (!tensor || tensor.getShape() != type.getShape())
      return;
    int64_t bytes = points * elementBytes(tensor.getElementType());
    if (bytes < kShortBytes)
      return;
    rowBytes += bytes;
    allBytes += all * elementBytes(tensor.getElementType());
    int64_t distance = llvm::divideCeil(kLeastDistance, bytes) * bytes;
    // Results come after all stages, whose last loop is the one before.
    streams.push_back(
        {memory, writes ? loops - 2 : std::max(1u, loops - 2), writes ? 0 : distance, writes});
  };
  for (auto [outer, inner] :
       llvm::zip_equal(f.launch.getInputs(), f.launch.getBody().getArguments()))
    if (const Memory *memory = f.e.memoryOf(inner))
      add(outer.getType(), *memory, /*writes=*/false);
  if (streams.empty())
    return;
  for (auto [result, memory] : llvm::zip_equal(f.launch.getResults(), f.results))
    add(result.getType(), memory, /*writes=*/true);
  // What the caches hold needs no fetching, and what they cannot hold is gone before its turn.
  // Loops that compute little have no time in which much comes, nor has a second one that stores.
  bool computes = llvm::any_of(f.launch.getBody().front(),
                               [](Operation &op) { return op.hasTrait<prim::VeryCostly>(); });
  int64_t longest = computes ? f.cpu.l2Bytes / 2 : f.cpu.l1Bytes / 2;
  if (allBytes <= f.cpu.l2Bytes || rowBytes > longest || all < 2 * points ||
      (!computes && loops == 2 && streams.back().writes))
    streams.clear();
  if (pastCaches)
    llvm::erase_if(streams, [](const Stream &stream) { return stream.writes; });
  locality = 2 * rowBytes > f.cpu.l1Bytes ? kInL2 : kInL1;
}

void RowsAhead::stream(const Memory &memory, int64_t distance, unsigned loop, bool writes) {
  streams.push_back({memory, loop, distance, writes});
}

void RowsAhead::fetch(unsigned loop, ArrayRef<Coord> at) {
  if (f.e.lanes() == 1)
    return;
  for (const Stream &stream : streams) {
    if (stream.loop != loop)
      continue;
    Value linear = at.front().base;
    for (auto [extent, coord] :
         llvm::zip_equal(ArrayRef(stream.memory.extents).drop_front(), at.drop_front()))
      linear = f.e.addIndex(f.e.mulIndex(linear, extent), coord.base);
    int64_t element = elementBytes(stream.memory.elementType), lanes = f.e.lanes();
    Type byte = f.b.getI8Type(), pointer = stream.memory.pointer.getType();
    linear = f.e.mulIndex(linear, f.e.index(element));
    for (int64_t line = 0; line < lanes * element; line += f.cpu.lineBytes) {
      Value there = f.e.addIndex(linear, f.e.index(stream.distance + line));
      there = arith::IndexCastOp::create(f.b, f.b.getI64Type(), there);
      Value place = LLVM::GEPOp::create(f.b, pointer, byte, stream.memory.pointer, there);
      LLVM::Prefetch::create(f.b, place, stream.writes, locality, /*cache=*/1);
    }
  }
}
