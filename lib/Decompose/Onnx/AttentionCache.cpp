#include "Decompose/Onnx/AttentionCache.h"
#include "Decompose/Checks.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

Value tcc::writeTokens(PrimBuilder &b, Value cache, Value at, Value fresh) {
  requireInRange(b, at, b.dim(cache, 2), IndexRange::positions);
  at = b.broadcastTo(b.unsqueeze(at, {1, 3}), b.dims(fresh));
  return prim::ScatterAlongOp::create(b.builder(), b.location(), cache.getType(),
                                      prim::ScatterKind::assign, cache, at, fresh, 2);
}

FailureOr<AttentionCache> AttentionCache::read(NodeContext &c, const Operands &operands,
                                               bool shares) {
  AttentionCache cache(c.b);
  if (c.has(operands.width) && !c.has(operands.beams)) {
    auto width = hostInt(c, operands.width);
    if (failed(width))
      return failure();
    requireSame(c.b, *width, c.b.dim(1), "the beam_width without a cache_indirection and one beam");
  }

  cache.shares = shares;
  if (!shares) {
    if (c.has(operands.length) || c.has(operands.beams))
      return c.fail("has a past_sequence_length or a cache_indirection without "
                    "'past_present_share_buffer' and a past");
    return cache;
  }
  if (!c.has(operands.length))
    return c.fail("needs a past_sequence_length for a cache that it shares");
  auto length = hostInt(c, operands.length);
  if (failed(length))
    return failure();
  cache.length = *length;
  if (c.has(operands.beams)) {
    cache.beams = c.in(operands.beams);
    if (c.b.rank(cache.beams) != 3)
      return c.fail("needs a cache_indirection [batch, beams, tokens]");
  }
  return cache;
}

Value AttentionCache::append(Value past, Value &fresh) const {
  if (b.rank(past) != 4) {
    b.fault("a cache of rank " + llvm::Twine(b.rank(past)) + ", not [batch, heads, tokens, size]");
    return fresh;
  }
  if (!shares)
    return fresh = b.concat({past, fresh}, 2);
  Type index = b.builder().getI64Type();
  Dim count = b.dim(fresh, 2);
  requireAtMost(b, b.addDims(length, count), b.dim(past, 2),
                "the tokens and the places of a cache");
  Value at = b.add(b.iota({count}, 0, index), scalarOf(b, length, index));
  Value present = writeTokens(b, past, b.unsqueeze(at, {0}), fresh);
  fresh = b.sliceAxis(present, 2, b.dim(0), b.addDims(length, count));
  if (beams)
    fresh = ofBeams(fresh);
  return present;
}

/// Rows are [batch * beams]; those of the new tokens are their own.
Value AttentionCache::ofBeams(Value held) const {
  Type index = b.builder().getI64Type();
  Dim rows = b.dim(held, 0), tokens = b.dim(held, 2), width = b.dim(beams, 1);
  requireSame(b, b.mulDims(b.dim(beams, 0), width), rows, "the cache_indirection and the cache");
  requireAtMost(b, tokens, b.dim(beams, 2), "the tokens and the cache_indirection");
  Value from = b.cast(b.reshape(b.sliceAxis(beams, 2, b.dim(0), tokens), {rows, tokens}), index);
  Value row = b.unsqueeze(b.iota({rows}, 0, index), {1}), size = scalarOf(b, width, index);
  Value token = b.unsqueeze(b.iota({tokens}, 0, index), {0});
  from = b.add(b.mul(b.div(row, size), size), from);
  from = b.select(b.compare(P::lt, token, scalarOf(b, length, index)), from, row);
  requireInRange(b, from, rows, IndexRange::positions);
  return b.takeAlong(held, b.broadcastTo(b.unsqueeze(from, {1, 3}), b.dims(held)), 0);
}
