//===- HostMemory.cpp - Where the host program puts tensors ---------------===//
//
// The places that the plan phase chose (Dialect/Kernel/Places.h), as calls of the
// runtime: arenas, outputs, and blocks of its heap.
//
//===----------------------------------------------------------------------===//
#include "HostEmitter.h"
#include "tcc/Dialect/Kernel/Places.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

Value HostEmitter::byteSize(Value tensor, Location loc) {
  Value size = index(elementBytes(tensorType(tensor).getElementType()));
  for (Value d : extents(tensor))
    size = arith::MulIOp::create(b, size, d);
  return toI64(size);
}

/// The runtime multiplies sizes that depend on the run: they may overflow.
Value HostEmitter::allocate(Value tensor) {
  if (tensorType(tensor).hasStaticShape())
    return call("tcc_rt_alloc", pointer, {frame, byteSize(tensor, b.getLoc())});
  SmallVector<Value> words;
  for (Value d : extents(tensor))
    words.push_back(toI64(d));
  Value dims = stackWords(words.size());
  storeWords(dims, words);
  return call("tcc_rt_alloc_tensor", pointer,
              {frame, constant(elementBytes(tensorType(tensor).getElementType())),
               constant(words.size()), dims});
}

void HostEmitter::copy(Value to, Value from, Value bytes) {
  LLVM::MemcpyOp::create(b, to, from, bytes, /*isVolatile=*/false);
}

/// Offsets count in bytes times the factor, which the arena's first tensor gives.
Value HostEmitter::inDynamicArena(int64_t arena, int64_t place, Value tensor) {
  auto sizes =
      source->getParentOfType<ModuleOp>()->getAttrOfType<DenseI64ArrayAttr>(kDynamicArenasAttr);
  dynamicArenas.resize(sizes.size());
  auto &[memory, factor] = dynamicArenas[arena - 1];
  if (!memory) {
    SmallVector<Value> words;
    factor = constant(1);
    for (unsigned i = 0, e = tensorType(tensor).getRank(); i < e; ++i)
      if (tensorType(tensor).isDynamicDim(i)) {
        words.push_back(toI64(extent(tensor, i)));
        factor = arith::MulIOp::create(b, factor, words.back());
      }
    Value dims = stackWords(words.size());
    storeWords(dims, words);
    memory = call("tcc_rt_alloc_tensor", pointer,
                  {frame, constant(sizes[arena - 1]), constant(words.size()), dims});
  }
  Value offset = arith::MulIOp::create(b, factor, constant(place));
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), memory, ArrayRef<LLVM::GEPArg>{offset});
}

/// Gives the results of `launch` their memory.
void HostEmitter::place(kernel::LaunchOp launch) {
  auto places = launch->getAttrOfType<DenseI64ArrayAttr>(kPlacesAttr).asArrayRef();
  auto arenas = launch->getAttrOfType<DenseI64ArrayAttr>(kArenasAttr);
  for (auto [i, value, place] : llvm::enumerate(launch.getResults(), places)) {
    if (arenas && arenas[i] > 0) {
      pointers[value] = inDynamicArena(arenas[i], place, value);
    } else if (place >= 0) {
      pointers[value] = offsetPointer(arena, place);
    } else if (place == kDynamicPlace) {
      pointers[value] = allocate(value);
      owned.insert(value);
    } else if (int64_t input = inputOfPlace(place); input >= 0) {
      Value from = launch.getInputs()[input];
      pointers[value] = pointerOf(from);
      while (auto reshape = from.getDefiningOp<prim::ReshapeOp>())
        from = reshape.getX();
      owned.erase(from); // its block is the result's now
      owned.insert(value);
    } else {
      pointers[value] = outputStorage(kOutputPlace - place, value);
    }
  }
}

Value HostEmitter::outputStorage(int64_t output, Value tensor) {
  // The output's own shape: the tensor may be a reshape away from it.
  Value returned = source.getBody().front().getTerminator()->getOperand(output);
  bool fixed = tensorType(returned).hasStaticShape();
  SmallVector<Value> words;
  for (Value d : extents(fixed ? returned : tensor))
    words.push_back(toI64(d));
  Value dims = stackWords(words.size());
  storeWords(dims, words);
  written.insert(output);
  Value number = arith::ConstantOp::create(b, b.getI32IntegerAttr(outputNumbers[output]));
  return call("tcc_rt_output", pointer, {frame, number, dims});
}

void HostEmitter::release(Value v) {
  call("tcc_rt_free", LLVM::LLVMVoidType::get(b.getContext()), {frame, pointers[v]});
}

/// Frees what this block allocated and whose last reader is its end.
void HostEmitter::freeOwned(Block &block) {
  for (Operation &op : block)
    for (Value v : op.getResults())
      if (owned.erase(v))
        release(v);
}
