//===- HostProgram.cpp - The compiled host side of a model ----------------===//
//
// Every tensor is a pointer here, every extent an index value. Values made inside
// a branch or a loop and needed outside are copied into a block of their own, so
// that whoever receives one owns it. Blocks are freed after the last reader in
// their block; the arena and outputs never are.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Cpu/HostProgram.h"
#include "HostEmitter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tcc/Dialect/Kernel/Places.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static RankedTensorType tensorType(Value v) { return cast<RankedTensorType>(v.getType()); }

HostEmitter::HostEmitter(func::FuncOp source, ModuleOp module, const HostCallbacks &callbacks)
    : source(source), module(module), callbacks(callbacks),
      b(source.getLoc(), source.getContext()) {
  pointer = LLVM::LLVMPointerType::get(b.getContext());
  i64 = b.getI64Type();
}

//===----------------------------------------------------------------------===//
// Runtime calls and memory
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostEmitter::declare(StringRef name, Type result, ArrayRef<Type> arguments) {
  LLVM::LLVMFuncOp &known = declared[name];
  if (known)
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(result, arguments);
  return known = LLVM::LLVMFuncOp::create(top, source.getLoc(), name, type);
}

Value HostEmitter::call(StringRef name, Type result, ValueRange operands) {
  SmallVector<Type> types(operands.getTypes());
  bool isVoid = isa<LLVM::LLVMVoidType>(result);
  auto callee = declare(name, result, types);
  auto op = LLVM::CallOp::create(b, callee, operands);
  return isVoid ? Value() : op.getResult();
}

Value HostEmitter::constant(int64_t v) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(v));
}
Value HostEmitter::index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }
Value HostEmitter::toI64(Value v) {
  return v.getType().isIndex() ? Value(arith::IndexCastOp::create(b, i64, v)) : v;
}

Value HostEmitter::loadWord(Value base, int64_t slot, Type type) {
  Value at = LLVM::GEPOp::create(b, pointer, i64, base,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(slot)});
  return LLVM::LoadOp::create(b, type, at, 8);
}

Value HostEmitter::offsetPointer(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{constant(bytes)});
}

/// `count` words on the stack for the next call; all calls of a run use the same.
Value HostEmitter::stackWords(size_t count) {
  if (!callWords) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&entry.getBody().front());
    Value size = constant(1);
    callWordsSize = size.getDefiningOp<arith::ConstantOp>();
    callWords = LLVM::AllocaOp::create(b, pointer, i64, size, 8);
  }
  auto known = cast<IntegerAttr>(callWordsSize.getValue()).getInt();
  callWordsSize.setValueAttr(b.getI64IntegerAttr(std::max<int64_t>(known, count)));
  return callWords;
}

void HostEmitter::storeWords(Value base, ArrayRef<Value> words) {
  for (auto [i, word] : llvm::enumerate(words)) {
    Value at =
        LLVM::GEPOp::create(b, pointer, i64, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, word, at, 8);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The host value of a scalar or index of the source function.
Value HostEmitter::scalarOf(Value v) {
  if (Value known = scalars.lookup(v))
    return known;
  Operation *op = v.getDefiningOp();
  assert(op && "host scalar without a definition");
  if (auto dim = dyn_cast<prim::DimOp>(op))
    return scalars[v] = extent(dim.getX(), dim.getAxis());
  // Arithmetic that dimsOf added after its place was emitted.
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, scalarOf(operand));
  return b.clone(*op, map)->getResult(0);
}

Value HostEmitter::extent(Value tensor, unsigned axis) {
  auto type = tensorType(tensor);
  if (!type.isDynamicDim(axis))
    return index(type.getDimSize(axis));
  if (Value known = dynamicExtents.lookup({tensor, axis}))
    return known;
  OpBuilder at(source.getContext());
  at.setInsertionPointAfterValue(tensor);
  OpFoldResult d = prim::dimOf(at, tensor.getLoc(), tensor, axis);
  if (auto known = getConstantIntValue(d))
    return index(*known);
  Value v = cast<Value>(d);
  if (auto dim = v.getDefiningOp<prim::DimOp>())
    return dynamicExtents.lookup({dim.getX(), static_cast<unsigned>(dim.getAxis())});
  return scalarOf(v);
}

SmallVector<Value> HostEmitter::extents(Value tensor) {
  SmallVector<Value> all;
  for (unsigned i = 0, e = tensorType(tensor).getRank(); i < e; ++i)
    all.push_back(extent(tensor, i));
  return all;
}

Value HostEmitter::pointerOf(Value tensor) {
  if (Value known = pointers.lookup(tensor))
    return known;
  Operation *op = tensor.getDefiningOp();
  OpBuilder::InsertionGuard guard(b);
  if (op)
    b.setInsertionPointAfterValue(weights); // dominates everything
  if (auto weight = dyn_cast_or_null<prim::WeightOp>(op))
    return pointers[tensor] = offsetPointer(weights, callbacks.weightOffset(weight.getName()));
  if (auto constantOp = dyn_cast_or_null<prim::ConstantOp>(op))
    return pointers[tensor] =
               offsetPointer(weights, callbacks.constantOffset(constantOp.getElements()));
  llvm_unreachable("a tensor has no place: fusion left it without a kernel");
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void HostEmitter::emitLaunch(kernel::LaunchOp launch) {
  place(launch);
  SmallVector<Value> words;
  auto tensor = [&](Value v) {
    words.push_back(pointerOf(v));
    for (unsigned i = 0, e = tensorType(v).getRank(); i < e; ++i)
      if (tensorType(v).isDynamicDim(i))
        words.push_back(toI64(extent(v, i)));
  };
  for (Value input : launch.getInputs()) {
    if (isa<RankedTensorType>(input.getType())) {
      tensor(input);
      continue;
    }
    Value v = scalarOf(input);
    if (isa<FloatType>(v.getType()))
      v = arith::BitcastOp::create(b, b.getIntegerType(v.getType().getIntOrFloatBitWidth()), v);
    if (isa<IntegerType>(v.getType()) && !v.getType().isInteger(64))
      v = arith::ExtUIOp::create(b, i64, v);
    words.push_back(toI64(v));
  }
  for (Value result : launch.getResults())
    tensor(result);
  Value args = stackWords(words.size());
  storeWords(args, words);

  OpBuilder at(launch);
  TaskSpace space = callbacks.taskSpace(at, launch);
  auto word = [&](OpFoldResult d) {
    auto known = getConstantIntValue(d);
    return known ? constant(*known) : toI64(scalarOf(cast<Value>(d)));
  };
  std::string symbol = callbacks.kernelSymbol(launch);
  declare(symbol, LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  Value function = LLVM::AddressOfOp::create(b, pointer, symbol);
  call("tcc_rt_parallel", LLVM::LLVMVoidType::get(b.getContext()),
       {frame, function, args, word(space.tasks), word(space.grain)});
}

void HostEmitter::emitExtract(prim::ExtractOp op) {
  Type e = tensorType(op.getX()).getElementType(), target = op.getType();
  Type stored = e.isInteger(1) ? b.getI8Type()
                : isa<IntegerType>(e)
                    ? Type(b.getIntegerType(std::max(8u, e.getIntOrFloatBitWidth())))
                    : e;
  Value at = offsetPointer(pointerOf(op.getX()), op.getPosition() * elementBytes(e));
  Value v = LLVM::LoadOp::create(b, stored, at, elementBytes(e));
  if (target.isIndex()) {
    auto integer = cast<IntegerType>(e);
    v = integer.isUnsigned() || integer.getWidth() == 1
            ? Value(arith::IndexCastUIOp::create(b, target, v))
            : Value(arith::IndexCastOp::create(b, target, v));
  } else if (target.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(stored)));
    v = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero);
  }
  scalars[op] = v;
}

void HostEmitter::emitAssert(prim::AssertOp op) {
  Value one = arith::ConstantOp::create(b, b.getBoolAttr(true));
  Value bad = arith::XOrIOp::create(b, scalarOf(op.getCondition()), one);
  auto branch = scf::IfOp::create(b, bad, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  std::string text = op.getMessage().str();
  text.push_back('\0');
  std::string name = "message" + std::to_string(messages++);
  {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    LLVM::GlobalOp::create(top, op.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Private,
                           name, b.getStringAttr(text));
  }
  Value message = LLVM::AddressOfOp::create(b, pointer, name);
  constexpr int32_t kModelError = 6; // TCC_MODEL_ERROR: the values are at fault
  Value code = arith::ConstantOp::create(b, b.getI32IntegerAttr(kModelError));
  call("tcc_rt_fail", LLVM::LLVMVoidType::get(b.getContext()), {frame, code, message});
}

/// The last op of the value's block that reads it, or a reshape of it.
static Operation *lastReader(Value v, Block &block) {
  Operation *last = nullptr;
  for (Operation *user : v.getUsers()) {
    Operation *here = block.findAncestorOpInBlock(*user);
    if (!here)
      continue;
    if (isa<prim::ReshapeOp>(user))
      if (Operation *through = lastReader(user->getResult(0), block))
        here = through->isBeforeInBlock(here) ? here : through;
    if (!last || last->isBeforeInBlock(here))
      last = here;
  }
  return last;
}

/// The value whose memory `v` is.
static Value memoryOf(Value v) {
  while (auto reshape = v.getDefiningOp<prim::ReshapeOp>())
    v = reshape.getX();
  return v;
}

/// The value with its dynamic extents as words that leave a region. A tensor leaves in
/// the block that it owns, if nobody reads it there afterwards (`dies`), or as a copy:
/// into `target`, or a block of its own.
void HostEmitter::leaveRegion(Value v, Type outer, bool dies, SmallVectorImpl<Value> &words,
                              Value target) {
  if (!isa<RankedTensorType>(v.getType())) {
    words.push_back(scalarOf(v));
    return;
  }
  Value block = pointerOf(v);
  if (!dies || !owned.erase(memoryOf(v))) {
    block = target ? target : allocate(v);
    copy(block, pointerOf(v), byteSize(v, b.getLoc()));
  }
  words.push_back(block);
  for (unsigned i = 0, e = tensorType(v).getRank(); i < e; ++i)
    if (cast<RankedTensorType>(outer).isDynamicDim(i))
      words.push_back(extent(v, i));
}

/// The same number of words received: binds `v` to them.
void HostEmitter::enterValue(Value v, ValueRange words, size_t &next) {
  if (!isa<RankedTensorType>(v.getType())) {
    scalars[v] = words[next++];
    return;
  }
  pointers[v] = words[next++];
  for (unsigned i = 0, e = tensorType(v).getRank(); i < e; ++i)
    if (tensorType(v).isDynamicDim(i))
      dynamicExtents[{v, i}] = words[next++];
}

SmallVector<Type> HostEmitter::wordTypes(TypeRange types) {
  SmallVector<Type> words;
  for (Type t : types) {
    auto tensor = dyn_cast<RankedTensorType>(t);
    words.push_back(tensor ? Type(pointer) : t);
    if (tensor)
      words.append(tensor.getNumDynamicDims(), b.getIndexType());
  }
  return words;
}

LogicalResult HostEmitter::emitIf(prim::IfOp op) {
  auto branch = scf::IfOp::create(b, wordTypes(op.getResultTypes()), scalarOf(op.getCondition()),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  for (auto [region, block] : {std::pair(&op.getThenRegion(), branch.thenBlock()),
                               std::pair(&op.getElseRegion(), branch.elseBlock())}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(block);
    if (failed(emitBlock(region->front())))
      return failure();
    SmallVector<Value> words;
    for (auto [v, t] :
         llvm::zip(region->front().getTerminator()->getOperands(), op.getResultTypes()))
      leaveRegion(v, t, memoryOf(v).getParentBlock() == &region->front(), words);
    freeOwned(region->front());
    scf::YieldOp::create(b, words);
  }
  size_t next = 0;
  for (Value v : op.getResults()) {
    enterValue(v, branch.getResults(), next);
    if (isa<RankedTensorType>(v.getType()))
      owned.insert(v);
  }
  return success();
}

/// Whether the memory of `init` is needed by nobody but as the first value of `op`.
static bool diesIn(prim::WhileOp op, Value init) {
  Value memory = memoryOf(init);
  return memory.getParentBlock() == op->getBlock() &&
         lastReader(memory, *op->getBlock()) == op.getOperation() &&
         llvm::none_of(memory.getUsers(),
                       [&](Operation *user) { return op->isProperAncestor(user); });
}

/// The values for the next turn. Those that lie in an arena go where the last turn's
/// were, unless these are among them.
void HostEmitter::endTurn(prim::WhileOp op) {
  Block &body = op.getBody().front();
  Operation::operand_range next = body.getTerminator()->getOperands();
  SmallVector<Value> words;
  for (auto [v, argument] : llvm::zip(next, body.getArguments())) {
    Value memory = memoryOf(v);
    bool dies = memory.getParentBlock() == &body;
    bool reused = isa<RankedTensorType>(v.getType()) && v.getType() == argument.getType() &&
                  tensorType(v).hasStaticShape() && owned.contains(argument) &&
                  !(dies && owned.contains(memory)) &&
                  llvm::none_of(next, [&](Value o) { return memoryOf(o) == argument; });
    leaveRegion(v, argument.getType(), dies, words, reused ? pointers[argument] : Value());
    if (reused)
      owned.erase(argument);
  }
  freeOwned(body);
  for (Value argument : body.getArguments())
    if (owned.erase(argument))
      release(argument);
  scf::YieldOp::create(b, words);
}

LogicalResult HostEmitter::emitWhile(prim::WhileOp op) {
  SmallVector<Value> inits;
  for (auto [v, t] : llvm::zip(op.getInits(), op.getResultTypes()))
    leaveRegion(v, t, diesIn(op, v), inits);
  SmallVector<Type> types = wordTypes(op.getResultTypes());
  auto loop = scf::WhileOp::create(b, types, inits);
  SmallVector<Location> locs(types.size(), op.getLoc());
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  auto bind = [&](Block &source, Block *block) {
    size_t next = 0;
    for (Value argument : source.getArguments())
      enterValue(argument, block->getArguments(), next);
  };
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(before);
    Block &condition = op.getCondition().front();
    bind(condition, before);
    if (failed(emitBlock(condition)))
      return failure();
    Value go = scalarOf(condition.getTerminator()->getOperand(0));
    freeOwned(condition);
    scf::ConditionOp::create(b, go, before->getArguments());
  }
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(after);
    Block &body = op.getBody().front();
    bind(body, after);
    for (Value argument : body.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        owned.insert(argument);
    if (failed(emitBlock(body)))
      return failure();
    endTurn(op);
  }
  b.setInsertionPointAfter(loop);
  size_t next = 0;
  for (Value v : op.getResults()) {
    enterValue(v, loop.getResults(), next);
    if (isa<RankedTensorType>(v.getType()))
      owned.insert(v);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

LogicalResult HostEmitter::emitBlock(Block &block) {
  DenseMap<Operation *, SmallVector<Value>> freedAfter;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    b.setLoc(op->getLoc());
    LogicalResult done =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case([&](kernel::LaunchOp o) {
              emitLaunch(o);
              return success();
            })
            .Case<prim::WeightOp, prim::ConstantOp>([](auto) { return success(); })
            .Case([&](prim::DimOp o) {
              scalars[o] = extent(o.getX(), o.getAxis());
              return success();
            })
            .Case([&](prim::ReshapeOp o) {
              pointers[o] = pointerOf(o.getX());
              return success();
            })
            .Case([&](prim::ExtractOp o) {
              emitExtract(o);
              return success();
            })
            .Case([&](prim::AssertOp o) {
              emitAssert(o);
              return success();
            })
            .Case([&](prim::RandomSeedOp o) {
              scalars[o] = call("tcc_rt_random_seed", i64, {frame});
              return success();
            })
            .Case([&](prim::RandomDrawOp o) {
              Value generator = constant(static_cast<int64_t>(o.getGenerator()));
              scalars[o] = call("tcc_rt_random_draw", i64, {frame, generator});
              return success();
            })
            .Case([&](prim::IfOp o) { return emitIf(o); })
            .Case([&](prim::WhileOp o) { return emitWhile(o); })
            .Default([&](Operation *o) -> LogicalResult {
              if (isa<prim::PrimDialect>(o->getDialect()))
                return o->emitError("'") << o->getName() << "' was left without a kernel";
              IRMapping map;
              for (Value operand : o->getOperands())
                map.map(operand, scalarOf(operand));
              Operation *copy = b.clone(*o, map);
              for (auto [from, to] : llvm::zip(o->getResults(), copy->getResults()))
                scalars[from] = to;
              return success();
            });
    if (failed(done))
      return failure();
    for (Value v : op->getResults())
      if (owned.contains(v)) {
        Operation *last = lastReader(v, block);
        if (last != block.getTerminator())
          freedAfter[last ? last : op].push_back(v);
      }
    for (Value v : freedAfter.lookup(op))
      if (owned.erase(v))
        release(v);
  }
  return success();
}

LogicalResult HostEmitter::run() {
  OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
  entry = func::FuncOp::create(top, source.getLoc(), kEntryName,
                               b.getFunctionType({pointer}, {b.getI32Type()}));
  Block *block = entry.addEntryBlock();
  b.setInsertionPointToStart(block);
  frame = block->getArgument(0);
  arena = loadWord(frame, 3, pointer);
  weights = loadWord(frame, 2, pointer);
  nameChanges();
  if (failed(bindArguments()) || failed(emitBlock(source.getBody().front())))
    return failure();
  giveOutputs();
  writeBack();
  for (auto &[memory, factor] : dynamicArenas)
    if (memory)
      call("tcc_rt_free", LLVM::LLVMVoidType::get(b.getContext()), {frame, memory});
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  func::ReturnOp::create(b, zero);
  return success();
}

LogicalResult tcc::codegen::emitHostProgram(func::FuncOp function, ModuleOp module,
                                            const HostCallbacks &callbacks) {
  return HostEmitter(function, module, callbacks).run();
}
