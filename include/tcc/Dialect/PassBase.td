//===- PassBase.td - What every pass says of itself -*- tablegen -*-===//
#ifndef TCC_DIALECT_PASSBASE_TD
#define TCC_DIALECT_PASSBASE_TD
include "mlir/Pass/PassBase.td"

// A pass on a module. Its name is tcc-<phase>-<what>. Its description says why it exists, shows IR
// before and after, and says after which pass it runs and before which, because of what. A test
// runs every pass on its IR; words behind `before` and `after` are passes to run first and last,
// or the options of the pass itself.
class Tcc_Pass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  // Passes are made by functions that take weights, targets and the like (the phase's header).
  let constructor = "nullptr";
}
#endif
