//===- ElementwiseCases.cpp - Every elementwise operator for every type --===//
//
// The cases are asked of the dialect and its verifiers, so that an operator or a type that is
// added is tested without anyone remembering to.
//
//===----------------------------------------------------------------------===//
#include "ElementwiseCases.h"
#include "PrimProgram.h"
#include "mlir/IR/Verifier.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace tcc::test {

static RankedTensorType tensorOf(DType type, int64_t count = ShapedType::kDynamic) {
  return RankedTensorType::get({count}, prim::elementType(&primContext(), type));
}

std::string ElementwiseCase::text() const {
  std::string text = op.stripDialect().str();
  llvm::raw_string_ostream os(text);
  for (NamedAttribute attribute : attributes)
    os << '<' << attribute.getValue() << '>';
  os << '(';
  for (auto [i, type] : llvm::enumerate(operands))
    os << (i ? ", " : "") << dtypeName(type);
  os << ") -> " << dtypeName(result);
  return text;
}

Value ElementwiseCase::build(OpBuilder &builder, ValueRange values) const {
  OperationState state(builder.getUnknownLoc(), op);
  state.addOperands(values);
  auto shape = cast<RankedTensorType>(values[0].getType());
  state.addTypes(shape.clone(prim::elementType(&primContext(), result)));
  state.addAttributes(attributes.getAttrs());
  return builder.create(state)->getResult(0);
}

namespace {

/// Asks the verifiers.
class Search {
public:
  Search() {
    ScopedDiagnosticHandler silence(&primContext(), [](Diagnostic &) { return success(); });
    for (int i = 0; i <= static_cast<int>(DType::C128); ++i)
      types.push_back(static_cast<DType>(i));
    // getRegisteredOperationsByDialect finds none of a dialect among several.
    for (RegisteredOperationName op : primContext().getRegisteredOperations())
      if (op.getDialectNamespace() == "prim" && op.hasTrait<OpTrait::Elementwise>())
        search(op);
  }
  std::vector<ElementwiseCase> cases;
  std::vector<std::string> missing;

private:
  /// What attributes may be, as far as one verifier or another accepts it.
  std::vector<NamedAttrList> attributeLists(RegisteredOperationName op) {
    Builder b(&primContext());
    std::vector<NamedAttrList> lists = {NamedAttrList()};
    for (StringAttr name : op.getAttributeNames()) {
      std::vector<NamedAttrList> longer;
      std::vector<Attribute> values = {b.getBoolAttr(true), b.getBoolAttr(false)};
      for (int i = 0; i <= static_cast<int>(prim::getMaxEnumValForComparePredicate()); ++i)
        values.push_back(prim::ComparePredicateAttr::get(&primContext(),
                                                         static_cast<prim::ComparePredicate>(i)));
      for (const NamedAttrList &list : lists)
        for (Attribute value : values)
          longer.emplace_back(list).set(name, value);
      lists = longer;
    }
    return lists;
  }
  bool accepts(const ElementwiseCase &c) {
    Block block;
    for (DType type : c.operands)
      block.addArgument(tensorOf(type), UnknownLoc::get(&primContext()));
    OpBuilder b(&primContext());
    b.setInsertionPointToEnd(&block);
    Operation *op = c.build(b, block.getArguments()).getDefiningOp();
    // An attribute of another kind than the operator's is dropped.
    return succeeded(verify(op)) && llvm::all_of(c.attributes, [&](NamedAttribute attribute) {
             return op->getAttr(attribute.getName()) == attribute.getValue();
           });
  }
  void searchResults(const ElementwiseCase &c, bool converts) {
    for (DType result : types)
      if (converts || result == c.operands.back() || result == DType::Bool ||
          result == DType::F32 || result == DType::F64 || isComplex(result))
        if (accepts(with(c, result)))
          found.push_back(with(c, result));
  }
  static ElementwiseCase with(ElementwiseCase c, DType result) {
    c.result = result;
    return c;
  }
  static std::vector<std::vector<DType>> operandLists(DType t) {
    return {{t}, {t, t}, {t, t, t}, {DType::Bool, t, t}};
  }
  void search(RegisteredOperationName op) {
    found.clear();
    for (const NamedAttrList &attributes : attributeLists(op)) {
      // What makes floats of integers may make anything of anything.
      bool converts = llvm::any_of(operandLists(DType::I32), [&](const auto &operands) {
        return accepts({op, operands, DType::F32, attributes});
      });
      for (DType t : types)
        for (const std::vector<DType> &operands : operandLists(t))
          searchResults({op, operands, t, attributes}, converts);
    }
    if (found.empty())
      missing.push_back(op.getStringRef().str());
    for (const ElementwiseCase &c : found)
      if (!isComplex(c.result) && llvm::none_of(c.operands, isComplex))
        cases.push_back(c);
  }

  std::vector<DType> types;
  std::vector<ElementwiseCase> found;
};

const Search &theSearch() {
  static const Search search;
  return search;
}

} // namespace

const std::vector<ElementwiseCase> &elementwiseCases() { return theSearch().cases; }
std::vector<std::string> primitivesWithoutCase() { return theSearch().missing; }

uint64_t allowedSteps(const ElementwiseCase &c) {
  struct Steps {
    uint64_t f32, f64;
  };
  // digamma cancels near its zero at 1.46.
  static const llvm::StringMap<Steps> functions = {
      {"exp", {2, 2}},      {"exp2", {2, 2}},      {"expm1", {2, 2}},     {"log", {2, 2}},
      {"log2", {2, 2}},     {"log10", {2, 2}},     {"log1p", {2, 2}},     {"rsqrt", {2, 2}},
      {"sin", {2, 2}},      {"cos", {2, 2}},       {"tan", {2, 2}},       {"asin", {2, 2}},
      {"acos", {2, 2}},     {"atan", {2, 2}},      {"sinh", {2, 3}},      {"cosh", {2, 3}},
      {"tanh", {2, 3}},     {"asinh", {1, 3}},     {"acosh", {1, 3}},     {"atanh", {1, 3}},
      {"logistic", {3, 3}}, {"erf", {2, 2}},       {"erfc", {1, 5}},      {"erfinv", {8, 8}},
      {"lgamma", {8, 8}},   {"digamma", {8, 128}}, {"bessel_i0", {4, 8}}, {"bessel_i1", {4, 8}},
      {"pow", {1, 2}},      {"atan2", {2, 2}}};
  auto steps = functions.find(c.op.stripDialect());
  if (steps == functions.end() || !isFloat(c.result))
    return 0;
  return bitWidth(c.result) < 32  ? 1
         : c.result == DType::F32 ? steps->second.f32
                                  : steps->second.f64;
}

bool settlesZeros(const ElementwiseCase &c) {
  static const llvm::StringSet<> open = {"maximum", "minimum", "fmax", "fmin"};
  return !open.contains(c.op.stripDialect());
}

} // namespace tcc::test
