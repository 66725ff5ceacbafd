//===- Driver.h - The compiler behind the command line -----------*- C++ -*-===//
//
// One compile from options to files. tools/tcc only parses and prints.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Pipeline/Pipeline.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tcc {

enum class EmitKind { So, Obj, Llvm, Asm, Ptx, Cubin, Mlir };

struct DriverOptions {
  std::string input, output;
  bool outputIsDefault = false; ///< nobody typed its name
  std::string backend = kOwnBackend.str();
  /// Empty: this machine and its CPU; for another target the least it can be.
  std::string cpu, target;
  std::string archs; ///< GPUs to compile for, as on the command line; empty: none
  std::string ptxas; ///< empty: what is found
  std::vector<std::string> shapes, dims; ///< as on the command line
  Precision precision = Precision::F32;
  EmitKind emit = EmitKind::So;
  std::string mode = "default";
  std::vector<std::string> options; ///< torch.compile's, key=value
  std::string tuning;               ///< record of schedules to go by, when not empty
  double tuneBudget = 60;           ///< seconds
  bool tunes() const;               ///< measures what the record lacks
  std::vector<std::string> idle;    ///< flags given that change nothing yet
  Phase stopAfter = Phase::Emit;
  std::optional<Phase> startFrom; ///< the input is IR as written before this phase
  std::string depfile;            ///< Make rule naming every file that was read
  bool printPlan = false;
  bool noFallback = false; ///< refuse a model for which the host waits for a device in a run
  bool verify = false;     ///< run the result beside the reference interpreter
  std::string reproducer;  ///< folder from which a fault can be repeated, when not empty
  std::string command;     ///< the command line, for the reproducer

  /// The flags that change what is compiled, for the manifest.
  std::vector<std::string> resultFlags() const;
  std::string dumpDir;                 ///< IR after each phase, when not empty
  std::vector<std::string> dumpPhases; ///< only these, when not empty
  std::string cacheDir;                ///< empty: none
  uint64_t embedLimit = 256ull << 20;  ///< weights above this go to a file beside
  unsigned jobs = 0;                   ///< 0: all cores
  unsigned threads() const;
  bool timing = false;
};

/// What the summary line says.
struct CompileSummary {
  unsigned kernels = 0, cacheHits = 0;
  uint64_t weightBytes = 0, arenaBytes = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> phaseSeconds;
  std::vector<std::pair<std::string, double>> slowestKernels; ///< to compile, slowest first
  std::vector<std::string> notes;                             ///< what was given and does not count
  std::string plan;                                           ///< with printPlan
  std::string verified;                                       ///< with verify: what was found
  std::string tuned;                                          ///< with max-autotune: what was found
};

/// Compiles `options.input` to `options.output`. A UserError is the user's fault
/// (exit code 2), any other ours (1). Nothing is left behind by a failure.
llvm::Expected<CompileSummary> compile(const DriverOptions &options);

/// Where compiled kernels are kept: $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else
/// ~/.cache/tcc.
std::string defaultCacheDir();

} // namespace tcc
