#include "SampleInputs.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringMap.h"
#include <random>

using namespace llvm;
using namespace tcc;
using mlir::cast;
using mlir::dyn_cast_or_null;
using reference::Tensor;

ArrayRef<SampleSizes> tcc::sampleSizes() {
  static constexpr SampleSizes sizes[] = {{2, 64}, {2, 16},  {1, 64},  {1, 16},  {2, 8},
                                          {1, 1},  {1, 128}, {1, 224}, {2, 3},   {1, 4},
                                          {2, 2},  {1, 32},  {1, 256}, {1, 640}, {64, 64}};
  return sizes;
}

namespace {

class ShapeChooser {
public:
  ShapeChooser(mlir::func::FuncOp function, SampleSizes sizes)
      : ranges(function->getAttrOfType<mlir::DictionaryAttr>(graph::kRangesAttr)), sizes(sizes) {}

  SmallVector<int64_t> shape(mlir::RankedTensorType type, mlir::ArrayAttr names) {
    SmallVector<int64_t> shape(type.getShape());
    for (auto [axis, dim] : enumerate(shape))
      if (mlir::ShapedType::isDynamic(dim)) {
        auto name = names && axis < names.size() ? dyn_cast_or_null<mlir::StringAttr>(names[axis])
                                                 : mlir::StringAttr();
        int64_t size = axis == 0 && shape.size() > 1 ? sizes.leading : sizes.other;
        dim = name && name != "?" ? symbol(name.getValue(), size) : size;
      }
    return shape;
  }

private:
  int64_t symbol(StringRef name, int64_t size) {
    if (auto range = ranges ? ranges.getAs<mlir::DenseI64ArrayAttr>(name) : nullptr)
      if (range.size() == 2)
        size = std::max(range[0], std::min(range[1], size));
    return symbols.try_emplace(name, size).first->second;
  }

  mlir::DictionaryAttr ranges;
  SampleSizes sizes;
  StringMap<int64_t> symbols;
};

} // namespace

static Expected<Tensor> sample(DType type, ArrayRef<int64_t> shape, unsigned stream) {
  std::optional<int64_t> count = reference::elementCount(shape);
  constexpr int64_t most = int64_t(1) << 28;
  if (!count || *count > most)
    return userError("an input of shape " + reference::shapeText(shape) +
                     " is too large to verify with");
  std::mt19937_64 random(stream + 1); // the standard says what it gives; distributions differ
  std::vector<double> values(*count);
  bool real = isFloat(type) || isComplex(type);
  for (double &value : values)
    value = real ? static_cast<double>(random() >> 40) * 0x1p-23 - 1
                 : static_cast<double>(random() >> 63);
  return Tensor::ofReals(type, shape, values);
}

Expected<std::vector<Tensor>> tcc::sampleInputs(mlir::func::FuncOp function, SampleSizes sizes) {
  ShapeChooser chooser(function, sizes);
  std::vector<Tensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    auto names = function.getArgAttrOfType<mlir::ArrayAttr>(i, graph::kDimsAttr);
    Expected<Tensor> input =
        sample(*prim::dtypeOf(type.getElementType()), chooser.shape(type, names), i);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}
