//===- Shapes.cpp - Types and symbolic dims ------------------------------===//
//
// A size is a number, a symbol or an expression. Symbols keep their names as dims; those that the
// user fixed become numbers everywhere at once, so that a type never contradicts another. Ranges
// of what stays open go to the signature.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Shapes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tcc::torchexport {

std::optional<uint64_t> tensorBytes(DType dtype, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  // A zero anywhere makes the tensor empty, however large the other dims are.
  if (llvm::is_contained(shape, 0))
    return 0;
  for (int64_t dim : shape)
    if (llvm::MulOverflow<int64_t>(count, dim, count) || count > INT64_MAX / 128)
      return std::nullopt;
  return storageBytes(dtype, count);
}

const SymExpr *Shapes::parsed(StringRef expr) {
  auto [it, isNew] = expressions.try_emplace(expr);
  if (isNew)
    it->second = SymExpr::parse(expr);
  return it->second ? &*it->second : nullptr;
}

llvm::Expected<int64_t> Shapes::size(const SymInt &size) {
  int64_t value = ShapedType::kDynamic;
  if (size.value) {
    value = *size.value;
  } else if (const SymExpr *expr = parsed(size.expr)) {
    value = expr->evaluate([&](StringRef symbol) { return fixedValue(symbol); })
                .value_or(ShapedType::kDynamic);
  }
  if (value < 0 && value != ShapedType::kDynamic)
    return userError("a tensor has the size " + llvm::Twine(value));
  return value;
}

llvm::Expected<RankedTensorType> Shapes::type(const TensorMeta &meta) {
  SmallVector<int64_t> shape, known;
  for (const SymInt &dim : meta.sizes) {
    auto value = size(dim);
    if (!value)
      return value.takeError();
    shape.push_back(*value);
    if (!ShapedType::isDynamic(*value))
      known.push_back(*value);
  }
  if (!tensorBytes(meta.dtype, known))
    return userError("a tensor's size overflows");
  return RankedTensorType::get(shape, prim::elementType(builder.getContext(), meta.dtype));
}

llvm::Expected<ArrayAttr> Shapes::dimNames(const TensorMeta &meta) {
  SmallVector<Attribute> names;
  for (const SymInt &dim : meta.sizes) {
    auto value = size(dim);
    if (!value)
      return value.takeError();
    const SymExpr *expr = dim.value ? nullptr : parsed(dim.expr);
    if (!ShapedType::isDynamic(*value))
      names.push_back(builder.getI64IntegerAttr(*value));
    else
      names.push_back(builder.getStringAttr(expr ? expr->str() : printable(dim.expr)));
  }
  return builder.getArrayAttr(names);
}

std::optional<int64_t> Shapes::fixedValue(StringRef symbol) const {
  auto it = fixed.find(symbol);
  return it == fixed.end() ? std::nullopt : std::optional(it->second);
}

llvm::Error Shapes::fix(StringRef symbol, int64_t value, StringRef because) {
  auto [it, isNew] = fixed.try_emplace(symbol, value);
  if (!isNew && it->second != value)
    return userError("dim '" + printable(symbol) + "' cannot be both " + llvm::Twine(it->second) +
                     " and " + llvm::Twine(value) + " (" + because + ")");
  Bounds range = bounds.lookup(symbol);
  if (value < range.min || value > range.max)
    return userError("dim '" + printable(symbol) + "' is " + llvm::Twine(value) + " by " + because +
                     ", but the model was exported for " + llvm::Twine(range.min) + ".." +
                     llvm::Twine(range.max));
  return llvm::Error::success();
}

llvm::Error Shapes::bindInput(const Input &input, ArrayRef<ShapeDim> dims) {
  std::string option = "--shape " + printable(input.name);
  if (dims.size() != input.meta->sizes.size())
    return userError(option + " gives " + llvm::Twine(dims.size()) + " dims, the input has " +
                     llvm::Twine(input.meta->sizes.size()));
  for (auto [wanted, have] : llvm::zip(dims, input.meta->sizes)) {
    const SymExpr *expr = have.value ? nullptr : parsed(have.expr);
    if (wanted.value && expr && expr->symbol())
      if (llvm::Error error = fix(*expr->symbol(), *wanted.value, option))
        return error;
  }
  // The other dims must agree with what is known by now.
  for (auto [i, wanted] : llvm::enumerate(dims)) {
    auto have = size(input.meta->sizes[i]);
    if (!have)
      return have.takeError();
    if (wanted.value && *wanted.value != *have)
      return userError(option + " makes dim " + llvm::Twine(i) + " " + llvm::Twine(*wanted.value) +
                       (ShapedType::isDynamic(*have)
                            ? ", but the model computes it; fix the symbols in it with --dim"
                            : ", but the model was exported with " + std::to_string(*have) +
                                  "; export it with a dynamic dim"));
  }
  return llvm::Error::success();
}

llvm::Error Shapes::bind(ArrayRef<Input> inputs, const llvm::StringMap<Range> &ranges,
                         const ImportOptions &options) {
  if (llvm::Error error = readRanges(ranges))
    return error;
  auto note = [&](StringRef symbol) {
    if (!bounds.try_emplace(symbol).second)
      return;
    order.push_back(symbol.str());
    auto it = ranges.find(symbol);
    if (it == ranges.end())
      return;
    // torch traces with sizes from 2 on and says so, but runs with 0 and 1 too.
    int64_t min = it->second.min.value_or(0);
    bounds[symbol] = {min == 2 ? 0 : std::max<int64_t>(min, 0), it->second.max.value_or(INT64_MAX)};
  };
  std::vector<std::string> described;
  for (const Input &input : inputs)
    for (auto [axis, dim] : llvm::enumerate(input.meta->sizes))
      if (const SymExpr *expr = expression(dim); expr && expr->symbol()) {
        if (!bounds.contains(*expr->symbol()))
          described.push_back("'" + expr->symbol()->str() + "' (axis " + std::to_string(axis) +
                              " of '" + printable(input.name) + "')");
        note(*expr->symbol());
      }
  for (const std::string &symbol : order)
    if (bounds[symbol].max < 0)
      return userError("range_constraints leave no size for '" + printable(symbol) + "'");
  for (const auto &option : options.dims) {
    auto it = bounds.find(option.getKey());
    if (it == bounds.end())
      return userError("--dim " + printable(option.getKey()) + ": no input has this dim; there " +
                       (order.empty() ? "are none" : "is " + llvm::join(described, ", ")) +
                       " (torch.export does not save the names of Dim)");
    if (option.getValue().isOne()) {
      if (llvm::Error error = fix(option.getKey(), option.getValue().min, "--dim"))
        return error;
      continue;
    }
    it->second.min = std::max(it->second.min, option.getValue().min);
    it->second.max = std::min(it->second.max, option.getValue().max);
    if (it->second.min > it->second.max)
      return userError("--dim " + printable(option.getKey()) +
                       " lies outside the range that the model was exported for");
  }
  for (const auto &option : options.shapes) {
    const Input *input =
        llvm::find_if(inputs, [&](const Input &i) { return i.name == option.getKey(); });
    if (input == inputs.end())
      return userError("--shape " + printable(option.getKey()) + ": no input has this name");
    if (llvm::Error error = bindInput(*input, option.getValue()))
      return error;
  }
  return llvm::Error::success();
}

SmallVector<Symbol> Shapes::ranges() {
  SmallVector<Symbol> free;
  for (const std::string &symbol : order)
    if (Bounds range = bounds.lookup(symbol); !fixed.contains(symbol))
      free.push_back({symbol, range.min, range.max});
  return free;
}

std::optional<int64_t> Shapes::trial(const SymInt &value, int64_t seed) {
  if (value.value)
    return value.value;
  const SymExpr *expr = parsed(value.expr);
  return expr ? trial(*expr, seed) : std::nullopt;
}

std::optional<int64_t> Shapes::trial(const SymExpr &expr, int64_t seed) {
  return expr.evaluate([&](StringRef symbol) -> std::optional<int64_t> {
    // Different for every symbol; multiples of 240, so that usual quotients are whole.
    int64_t mixed = seed;
    for (char c : symbol)
      mixed = (mixed * 31 + c) % 997;
    return 240 * (mixed + 2);
  });
}

bool Shapes::isContiguous(const TensorMeta &meta) {
  // Two expressions that agree on two trial assignments are taken to be equal.
  for (int64_t seed : {1, 2}) {
    int64_t expected = 1;
    for (size_t i = meta.sizes.size(); i-- > 0;) {
      auto extent = trial(meta.sizes[i], seed), stride = trial(meta.strides[i], seed);
      if (!extent || !stride || (*extent > 1 && *stride != expected) ||
          llvm::MulOverflow(expected, std::max<int64_t>(*extent, 1), expected))
        return false;
    }
  }
  return true;
}

} // namespace tcc::torchexport
