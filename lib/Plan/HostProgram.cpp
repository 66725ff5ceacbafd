//===- HostProgram.cpp - A planned function as a host program -------------===//
//
// Every tensor becomes memory, every launch an operator that says where it reads and
// writes. Three rules:
//
//   - A block of the heap belongs to one value. It is freed after the last reader in the
//     block of code that made it; arenas and outputs never are.
//   - What leaves a branch or a turn of a loop, and is needed outside, leaves in the block
//     of the heap that it owns, or as a copy in one of its own: whoever receives a tensor
//     owns its block.
//   - New values of arguments (`graph.mutates`) are written when all else is done: a run
//     that fails changes nothing, and what reads the old value reads it before. Where a kernel
//     changes a part of one and is the last to read it, that part is changed there and then
//     (StoragePlan.cpp).
//
//===----------------------------------------------------------------------===//
#include "Plan/HostProgram.h"
#include "Plan/ProgramBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Analysis/InsertedPart.h"
#include "tcc/Signature/Signature.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

//===----------------------------------------------------------------------===//
// Results and changed arguments
//===----------------------------------------------------------------------===//

/// The argument whose new value result `i` is, if it is one.
BlockArgument ProgramBuilder::changedBy(unsigned i) {
  std::optional<unsigned> argument = Signature(source).changedArgument(i);
  return argument ? source.getArgument(*argument) : BlockArgument();
}

/// The number of the output that result `i` is.
static int32_t outputNumber(func::FuncOp source, unsigned i) {
  int32_t number = 0;
  for (unsigned before = 0; before < i; ++before)
    number += Signature(source).isOutput(before);
  return number;
}

/// Storage of result `i` of the model, in that result's shape.
Value ProgramBuilder::outputStorage(unsigned i) {
  Value returned = source.getBody().front().getTerminator()->getOperand(i);
  MemRefType type = host::memoryType(tensorType(returned), space);
  Value storage = host::OutputOp::create(b, type, outputNumber(source, i), openExtents(returned));
  outputs[i] = storage;
  return storage;
}

/// Results that no kernel wrote: arguments, weights, what a loop gave, a result twice.
void ProgramBuilder::giveOutputs() {
  for (auto [i, v] : llvm::enumerate(source.getBody().front().getTerminator()->getOperands())) {
    if (!isa<RankedTensorType>(v.getType()))
      outputs[i] = scalarOf(v);
    else if (!outputs[i] && Signature(source).isOutput(i))
      copy(memoryOf(v), outputStorage(i));
  }
}

void ProgramBuilder::writeBack() {
  struct Change {
    Value target, from;
  };
  SmallVector<Change> changes;
  SmallVector<Value> saved;
  for (auto [i, v] : llvm::enumerate(source.getBody().front().getTerminator()->getOperands())) {
    BlockArgument argument = changedBy(i);
    if (!argument)
      continue;
    outputs[i] = memoryOf(argument);
    auto given = dyn_cast<BlockArgument>(storageOf(v));
    if (given == argument || inArgument.lookup(storageOf(v)) == argument)
      continue;
    Value from = memoryOf(v);
    if (given) { // may be written itself before it is read: buffers that change places
      from = allocate(v);
      copy(memoryOf(v), from);
      saved.push_back(from);
    }
    changes.push_back({memoryOf(argument), from});
  }
  for (auto [target, from] : changes)
    copy(from, target);
  for (Value block : saved)
    host::FreeOp::create(b, block);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Gives result `i` of `launch` its memory.
Value ProgramBuilder::place(kernel::LaunchOp launch, unsigned i) {
  Value result = launch.getResult(i);
  MemRefType type = memoryType(result);
  const Place &place = plan.places.at(launch)[i];
  if (const auto *at = std::get_if<InArena>(&place))
    return host::SliceOp::create(b, type, arena(at->arena, result), at->offset,
                                 openExtents(result));
  if (const auto *output = std::get_if<InOutput>(&place)) {
    Value storage = outputStorage(output->result);
    bool isReturned =
        source.getBody().front().getTerminator()->getOperand(output->result) == result;
    if (isReturned || type.hasStaticShape())
      return viewAs(storage, type, openExtents(result));
    // Of one type with open extents there are many shapes.
    return host::ViewOp::create(b, type, storage, openExtents(result));
  }
  if (const auto *over = std::get_if<OverArgument>(&place)) {
    Value input = launch.getInputs()[over->input];
    inArgument[result] = cast<BlockArgument>(storageOf(input));
    return viewAs(memoryOf(input), type, openExtents(result));
  }
  if (const auto *in = std::get_if<InPart>(&place)) {
    kernel::LaunchOp inserts = in->inserts;
    InsertedPart part = *InsertedPart::of(inserts);
    auto first = dyn_cast<Value>(part.first);
    Value number = first ? scalarOf(first)
                         : arith::ConstantIndexOp::create(b, *getConstantIntValue(part.first));
    Value each = arith::ConstantIndexOp::create(b, part.elements);
    return host::PartOp::create(b, type, memoryOf(inserts.getInputs()[part.whole]),
                                arith::MulIOp::create(b, number, each));
  }
  if (std::holds_alternative<InFlag>(place)) {
    CheckFlag flag = plan.flags.of.lookup(result);
    MemRefType shared = host::memoryType(tensorType(result), host::MemorySpace::pinned);
    return host::FlagOp::create(b, flag.check.getLoc(), shared, flag.bad, flag.check.getMessage());
  }
  Value taken; // whose block is the result's now
  if (const auto *over = std::get_if<OverInput>(&place))
    taken = launch.getInputs()[over->input];
  else if (const auto *over = std::get_if<OverCarried>(&place))
    taken = launch->getBlock()->getArgument(over->argument);
  if (taken) {
    owned.erase(storageOf(taken));
    owned.insert(result);
    return viewAs(memoryOf(taken), type, openExtents(result));
  }
  owned.insert(result);
  return allocate(result);
}

/// How many elements a tensor has.
Value ProgramBuilder::elementsOf(Value tensor) {
  Value all = arith::ConstantIndexOp::create(b, 1);
  for (unsigned i = 0, e = tensorType(tensor).getRank(); i < e; ++i)
    all = arith::MulIOp::create(b, all, extent(tensor, i));
  return all;
}

/// How many elements the largest of the tensors has that a launch reads or makes, of those that a
/// run knows.
Value ProgramBuilder::largestOf(kernel::LaunchOp launch) {
  Value most;
  auto look = [&](Value v) {
    auto tensor = dyn_cast<RankedTensorType>(v.getType());
    if (!tensor || tensor.hasStaticShape())
      return;
    Value elements = elementsOf(v);
    most = most ? Value(arith::MaxUIOp::create(b, most, elements)) : elements;
  };
  llvm::for_each(launch.getInputs(), look);
  llvm::for_each(launch.getResults(), look);
  return most;
}

void ProgramBuilder::convertLaunch(kernel::LaunchOp launch) {
  SmallVector<Value> inputs, outs;
  for (auto [i, result] : llvm::enumerate(launch.getResults()))
    outs.push_back(memory[result] = place(launch, i));
  if (plan.done.contains(launch))
    return;
  for (Value input : launch.getInputs())
    inputs.push_back(isa<RankedTensorType>(input.getType()) ? memoryOf(input) : scalarOf(input));
  auto start = [&](kernel::LaunchOp launch) {
    host::KernelOp kernel = kernels.kernelOf(launch);
    host::LaunchOp::create(b, kernel.getSymName(), inputs, outs, launch.getOnHostAttr());
  };
  kernel::Schedule given = launch.getScheduleAttr();
  Value elements;
  std::function<void(kernel::Schedule)> startAs = [&](kernel::Schedule schedule) {
    auto bySize = dyn_cast_or_null<kernel::BySizeAttr>(schedule);
    if (!bySize) {
      launch.setScheduleAttr(schedule);
      return start(launch);
    }
    Value below = arith::ConstantIndexOp::create(b, bySize.getBelow());
    if (!bySize.getLargest() && !elements)
      elements = elementsOf(launch.getResult(0));
    Value size = bySize.getLargest() ? largestOf(launch) : elements;
    Value isSmall = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, size, below);
    auto branch = scf::IfOp::create(b, isSmall, /*withElseRegion=*/true);
    for (auto [block, part] : {std::pair(branch.thenBlock(), bySize.getSmall()),
                               std::pair(branch.elseBlock(), bySize.getLarge())}) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(block);
      startAs(part);
    }
  };
  startAs(given);
  launch.setScheduleAttr(given);
}

/// What lies on both sides, or on the right one, is not copied.
void ProgramBuilder::convertMove(kernel::MoveOp move) {
  Value from = move.getX(), to = move.getResult();
  bool toHost = move.getPlace() == kernel::Place::Host;
  bool both = isa_and_nonnull<prim::WeightOp, prim::ConstantOp>(storageOf(from).getDefiningOp());
  if (both || spaceOf(from) == spaceOf(to)) {
    Value here = both && toHost ? whereHostReads(from) : memoryOf(from);
    memory[to] = viewAs(here, memoryType(to), openExtents(from));
  } else {
    memory[to] = host::AllocOp::create(b, memoryType(to), openExtents(from));
    copy(memoryOf(from), memory[to]);
    owned.insert(to);
  }
  bound.insert(to);
}

LogicalResult ProgramBuilder::convertOther(Operation *op) {
  if (isa<prim::PrimDialect>(op->getDialect()))
    return op->emitError("'") << op->getName() << "' was left without a kernel";
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, scalarOf(operand));
  Operation *copy = b.clone(*op, map);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    scalars[from] = to;
  return success();
}

LogicalResult ProgramBuilder::convert(Operation *op) {
  b.setLoc(op->getLoc());
  if (plan.flags.readers.contains(op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](kernel::LaunchOp o) {
        convertLaunch(o);
        return success();
      })
      .Case([&](kernel::MoveOp o) {
        convertMove(o);
        return success();
      })
      .Case<prim::WeightOp, prim::ConstantOp>([](auto) { return success(); })
      .Case([&](prim::DimOp o) {
        scalars[o] = extent(o.getX(), o.getAxis());
        return success();
      })
      .Case([&](prim::ReshapeOp o) {
        Value from = memoryOf(o.getX());
        host::MemorySpace where = host::memorySpace(cast<MemRefType>(from.getType()));
        MemRefType type = host::memoryType(tensorType(o), where);
        if (type.hasStaticShape())
          memory[o] = viewAs(from, type, {});
        else // of one type with open extents there are many shapes
          memory[o] = host::ViewOp::create(b, type, from, openExtents(o));
        return success();
      })
      .Case([&](prim::ExtractOp o) {
        Value from = whereHostReads(o.getX());
        scalars[o] = host::ReadOp::create(b, o.getType(), from, o.getPosition());
        return success();
      })
      .Case([&](prim::AssertOp o) {
        host::AssertOp::create(b, scalarOf(o.getCondition()), o.getMessage());
        return success();
      })
      .Case([&](prim::RandomSeedOp o) {
        scalars[o] = host::RandomSeedOp::create(b, o.getType());
        return success();
      })
      .Case([&](prim::RandomDrawOp o) {
        scalars[o] = host::RandomDrawOp::create(b, o.getType(), o.getGenerator());
        return success();
      })
      .Case([&](prim::IfOp o) { return convertIf(o); })
      .Case([&](prim::WhileOp o) { return convertWhile(o); })
      .Default([&](Operation *o) { return convertOther(o); });
}

/// The operators of `block`, and what they own freed after its last reader; what the
/// block's end reads is left to whoever ends it.
LogicalResult ProgramBuilder::convertBlock(Block &block) {
  const StorageLiveness &liveness = livenessOf(block);
  DenseMap<Operation *, SmallVector<Value>> freedAfter;
  for (Operation *op :
       llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; })) {
    if (failed(convert(op)))
      return failure();
    for (Value v : op->getResults())
      if (owned.contains(v)) {
        Operation *last = liveness.lastReader(v);
        if (last != block.getTerminator())
          freedAfter[last ? last : op].push_back(v);
      }
    for (Value v : freedAfter.lookup(op))
      release(v);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult ProgramBuilder::run() {
  auto program = cast<func::FuncOp>(source->cloneWithoutRegions());
  findHostArguments();
  program.setFunctionType(b.getFunctionType(programTypes(source.getArguments()), {}));
  source->getBlock()->getOperations().insert(source->getIterator(), program);
  entry = program.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (auto [from, to] : llvm::zip(source.getArguments(), entry->getArguments()))
    bind(from, to);
  arenas.resize(plan.arenas.size());
  outputs.resize(source.getNumResults());
  if (failed(convertBlock(source.getBody().front())))
    return failure();
  Signature signature(source);
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    if (!signature.isOutput(i) && !changedBy(i))
      return source.emitError("result ")
             << i << " changes \"" << signature.changedName(i) << "\", which is no argument";
  b.setLoc(source.getBody().front().getTerminator()->getLoc());
  giveOutputs();
  writeBack();
  for (Value arena : llvm::drop_begin(arenas))
    if (arena)
      host::FreeOp::create(b, arena);
  func::ReturnOp::create(b, outputs);
  program.setFunctionType(b.getFunctionType(program.getArgumentTypes(), TypeRange(outputs)));
  source.erase();
  return success();
}

LogicalResult plan::makeHostProgram(func::FuncOp function, const StoragePlan &plan,
                                    KernelTable &kernels, host::MemorySpace space) {
  return ProgramBuilder(function, plan, kernels, space).run();
}
