//===- KernelFrame.cpp - What GPU kernel templates start from -------------===//
//
// What every GPU template starts with: arguments as parameters of the kernel, thread and block
// numbers, shared memory, exchanges within a warp. What they have in common is here, so that a
// template is its loop nest and nothing else.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "ScheduleChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

/// Address spaces of NVPTX.
constexpr unsigned kGlobal = 1, kShared = 3;

static Value asIndex(ImplicitLocOpBuilder &b, Value i32) {
  return arith::IndexCastUIOp::create(b, b.getIndexType(), i32);
}

device::KernelFrame::KernelFrame(kernel::LaunchOp launch, LLVM::LLVMFuncOp function,
                                 Schedule schedule, const GpuArch &arch)
    : LaunchFrame(launch), function(function), schedule(schedule), arch(arch) {
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  thread = asIndex(b, NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  block = asIndex(b, NVVM::BlockIdXOp::create(b, b.getI32Type()));
  unsigned next = 0;
  bindArguments(LLVM::LLVMPointerType::get(b.getContext(), kGlobal), GpuArch::accessBytes,
                [&](Type) { return entry->getArgument(next++); });
  if (schedule.getScratchBytes())
    scratch = entry->getArgument(next);
  if (scratch && schedule.getBeside())
    scratch = LLVM::GEPOp::create(b, scratch.getType(), b.getI8Type(), scratch,
                                  ArrayRef<LLVM::GEPArg>{int32_t(kBesideBytes)});
}

Value device::KernelFrame::globalThread() {
  return e.addIndex(e.mulIndex(block, e.index(schedule.getThreads())), thread);
}

Value device::KernelFrame::less(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
}

Value device::KernelFrame::notBelow(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, x, y);
}

Value device::KernelFrame::i32(int64_t v) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(v)));
}

Value device::KernelFrame::volume(ValueRange extents) {
  Value product = e.index(1);
  for (Value d : extents)
    product = e.mulIndex(product, d);
  return product;
}

void device::KernelFrame::barrier() { NVVM::Barrier0Op::create(b); }

/// `text` as inline PTX, because LLVM takes its intrinsics for operators that touch no memory.
static void controlStart(ImplicitLocOpBuilder &b, StringRef text) {
  LLVM::InlineAsmOp::create(b, Type(), ValueRange(), text, "~{memory}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                            LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
                            ArrayAttr());
}

void device::KernelFrame::awaitEarlierWork() {
  awaits = true;
  if (arch.pdl)
    controlStart(b, "griddepcontrol.wait;");
}

/// Asks the L2 cache for operands of one short axis: scales and shifts of norms, above all, which
/// lie in memory and are read when the rows have been reduced. Whoever writes them meanwhile writes
/// them to that cache.
void device::KernelFrame::prefetchVectors() {
  constexpr int64_t kMost = 16 << 10, kLine = 128; // bytes
  Value number =
      arith::AddIOp::create(b,
                            arith::MulIOp::create(b, NVVM::BlockIdXOp::create(b, b.getI32Type()),
                                                  i32(schedule.getThreads())),
                            NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  for (BlockArgument argument : launch.getBody().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getRank() == 0 ||
        type.getNumElements() != type.getShape().back())
      continue;
    int64_t bytes = type.getNumElements() * elementBytes(type.getElementType());
    if (bytes < kLine || bytes > kMost)
      continue;
    Value memory = e.memoryOf(argument)->pointer;
    when(less(number, i32(llvm::divideCeil(bytes, kLine))), [&] {
      Value offset = arith::MulIOp::create(b, number, i32(kLine));
      Value line = LLVM::GEPOp::create(b, memory.getType(), b.getI8Type(), memory,
                                       ArrayRef<LLVM::GEPArg>{offset});
      auto level = NVVM::PrefetchCacheLevelAttr::get(b.getContext(), NVVM::PrefetchCacheLevel::L2);
      NVVM::PrefetchOp::create(b, level, NVVM::CacheEvictionPriorityAttr(), line, Value());
    });
  }
}

void device::KernelFrame::startEarly() {
  if (!arch.pdl)
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  auto letNextStart = [&] { controlStart(b, "griddepcontrol.launch_dependents;"); };
  bool beside = schedule.getBeside();
  // Beside the kernel before, which has waited, the work before both has ended.
  if (schedule.getNextEarly() || (beside && schedule.getNextBeside()))
    letNextStart();
  if (awaits)
    return;
  prefetchVectors();
  if (beside)
    b.setInsertionPoint(function.getBody().back().getTerminator());
  awaitEarlierWork();
  if (!beside && schedule.getNextBeside())
    letNextStart();
}

Value device::KernelFrame::shared(Type element, int64_t count, StringRef what) {
  auto module = function->getParentOfType<ModuleOp>();
  auto array = LLVM::LLVMArrayType::get(element, count);
  std::string name = (function.getName() + "_" + what).str();
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto global = LLVM::GlobalOp::create(builder, b.getLoc(), array, /*isConstant=*/false,
                                       LLVM::Linkage::Internal, name, Attribute(),
                                       GpuArch::accessBytes, kShared);
  return LLVM::AddressOfOp::create(b, global);
}

Value device::KernelFrame::dynamicShared() {
  auto top = OpBuilder::atBlockBegin(function->getParentOfType<ModuleOp>().getBody());
  auto array = LLVM::LLVMArrayType::get(b.getI8Type(), 0);
  auto global = LLVM::GlobalOp::create(top, b.getLoc(), array, false, LLVM::Linkage::External,
                                       (function.getName() + "_shared").str(), Attribute(),
                                       /*alignment=*/1024, kShared);
  return LLVM::AddressOfOp::create(b, global);
}

Value device::KernelFrame::scratchAt(int64_t offset, Type element, Value index) {
  Value base = LLVM::GEPOp::create(b, scratch.getType(), b.getI8Type(), scratch,
                                   ArrayRef<LLVM::GEPArg>{int32_t(kCounterBytes + offset)});
  return at(base, element, index);
}

void device::KernelFrame::inLastBlock(Value counter, unsigned blocks, function_ref<void()> body) {
  inLastBlock(counter, e.index(blocks), body);
}

void device::KernelFrame::inLastBlock(Value counter, Value blocks, function_ref<void()> body) {
  auto fence = [&] {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, StringRef("device"));
  };
  Value flag = shared(b.getI32Type(), 1, "last");
  fence();
  barrier();
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, e.index(0));
  when(first, [&] {
    Value place = at(scratch, b.getI32Type(), counter);
    Value before = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, place, i32(1),
                                             LLVM::AtomicOrdering::monotonic, StringRef("device"));
    Value most = arith::IndexCastUIOp::create(b, b.getI32Type(), e.subIndex(blocks, e.index(1)));
    Value last = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, before, most);
    LLVM::StoreOp::create(b, arith::ExtUIOp::create(b, b.getI32Type(), last), flag);
    when(last, [&] { LLVM::StoreOp::create(b, i32(0), place); });
  });
  barrier();
  fence();
  Value last = LLVM::LoadOp::create(b, b.getI32Type(), flag);
  when(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, last, i32(0)), body);
}

Type device::KernelFrame::asStored(Type computed) {
  return computed.isInteger(1) ? Type(b.getI8Type()) : computed;
}

Value device::KernelFrame::asStored(Value computed) {
  Type stored = asStored(computed.getType());
  return stored == computed.getType() ? computed
                                      : Value(arith::ExtUIOp::create(b, stored, computed));
}

Value device::KernelFrame::asComputed(Value stored, Type computed) {
  return stored.getType() == computed ? stored
                                      : Value(arith::TruncIOp::create(b, computed, stored));
}

Value device::KernelFrame::readHere(Value v) {
  if (arch.simulated)
    return v;
  return LLVM::InlineAsmOp::create(b, v.getType(), v, "", v.getType().isF64() ? "=d,0" : "=f,0",
                                   /*has_side_effects=*/false, /*is_align_stack=*/false,
                                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(),
                                   ArrayAttr())
      .getResult(0);
}

Value device::KernelFrame::at(Value base, Type element, Value index) {
  Value offset = arith::IndexCastUIOp::create(b, b.getI32Type(), index);
  return LLVM::GEPOp::create(b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{offset});
}

//===----------------------------------------------------------------------===//
// Lanes of a warp
//===----------------------------------------------------------------------===//

Value device::exchangeLanes(ImplicitLocOpBuilder &b, Value v, unsigned distance) {
  Type type = v.getType(), i32 = b.getI32Type();
  auto constant = [&](int32_t c) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(c));
  };
  auto exchange = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, word.getType(), constant(-1), word, constant(distance),
                                constant(31), NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.isF32() || type.isInteger(32))
    return exchange(v);
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width);
  if (width < 32) {
    Value wide = arith::ExtUIOp::create(
        b, i32, type == bits ? v : Value(arith::BitcastOp::create(b, bits, v)));
    Value narrow = arith::TruncIOp::create(b, bits, exchange(wide));
    return type == bits ? narrow : Value(arith::BitcastOp::create(b, type, narrow));
  }
  Value whole = type == bits ? v : Value(arith::BitcastOp::create(b, bits, v));
  Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
  Value low = exchange(arith::TruncIOp::create(b, i32, whole));
  Value high = exchange(arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, whole, half)));
  Value shifted = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, bits, high), half);
  Value joined = arith::OrIOp::create(b, shifted, arith::ExtUIOp::create(b, bits, low));
  return type == bits ? joined : Value(arith::BitcastOp::create(b, type, joined));
}

Value device::reduceWarp(ImplicitLocOpBuilder &b, Value v, prim::ReduceKind kind, Type elementType,
                         unsigned lanes) {
  for (unsigned distance = lanes / 2; distance; distance /= 2)
    v = emitCombine(b, kind, elementType, v, exchangeLanes(b, v, distance));
  return v;
}

Value device::exp2Approximately(ImplicitLocOpBuilder &b, Value x) {
  return LLVM::CallIntrinsicOp::create(
             b, b.getF32Type(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), ValueRange{x})
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// What a launch is
//===----------------------------------------------------------------------===//

Value device::rowSpace(kernel::LaunchOp launch) {
  for (Operation &op : launch.getBody().front())
    if (auto reduce = dyn_cast<prim::ReduceOp>(op))
      return reduce.getX();
  return {};
}

unsigned device::lineAxesOf(kernel::LaunchOp launch) {
  for (Operation &op : launch.getBody().front())
    if (auto reduce = dyn_cast<prim::ReduceOp>(op); reduce && !reduce.getAxes().empty())
      return unsigned(tensorType(reduce.getX()).getRank() - reduce.getAxes().back() - 1);
  return 0;
}

SmallVector<Operation *, 2> device::productsOf(kernel::LaunchOp launch) {
  SmallVector<Operation *, 2> products;
  for (Operation &op : launch.getBody().front())
    if (op.hasTrait<prim::Contraction>())
      products.push_back(&op);
  return products;
}

Operation *device::productOf(kernel::LaunchOp launch) {
  auto products = productsOf(launch);
  return products.empty() ? nullptr : products.front();
}
