//===- ShareKernels.cpp - One kernel for many slices ----------------------===//
//
// A tensor that is cut into a thousand pieces gives a thousand launches that differ
// only in where their slice starts, and each would be compiled by itself. Where many
// launches are equal but for the starts of their slices, those starts become operands
// of the launches: extents are known as before, and one kernel does them all.
//
// A few kernels with starts of their own are left as they are: a known start may be
// folded into an address, or tell that rows are aligned.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Fusion/Fusion.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <set>

namespace tcc {
#define GEN_PASS_DECL_SHAREKERNELSPASS
#define GEN_PASS_DEF_SHAREKERNELSPASS
#include "tcc/Fusion/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

/// A launch with its slices and their starts, one after the other; INT64_MIN where a
/// start is an operand already.
struct Candidate {
  kernel::LaunchOp launch;
  SmallVector<prim::SliceOp> slices;
  SmallVector<int64_t> starts;
};

class ShareKernelsPass : public tcc::impl::ShareKernelsPassBase<ShareKernelsPass> {
public:
  void runOnOperation() override;
};

} // namespace

/// What the launch does, whatever the starts.
static std::string textWithoutStarts(Candidate &c) {
  SmallVector<DenseI64ArrayAttr> kept;
  Builder b(c.launch.getContext());
  for (prim::SliceOp slice : c.slices) {
    kept.push_back(slice.getStaticStartsAttr());
    SmallVector<int64_t> none(slice.getStaticStarts());
    for (int64_t &start : none)
      if (start != ShapedType::kDynamic)
        start = 0;
    slice.setStaticStartsAttr(b.getDenseI64ArrayAttr(none));
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  c.launch->print(os, OpPrintingFlags().useLocalScope().printGenericOpForm());
  for (auto [slice, starts] : llvm::zip(c.slices, kept))
    slice.setStaticStartsAttr(starts);
  return text;
}

/// Makes operands of the starts that `varies`.
static void passStarts(Candidate &c, ArrayRef<bool> varies) {
  OpBuilder outside(c.launch);
  Block *body = &c.launch.getBody().front();
  size_t next = 0;
  for (prim::SliceOp slice : c.slices) {
    SmallVector<int64_t> known(slice.getStaticStarts());
    SmallVector<Value> given;
    auto old = slice.getStarts().begin();
    for (int64_t &start : known) {
      bool vary = varies[next++];
      if (start == ShapedType::kDynamic) {
        given.push_back(*old++);
      } else if (vary) {
        Value v = arith::ConstantIndexOp::create(outside, slice.getLoc(), start);
        c.launch.getInputsMutable().append(v);
        given.push_back(body->addArgument(v.getType(), slice.getLoc()));
        start = ShapedType::kDynamic;
      }
    }
    slice.getStartsMutable().assign(given);
    slice.setStaticStarts(known);
  }
}

/// Makes one kernel of `many` or more that differ in starts alone.
static void share(MutableArrayRef<Candidate> alike, unsigned many) {
  std::set<ArrayRef<int64_t>, bool (*)(ArrayRef<int64_t>, ArrayRef<int64_t>)> kernels(
      [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
      });
  for (const Candidate &c : alike)
    kernels.insert(c.starts);
  if (kernels.size() < many)
    return;
  SmallVector<bool> varies(alike.front().starts.size(), false);
  for (const Candidate &c : alike)
    for (size_t i = 0; i < varies.size(); ++i)
      varies[i] |= c.starts[i] != alike.front().starts[i];
  for (Candidate &c : alike)
    passStarts(c, varies);
}

void ShareKernelsPass::runOnOperation() {
  llvm::MapVector<StringRef, SmallVector<Candidate>> byText;
  llvm::StringSet<> texts;
  getOperation().walk([&](kernel::LaunchOp launch) {
    if (launch.getKind() != kernel::KernelKind::Loop)
      return;
    Candidate c{launch, {}, {}};
    launch.walk([&](prim::SliceOp slice) {
      c.slices.push_back(slice);
      llvm::append_range(c.starts, slice.getStaticStarts());
    });
    if (c.slices.empty())
      return;
    StringRef text = texts.insert(textWithoutStarts(c)).first->getKey();
    byText[text].push_back(std::move(c));
  });
  for (auto &[text, alike] : byText)
    share(alike, many);
}

std::unique_ptr<Pass> tcc::createShareKernelsPass() { return std::make_unique<ShareKernelsPass>(); }
