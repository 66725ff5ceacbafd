#include "tcc/Signature/Signature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tcc;

// Of arguments and results.
static constexpr llvm::StringLiteral kName = "graph.name", kDims = "graph.dims",
                                     kComplex = "graph.complex";
/// Of an argument: the weight of this name is the first value of what it keeps.
static constexpr llvm::StringLiteral kState = "graph.state";
/// Of a result: it is the new value of the argument of this name.
static constexpr llvm::StringLiteral kMutates = "graph.mutates";
/// Of the function: {symbol = array<i64: min, max>}.
static constexpr llvm::StringLiteral kRanges = "graph.ranges";

static StringRef textOf(Attribute attribute) {
  auto text = dyn_cast_if_present<StringAttr>(attribute);
  return text ? text.getValue() : "";
}

static Port portOf(DictionaryAttr attributes) {
  if (!attributes)
    return {};
  return {textOf(attributes.get(kName)), attributes.getAs<ArrayAttr>(kDims),
          attributes.contains(kComplex)};
}

StringRef Port::symbol(unsigned axis) const {
  StringRef symbol = dims && axis < dims.size() ? textOf(dims[axis]) : "";
  return symbol == "?" ? "" : symbol;
}

Port Signature::argument(unsigned i) const { return portOf(model.getArgAttrDict(i)); }

Port Signature::result(unsigned i) const { return portOf(model.getResultAttrDict(i)); }

StringRef Signature::firstValue(unsigned i) const { return textOf(model.getArgAttr(i, kState)); }

SmallVector<unsigned> Signature::states() const {
  SmallVector<unsigned> states;
  for (unsigned i = 0; i < model.getNumArguments(); ++i)
    if (isState(i))
      states.push_back(i);
  return states;
}

StringRef Signature::changedName(unsigned i) const {
  return textOf(model.getResultAttr(i, kMutates));
}

std::optional<unsigned> Signature::changedArgument(unsigned i) const {
  StringRef name = changedName(i);
  for (unsigned k = 0; !name.empty() && k < model.getNumArguments(); ++k)
    if (argument(k).name == name)
      return k;
  return std::nullopt;
}

static Symbol symbolOf(StringRef name, Attribute range) {
  Symbol symbol{name.str()};
  if (auto ends = dyn_cast_if_present<DenseI64ArrayAttr>(range); ends && ends.size() == 2) {
    symbol.min = ends[0];
    symbol.max = ends[1];
  }
  return symbol;
}

Symbol Signature::symbol(StringRef name) const {
  auto ranges = model->getAttrOfType<DictionaryAttr>(kRanges);
  return symbolOf(name, ranges ? ranges.get(name) : Attribute());
}

SmallVector<Symbol> Signature::rangedSymbols() const {
  SmallVector<Symbol> symbols;
  if (auto ranges = model->getAttrOfType<DictionaryAttr>(kRanges))
    for (NamedAttribute range : ranges)
      symbols.push_back(symbolOf(range.getName(), range.getValue()));
  return symbols;
}

void Signature::setArgument(unsigned i, StringRef name, ArrayAttr dims) {
  model.setArgAttr(i, kName, StringAttr::get(model.getContext(), name));
  model.setArgAttr(i, kDims, dims);
}

void Signature::setResult(unsigned i, StringRef name, ArrayAttr dims) {
  model.setResultAttr(i, kName, StringAttr::get(model.getContext(), name));
  model.setResultAttr(i, kDims, dims);
}

void Signature::setState(unsigned argument, StringRef firstValue) {
  model.setArgAttr(argument, kState, StringAttr::get(model.getContext(), firstValue));
}

void Signature::setChange(unsigned result, StringRef argument) {
  model.setResultAttr(result, kMutates, StringAttr::get(model.getContext(), argument));
}

void Signature::setRanges(ArrayRef<Symbol> symbols) {
  if (symbols.empty())
    return;
  Builder b(model.getContext());
  SmallVector<NamedAttribute> ranges;
  for (const Symbol &symbol : symbols)
    ranges.push_back(b.getNamedAttr(symbol.name, b.getDenseI64ArrayAttr({symbol.min, symbol.max})));
  model->setAttr(kRanges, b.getDictionaryAttr(ranges));
}

void Signature::setComplexArgument(unsigned i) {
  model.setArgAttr(i, kComplex, UnitAttr::get(model.getContext()));
}

void Signature::setComplexResult(unsigned i) {
  model.setResultAttr(i, kComplex, UnitAttr::get(model.getContext()));
}
