//===- Passes.td - The pass of the schedule phase -*- tablegen -*-===//
#ifndef TCC_SCHEDULE_PASSES_TD
#define TCC_SCHEDULE_PASSES_TD
include "tcc/Dialect/PassBase.td"

def ScheduleKernelsPass : Tcc_Pass<"tcc-schedule-kernels"> {
  let summary = "Record on each launch how it is run";
  let description = [{
    The target's model ranks candidates; the best is taken, or what a tuning record or a tuner says.
    A launch that has a schedule keeps it. Host program, kernel, plan report and manifest read it
    there.

    ```mlir before
    func.func @f(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
      %0 = kernel.launch loop "neg" ins(%x : tensor<8x256xf32>) sizes() {
      ^bb0(%a: tensor<8x256xf32>):
        %1 = prim.neg %a : (tensor<8x256xf32>) -> tensor<8x256xf32>
        kernel.yield %1 : tensor<8x256xf32>
      } -> tensor<8x256xf32>
      return %0 : tensor<8x256xf32>
    }
    ```
    ```mlir after
    func.func @f(%arg0: tensor<8x256xf32>) -> tensor<8x256xf32> {
      %0 = kernel.launch loop "neg" ins(%arg0 : tensor<8x256xf32>) sizes() {
      ^bb0(%arg1: tensor<8x256xf32>):
        %1 = prim.neg %arg1 : (tensor<8x256xf32>) -> tensor<8x256xf32>
        kernel.yield %1 : tensor<8x256xf32>
      } {schedule = #cpu.loop_schedule<lanes = 8, axis = 1, chunk = 4096, grain = 64>} -> tensor<8x256xf32>
      return %0 : tensor<8x256xf32>
    }
    ```

    Runs after the last pass that changes what a kernel computes, since the choice depends on all of
    it, and before plan and code generation, which must agree on it.
  }];
}
#endif
