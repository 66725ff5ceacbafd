//===- OperandForms.cpp - Operands that must be vectors or scalars -------------===//
//
// Shapes, axes, scales and counts are operands of rank 1 or 0. Rules read their
// elements in row-major order, so that a matrix would pass for the vector of its
// elements; ONNX's own inference looks at some of them and trusts the rest. Here
// every operator is told at once.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/OperandForms.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace tcc;

namespace {

enum class Form {
  Vector,
  Axes,  ///< a vector, or the one axis alone
  Scalar ///< or a vector of one element
};

struct OperandForm {
  StringRef op;
  size_t first, last; ///< operands, counted from 0
  Form form;
  int64_t since = 0;
};

} // namespace

static constexpr OperandForm kForms[] = {
    {"AffineGrid", 1, 1, Form::Vector},
    {"CenterCropPad", 1, 1, Form::Vector},
    {"Col2Im", 1, 2, Form::Vector},
    {"Compress", 1, 1, Form::Vector},
    {"ConstantOfShape", 0, 0, Form::Vector},
    {"CumSum", 1, 1, Form::Scalar},
    {"DFT", 1, 2, Form::Scalar},
    {"Expand", 1, 1, Form::Vector},
    {"MaxUnpool", 2, 2, Form::Vector},
    {"OneHot", 1, 1, Form::Scalar},
    {"OneHot", 2, 2, Form::Vector},
    {"Pad", 1, 1, Form::Vector, 11},
    {"Pad", 2, 2, Form::Scalar, 11},
    {"Pad", 3, 3, Form::Vector, 18},
    {"Range", 0, 2, Form::Scalar},
    {"ReduceL1", 1, 1, Form::Axes},
    {"ReduceL2", 1, 1, Form::Axes},
    {"ReduceLogSum", 1, 1, Form::Axes},
    {"ReduceLogSumExp", 1, 1, Form::Axes},
    {"ReduceMax", 1, 1, Form::Axes},
    {"ReduceMean", 1, 1, Form::Axes},
    {"ReduceMin", 1, 1, Form::Axes},
    {"ReduceProd", 1, 1, Form::Axes},
    {"ReduceSum", 1, 1, Form::Axes},
    {"ReduceSumSquare", 1, 1, Form::Axes},
    {"Reshape", 1, 1, Form::Vector},
    {"Resize", 1, 1, Form::Vector, 10},
    {"Resize", 2, 3, Form::Vector, 11},
    {"STFT", 1, 1, Form::Scalar},
    {"STFT", 3, 3, Form::Scalar},
    {"Slice", 1, 4, Form::Vector, 10},
    {"Split", 1, 1, Form::Vector},
    {"SplitToSequence", 1, 1, Form::Axes},
    {"Squeeze", 1, 1, Form::Axes},
    {"Tile", 1, 1, Form::Vector, 6},
    {"TopK", 1, 1, Form::Vector, 10},
    {"Trilu", 1, 1, Form::Scalar},
    {"Unsqueeze", 1, 1, Form::Axes},
    {"Upsample", 1, 1, Form::Vector, 9},
};

static bool hasForm(RankedTensorType type, Form form) {
  switch (form) {
  case Form::Vector:
    return type.getRank() == 1;
  case Form::Axes:
    return type.getRank() <= 1;
  case Form::Scalar:
    return type.getRank() == 0 ||
           (type.getRank() == 1 && (type.isDynamicDim(0) || type.getDimSize(0) == 1));
  }
  return false;
}

LogicalResult tcc::checkOperandForms(NodeContext &c) {
  if (c.node.getDomain() != "onnx")
    return success();
  for (const OperandForm &form : kForms) {
    if (form.op != c.node.getTarget() || c.version() < form.since)
      continue;
    for (size_t i = form.first; i <= form.last; ++i)
      if (Lowered operand = c.lowered(i); operand.kind == Lowered::Kind::Tensor)
        if (RankedTensorType type = c.b.type(operand.value); !hasForm(type, form.form))
          return c.fail("operand " + llvm::Twine(i) + " has rank " + llvm::Twine(type.getRank()) +
                        " and must be a " +
                        (form.form == Form::Scalar ? "scalar or have one element" : "vector"));
  }
  return success();
}

Dim tcc::extentOf(PrimBuilder &b, Value size) {
  constexpr double kMost = 1ull << 53; // every whole number up to it has a double
  if (auto constant = b.constantFloats(size)) {
    double count = (*constant)[0];
    if (std::abs(count) <= kMost)
      return b.dim(std::max<int64_t>(static_cast<int64_t>(count), 0));
    b.fault(llvm::formatv("would give an extent of {0}", count).str());
    return b.dim(0);
  }
  Value fits = b.compare(prim::ComparePredicate::le, b.abs(size), kMost);
  b.check(b.readElements(fits)[0], "an extent is no number or larger than any tensor");
  return b.maxDims(b.readElements(b.cast(size, b.builder().getI64Type()))[0], b.dim(0));
}
