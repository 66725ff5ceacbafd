//===- Pipeline.h - The phases and their order -------------------*- C++ -*-===//
//
// The only place that knows which phase follows which. Stopping, resuming,
// dumping and timing all go by this enum.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "tcc/Fusion/Fusion.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Pipeline/Backend.h"
#include "tcc/Schedule/Schedule.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>

namespace tcc {

enum class Phase {
  Import,
  Decompose,
  Simplify,
  Differentiate,
  Layout,
  Fuse,
  Schedule,
  Plan,
  Codegen,
  Emit
};
inline constexpr Phase kPhases[] = {
    Phase::Import, Phase::Decompose, Phase::Simplify, Phase::Differentiate, Phase::Layout,
    Phase::Fuse,   Phase::Schedule,  Phase::Plan,     Phase::Codegen,       Phase::Emit};

llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// A model on its way: the IR and the weights it names.
struct Model {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::shared_ptr<WeightTable> weights = std::make_shared<WeightTable>();

  /// The function that a run calls, `@main`.
  mlir::func::FuncOp main() const;
};

struct PipelineOptions {
  std::shared_ptr<const Backend> backend; ///< for one target; there must be one
  Precision precision = Precision::F32;
  unsigned jobs = 1;
  std::string cacheDir;             ///< compiled kernels by content; empty: none
  CodeForm code = CodeForm::Object; ///< of the kernels and the host program
  /// What --verify turns off to find whose a fault is.
  bool fuse = true;               ///< several primitives in a kernel
  bool inPlace = true;            ///< results in the place of inputs that die
  CodeObserver codeObserver;      ///< while there is one, nothing comes from the cache
  LayoutChooser chooseLayout;     ///< of the orders that weights may lie in; none: the first
  CutChooser chooseCut;           ///< of the ways to cut a kernel; none: whole
  ScheduleChooser chooseSchedule; ///< of a launch's candidates; none: the first
  /// Called when a phase that works on the IR starts, and when it is done.
  std::function<void(Phase)> beforePhase;
  std::function<void(Phase, mlir::ModuleOp)> afterPhase;
  /// Called when one more of `total` kernels is compiled, from any thread.
  std::function<void(unsigned done, unsigned total)> kernelDone;
};

/// The dialects of every phase.
void registerDialects(mlir::DialectRegistry &registry);

/// Runs the phases (from, to] that work on the IR: decompose to plan. After each,
/// a verifier checks that only what may exist there does.
llvm::Error runPhases(Model &model, Phase from, Phase to, const PipelineOptions &options);

/// Whether the module may be what `phase` left, where somebody else says so: errors are emitted.
mlir::LogicalResult mayFollow(const Model &model, Phase phase);

/// Calls `f` for every pass, in the order in which they run.
void forEachPass(
    llvm::function_ref<void(Phase, llvm::StringRef argument, llvm::StringRef description)> f);

/// One compiled function and the launches that it does.
struct CompiledKernel {
  std::string symbol;
  mlir::Operation *definition = nullptr;   ///< the kernel.launch in the module
  std::vector<mlir::Operation *> launches; ///< in the module, in program order
  bool onHost = false;                     ///< of a model whose other kernels run on a device
  KernelCode code;                         ///< but for what is linked: that is in `objects`
  bool cached = false;                     ///< all of it
  double seconds = 0;                      ///< of a thread, to compile it
};

/// What the codegen phase makes: objects, and what the link needs to know.
struct CompiledModel {
  std::vector<llvm::SmallVector<char, 0>> objects;
  std::vector<std::string> weightNames; ///< in the order of the blob
  std::vector<CompiledKernel> kernels;  ///< in the order of the module's host.kernels
  uint64_t arenaSize = 0, deviceArenaSize = 0;
  uint64_t stateSize = 0; ///< where the back-end's launches have their tensors
  /// What the state starts as: a copy of `size` bytes of the blob.
  struct StateInit {
    uint64_t offset, weightsOffset, size;
  };
  std::vector<StateInit> stateInits;
};

/// The codegen phase: code of each distinct kernel, and an object for the host function.
llvm::Expected<CompiledModel> generateCode(Model &model, const PipelineOptions &options);

} // namespace tcc
