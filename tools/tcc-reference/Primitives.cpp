//===- Primitives.cpp - What the reference page says of each primitive ---===//
//
// Whether an operator compiles is found out, not declared: each is put through the phases alone,
// as the tests write it, so that the page cannot promise what the code generator lost.
//
//===----------------------------------------------------------------------===//
#include "Primitives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Pipeline/Pipeline.h"
#include "tcc/Reference/Interpreter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <thread>

using namespace mlir;
using namespace tcc;

namespace {

class Primitives {
public:
  explicit Primitives(MLIRContext &context) : context(context) {
    CpuTarget cpu = llvm::cantFail(CpuTarget::create("x86-64-v3", "x86_64-linux-gnu"));
    options.backend = llvm::cantFail(createBackend(kOwnBackend, {cpu, {}}));
    options.jobs = 1;
  }
  llvm::Error addSamples(const std::string &path);
  std::string line(OperationName name);

private:
  bool compiles(Operation *sample);
  bool synthesizedCompiles(OperationName name);

  MLIRContext &context;
  PipelineOptions options;
  std::vector<OwningOpRef<ModuleOp>> modules;
  llvm::DenseMap<OperationName, std::vector<Operation *>> uses;
};

} // namespace

/// A file of several modules has `// -----` between them.
llvm::Error Primitives::addSamples(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + path);
  llvm::SmallVector<llvm::StringRef> parts;
  (*file)->getBuffer().split(parts, "// -----");
  for (llvm::StringRef part : parts) {
    auto module = parseSourceString<ModuleOp>(part, &context);
    if (!module)
      continue;
    module->walk([&](Operation *op) {
      if (isa<prim::PrimDialect>(op->getDialect()))
        uses[op->getName()].push_back(op);
    });
    modules.push_back(std::move(module));
  }
  return llvm::Error::success();
}

/// A function of this operator alone, through the phases after decompose.
bool Primitives::compiles(Operation *sample) {
  Model model;
  OpBuilder b(&context);
  model.module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(model.module->getBody());
  llvm::SmallVector<Type> results;
  for (Type type : sample->getResultTypes())
    if (isa<RankedTensorType>(type))
      results.push_back(type);
  llvm::SmallVector<Type> inputs;
  for (Type type : sample->getOperandTypes())
    if (isa<RankedTensorType>(type))
      inputs.push_back(type);
  auto function =
      func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(inputs, results));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  IRMapping map;
  unsigned next = 0;
  for (Value operand : sample->getOperands()) {
    if (isa<RankedTensorType>(operand.getType())) {
      map.map(operand, block->getArgument(next++));
      continue;
    }
    Attribute one = operand.getType().isIndex() || operand.getType().isInteger()
                        ? Attribute(b.getIntegerAttr(operand.getType(), 1))
                        : Attribute(b.getFloatAttr(operand.getType(), 1.0));
    map.map(operand, arith::ConstantOp::create(b, b.getUnknownLoc(), cast<TypedAttr>(one)));
  }
  Operation *copy = b.clone(*sample, map);
  llvm::SmallVector<Value> returned;
  for (Value result : copy->getResults())
    if (isa<RankedTensorType>(result.getType()))
      returned.push_back(result);
  func::ReturnOp::create(b, b.getUnknownLoc(), returned);
  if (failed(verify(*model.module)))
    return false;
  if (llvm::Error error = runPhases(model, Phase::Decompose, Phase::Plan, options)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  auto compiled = generateCode(model, options);
  if (!compiled)
    llvm::consumeError(compiled.takeError());
  return static_cast<bool>(compiled);
}

/// For operators of one value a point whose types follow from the operands.
bool Primitives::synthesizedCompiles(OperationName name) {
  OpBuilder b(&context);
  Type candidates[] = {b.getF32Type(), b.getI32Type(), b.getI1Type()};
  for (Type element : candidates)
    for (Type given : {element, Type(b.getI1Type())})
      for (unsigned operands = 1; operands <= 3; ++operands) {
        auto type = RankedTensorType::get({4}, element);
        Block block;
        OperationState state(b.getUnknownLoc(), name);
        for (unsigned i = 0; i < operands; ++i)
          state.addOperands(block.addArgument(type, b.getUnknownLoc()));
        state.addTypes(RankedTensorType::get({4}, given));
        Operation *op = b.create(state);
        bool good = succeeded(verify(op)) && compiles(op);
        op->destroy();
        if (good)
          return true;
      }
  return false;
}

std::string Primitives::line(OperationName name) {
  bool host = name.hasTrait<prim::HostOperator>() || name.hasTrait<OpTrait::ConstantLike>();
  bool control = llvm::is_contained(
      {"prim.if", "prim.while", "prim.yield", "prim.random_seed", "prim.random_draw"},
      name.getStringRef());
  bool known = control || reference::isEvaluable(name);
  bool compiled = host;
  for (Operation *sample : uses[name])
    compiled = compiled || compiles(sample);
  if (!compiled && name.hasTrait<OpTrait::Elementwise>())
    compiled = synthesizedCompiles(name);
  return llvm::formatv("{0} {1} {2}\n", name.getStringRef(), known ? "yes" : "no",
                       host       ? "host"
                       : compiled ? "yes"
                                  : "no");
}

llvm::Expected<std::string> listPrimitives(llvm::ArrayRef<std::string> samples) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
  Primitives primitives(context);
  for (const std::string &path : samples)
    if (llvm::Error error = primitives.addSamples(path))
      return std::move(error);
  std::string text;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "prim")
      text += primitives.line(name);
  return text;
}
