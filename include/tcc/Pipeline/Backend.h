//===- Backend.h - What the pipeline asks of a target -----------*- C++ -*-===//
//
// The seam between the compiler and what it compiles for. A back-end says which kernels it
// takes, how weights lie for them, in which ways they may run, how one of them becomes code,
// and how the host program starts it. The phases, the kernel compiler, the cache and the tuner
// ask a back-end and know no target.
//
// A model has one back-end. The host program is code for the CPU of the target whatever the
// back-end is, so the pipeline compiles it itself.
//
// A back-end is made for one target, never changes, and may be used by several threads at once.
// How one is added: docs/Rationale/back-ends.md.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Pass/PassManager.h"
#include "tcc/Analysis/ScheduleModel.h"
#include "tcc/Codegen/Common/LaunchEmitter.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/LayoutAssign/LayoutAssign.h"
#include "tcc/Target/Target.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tcc {
class WeightTable;

/// What the codegen phase writes.
enum class CodeForm : uint8_t { Object, Assembly, LlvmIr };

/// Told what the code of a kernel or of the host function looks like on its way: as loops
/// (".mlir"), as optimised LLVM IR (".ll"), as assembly (".s"). Called from any thread.
using CodeObserver =
    std::function<void(llvm::StringRef symbol, llvm::StringRef suffix, llvm::StringRef text)>;

enum class CodeKind : uint8_t {
  HostObject, ///< linked into the library; text where the form is not Object
  Cubin,      ///< for one GPU architecture
  Ptx,        ///< for GPUs from one architecture on
  Text,       ///< the kernel as it is, for the reference interpreter
};

/// Code of one kernel.
struct CodeObject {
  CodeKind kind = CodeKind::HostObject;
  std::string architecture; ///< "sm_90a"; "sim" in objects of the host too; empty for the host
  llvm::SmallVector<char, 0> bytes;
  /// What the manifest tells of it, such as {"registers", 168}.
  std::vector<std::pair<std::string, int64_t>> facts;
};
using KernelCode = llvm::SmallVector<CodeObject, 1>;

/// A kernel to be compiled. It is parsed from its text into a context of the calling thread;
/// what is reported there becomes part of the error.
struct KernelSource {
  kernel::LaunchOp launch;
  llvm::StringRef symbol;
  unsigned architecture; ///< below Backend::architectures()
  CodeForm form;
  const CodeObserver &observer; ///< null: nobody looks
};

class Backend {
public:
  explicit Backend(Target target) : platform(std::move(target)) {}
  virtual ~Backend();

  /// As the command line and the registry call it.
  virtual llvm::StringRef name() const = 0;
  const Target &target() const { return platform; }

  /// A UserError that says why where there is no code for `launch`.
  virtual llvm::Error accepts(kernel::LaunchOp launch) const = 0;

  /// Adds the passes that make what it has kernels for of primitives that it has none for, to
  /// phase decompose. `weights` outlives `passes`.
  virtual void addDecomposePasses(mlir::OpPassManager &passes, WeightTable &weights) const = 0;

  /// Adds the passes that keep weights integers for kernels that widen them, to phase simplify
  /// before constants are folded. `weights` outlives `passes`.
  virtual void addIntegerWeightPasses(mlir::OpPassManager &passes, WeightTable &weights) const {}

  /// Adds the passes that choose the operand whose columns are lanes and give convolutions channels
  /// last, to phase layout. `asked`: what values are to be stored in, where that is not F32.
  virtual void addAxisOrderPasses(mlir::OpPassManager &passes, Precision asked) const;

  /// Adds the passes that bring weights into the order that kernels read, to phase layout.
  /// `weights` outlives `passes`. Where there are several such orders and a `chooser`, it is asked.
  virtual void addLayoutPasses(mlir::OpPassManager &passes, WeightTable &weights,
                               const LayoutChooser &chooser) const = 0;

  /// Adds passes that see every launch with its schedule, to phase schedule.
  virtual void addSchedulePasses(mlir::OpPassManager & /*passes*/) const {}

  /// The ways to run a launch. What is recorded there holds for all architectures.
  virtual const ScheduleModel &schedules() const = 0;

  /// Of a back-end for devices, that for launches which are better on the machine's own CPU.
  virtual const Backend *hostBackend() const { return nullptr; }

  /// Where the tensors lie that launches read and write.
  virtual host::MemorySpace memorySpace() const { return host::MemorySpace::host; }

  /// Writes the launches of one host program; `*this` outlives it.
  virtual std::unique_ptr<codegen::LaunchEmitter> launchEmitter() const = 0;

  /// Every kernel is compiled once for each of so many architectures, each time on some thread.
  virtual unsigned architectures() const { return 1; }
  virtual llvm::Expected<KernelCode> compile(const KernelSource &kernel) const = 0;

  /// Registers dialects that `compile` needs beside those of every phase.
  virtual void registerDialects(mlir::DialectRegistry &) const {}

  /// All that a kernel's code for an architecture depends on beside its text, its symbol, the
  /// form and this build of tcc.
  virtual std::string key(unsigned architecture) const = 0;
  /// Stands for the target in tuning records: another key, other measurements.
  virtual std::string tuningKey() const = 0;
  /// What a user should know of code that this back-end makes on this machine.
  virtual std::vector<std::string> notes() const { return {}; }

private:
  Target platform;
};

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

struct BackendKind {
  llvm::StringRef name, what;
  /// A UserError where the target lacks what the back-end needs.
  llvm::Expected<std::unique_ptr<Backend>> (*create)(const Target &target);
};

/// All that this tcc has, the usual first.
llvm::ArrayRef<BackendKind> backendKinds();

/// torch.compile's name for the compiler's own code: the back-end that fits the target.
inline constexpr llvm::StringLiteral kOwnBackend = "inductor";

/// `name` is one of backendKinds or kOwnBackend; any other is the user's error.
llvm::Expected<std::unique_ptr<Backend>> createBackend(llvm::StringRef name, const Target &target);

} // namespace tcc
