//===- HostProgram.cpp - The compiled host side of a model ----------------===//
//
// One operator of the host dialect after the other becomes code; what is where, and for
// how long, was decided by the plan. A tensor is a pointer and the extents that its type
// leaves open: as such it is given to kernels and carried through branches and loops.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Host/HostProgram.h"
#include "HostEmitter.h"
#include "RuntimeLayout.h"
#include "tcc/Analysis/SourceNodes.h"
#include "tcc/Runtime/tcc.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

//===----------------------------------------------------------------------===//
// Kernels and checks
//===----------------------------------------------------------------------===//

/// A scalar as a word of 64 bits.
static Value scalarWord(HostCode &code, Value v) {
  ImplicitLocOpBuilder &b = code.b;
  if (isa<FloatType>(v.getType()))
    v = arith::BitcastOp::create(b, b.getIntegerType(v.getType().getIntOrFloatBitWidth()), v);
  if (isa<IntegerType>(v.getType()) && !v.getType().isInteger(64))
    v = arith::ExtUIOp::create(b, code.i64, v);
  return code.toI64(v);
}

void HostEmitter::emitLaunch(host::LaunchOp op) {
  LaunchSite site{op, kernelNumbers.lookup(op.getKernel()), {}, {}};
  auto addTensor = [&](Value v) {
    site.words.push_back(pointerOf(v));
    for (Value d : memoryOf(v).open)
      site.words.push_back(code.toI64(d));
  };
  for (Value input : op.getInputs()) {
    if (!isa<MemRefType>(input.getType())) {
      site.arguments.push_back({scalarOf(input)});
      site.words.push_back(scalarWord(code, scalarOf(input)));
      continue;
    }
    addTensor(input);
    SmallVector<Value> &all = site.arguments.emplace_back();
    const auto *open = memoryOf(input).open.begin();
    for (int64_t d : cast<MemRefType>(input.getType()).getShape())
      all.push_back(ShapedType::isDynamic(d) ? *open++ : Value());
  }
  for (Value out : op.getOuts()) {
    addTensor(out);
    for (Value d : memoryOf(out).open)
      site.arguments.push_back({d});
  }
  launches.emit(code, site);
}

/// "node 'gather_1': " where nodes of the model are known.
static std::string nodePrefix(Location loc) {
  SmallVector<std::string> names;
  collectNodes(loc, names);
  if (names.empty())
    return "";
  constexpr size_t most = 3;
  return "node '" + llvm::join(ArrayRef(names).take_front(most), "', '") +
         (names.size() > most ? "' and others: " : "': ");
}

/// The text that says that a check of `op` failed.
Value HostEmitter::messageOf(Operation *op, StringRef message) {
  std::string text = nodePrefix(op->getLoc()) + message.str();
  text.push_back('\0');
  std::string name = program.getName().str() + "_message" + std::to_string(messages++);
  OpBuilder top = OpBuilder::atBlockBegin(code.module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  LLVM::GlobalOp::create(top, op->getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Private, name,
                         b.getStringAttr(text));
  return LLVM::AddressOfOp::create(b, code.pointer, name);
}

void HostEmitter::emitFlag(host::FlagOp op) {
  auto number = [&](uint32_t n) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(n)));
  };
  Value flag =
      code.call("tcc_rt_flag", code.pointer,
                {code.frame, number(flags++), number(op.getBad()), messageOf(op, op.getMessage())});
  memory[op] = {flag, {}};
}

void HostEmitter::emitAssert(host::AssertOp op) {
  Value one = arith::ConstantOp::create(b, b.getBoolAttr(true));
  Value bad = arith::XOrIOp::create(b, scalarOf(op.getCondition()), one);
  auto branch = scf::IfOp::create(b, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value message = messageOf(op, op.getMessage());
  Value status = arith::ConstantOp::create(b, b.getI32IntegerAttr(TCC_MODEL_ERROR));
  code.callVoid("tcc_rt_fail", {code.frame, status, message});
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

SmallVector<Type> HostEmitter::wordTypes(TypeRange types) {
  SmallVector<Type> words;
  for (Type t : types) {
    auto memory = dyn_cast<MemRefType>(t);
    words.push_back(memory ? code.pointer : t);
    if (memory)
      words.append(memory.getNumDynamicDims(), b.getIndexType());
  }
  return words;
}

SmallVector<Value> HostEmitter::wordsOf(ValueRange values) {
  SmallVector<Value> words;
  for (Value v : values) {
    if (!isa<MemRefType>(v.getType())) {
      words.push_back(scalarOf(v));
      continue;
    }
    words.push_back(pointerOf(v));
    llvm::append_range(words, memoryOf(v).open);
  }
  return words;
}

/// The values of the program that `words` stand for.
void HostEmitter::bind(ValueRange values, ValueRange words) {
  for (Value v : values) {
    auto type = dyn_cast<MemRefType>(v.getType());
    if (!type) {
      scalars.map(v, words.front());
      words = words.drop_front();
      continue;
    }
    Memory &entered = memory[v] = {words.front(), {}};
    words = words.drop_front();
    llvm::append_range(entered.open, words.take_front(type.getNumDynamicDims()));
    words = words.drop_front(type.getNumDynamicDims());
  }
}

LogicalResult HostEmitter::emitIf(scf::IfOp op) {
  auto branch = scf::IfOp::create(b, wordTypes(op.getResultTypes()), scalarOf(op.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [region, block] : {std::pair(&op.getThenRegion(), branch.thenBlock()),
                               std::pair(&op.getElseRegion(), branch.elseBlock())}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    if (failed(emitBlock(region->front())))
      return failure();
    scf::YieldOp::create(b, wordsOf(region->front().getTerminator()->getOperands()));
  }
  bind(op.getResults(), branch.getResults());
  return success();
}

LogicalResult HostEmitter::emitWhile(scf::WhileOp op) {
  SmallVector<Type> types = wordTypes(op.getResultTypes());
  SmallVector<Location> locs(types.size(), op.getLoc());
  auto loop = scf::WhileOp::create(b, types, wordsOf(op.getInits()));
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore(), {}, types, locs);
  bind(op.getBeforeArguments(), loop.getBeforeArguments());
  if (failed(emitBlock(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp end = op.getConditionOp();
  scf::ConditionOp::create(b, scalarOf(end.getCondition()), wordsOf(end.getArgs()));
  b.createBlock(&loop.getAfter(), {}, types, locs);
  bind(op.getAfterArguments(), loop.getAfterArguments());
  if (failed(emitBlock(*op.getAfterBody())))
    return failure();
  scf::YieldOp::create(b, wordsOf(op.getYieldOp().getOperands()));
  bind(op.getResults(), loop.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

LogicalResult HostEmitter::emitOther(Operation *op) {
  if (op->getNumRegions() || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
    return op->emitError("'") << op->getName() << "' is no operator of a host program";
  Operation *copy = b.clone(*op, scalars);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    scalars.map(from, to);
  return success();
}

static host::MemorySpace spaceOf(Type type) {
  if (auto arena = dyn_cast<host::ArenaType>(type))
    return arena.getSpace();
  auto memory = dyn_cast<MemRefType>(type);
  return memory ? host::memorySpace(memory) : host::MemorySpace::host;
}

/// The runtime has the host's memory, that of one device, and one stream.
static LogicalResult checkPossible(Operation *op, bool device) {
  for (Type type : op->getResultTypes())
    if ((spaceOf(type) == host::MemorySpace::pinned && !isa<host::FlagOp>(op)) ||
        (spaceOf(type) != host::MemorySpace::host && !device))
      return op->emitError("there is no runtime for memory in space '")
             << host::stringifyMemorySpace(spaceOf(type)) << "'";
  auto stream = op->getAttrOfType<IntegerAttr>("stream");
  if (stream && stream.getInt() != 0)
    return op->emitError("there is no runtime for stream ") << stream.getInt();
  return success();
}

LogicalResult HostEmitter::emit(Operation *op) {
  b.setLoc(op->getLoc());
  if (failed(checkPossible(op, callbacks.device)))
    return failure();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](host::WeightOp o) {
        Value weights = weightsIn(o.getType());
        memory[o] = {code.offsetPointer(weights, callbacks.weightOffset(o.getName())), {}};
        return success();
      })
      .Case([&](host::ConstantOp o) {
        Value weights = weightsIn(o.getType());
        memory[o] = {code.offsetPointer(weights, callbacks.constantOffset(o.getElements())), {}};
        return success();
      })
      .Case([&](host::ViewOp o) {
        Value pointer = pointerOf(o.getMemory());
        memory[o] = {pointer, scalarsOf(o.getSizes())};
        return success();
      })
      .Case([&](host::DimOp o) {
        unsigned open = o.getMemory().getType().getDynamicDimIndex(o.getAxis());
        scalars.map(o.getResult(), memoryOf(o.getMemory()).open[open]);
        return success();
      })
      .Case([&](host::RandomSeedOp o) {
        scalars.map(o.getResult(), code.call("tcc_rt_random_seed", code.i64, {code.frame}));
        return success();
      })
      .Case([&](host::RandomDrawOp o) {
        Value generator = code.constant(static_cast<int64_t>(o.getGenerator()));
        Value drawn = code.call("tcc_rt_random_draw", code.i64, {code.frame, generator});
        scalars.map(o.getNumber(), drawn);
        return success();
      })
      .Case([&](host::ArenaOp o) { return emitArena(o), success(); })
      .Case([&](host::AllocArenaOp o) { return emitAllocArena(o), success(); })
      .Case([&](host::SliceOp o) { return emitSlice(o), success(); })
      .Case([&](host::PartOp o) { return emitPart(o), success(); })
      .Case([&](host::AllocOp o) { return emitAlloc(o), success(); })
      .Case([&](host::FreeOp o) { return emitFree(o), success(); })
      .Case([&](host::OutputOp o) { return emitOutput(o), success(); })
      .Case([&](host::CopyOp o) { return emitCopy(o), success(); })
      .Case([&](host::ReadOp o) { return emitRead(o), success(); })
      .Case([&](host::LaunchOp o) { return emitLaunch(o), success(); })
      .Case([&](host::FlagOp o) { return emitFlag(o), success(); })
      .Case([&](host::AssertOp o) { return emitAssert(o), success(); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](scf::WhileOp o) { return emitWhile(o); })
      .Default([&](Operation *o) { return emitOther(o); });
}

LogicalResult HostEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emit(&op)))
      return failure();
  return success();
}

LogicalResult HostEmitter::run() {
  unsigned next[2] = {}; // of kernels of each side
  for (auto kernel : program->getParentOfType<ModuleOp>().getOps<host::KernelOp>())
    kernelNumbers.try_emplace(kernel.getSymName(), next[kernel.getOnHost()]++);
  if (failed(bindArguments()) || failed(emitBlock(program.getBody().front())))
    return failure();
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  func::ReturnOp::create(b, zero);
  return success();
}

LogicalResult tcc::codegen::emitHostProgram(func::FuncOp program, StringRef name, ModuleOp module,
                                            LaunchEmitter &launches,
                                            const HostCallbacks &callbacks) {
  OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  auto entry = func::FuncOp::create(top, program.getLoc(), name,
                                    top.getFunctionType({pointer}, {top.getI32Type()}));
  entry.addEntryBlock();
  return HostEmitter(program, entry, module, launches, callbacks).run();
}
