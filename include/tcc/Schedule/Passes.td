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

def PlaceLaunchesPass : Tcc_Pass<"tcc-schedule-place-launches"> {
  let summary = "Run on the host what it would wait for longer than it takes";
  let description = [{
    Of a model for a device. What the host reads an extent or a condition from, and loops in which it
    does, may run on either side; one minimum cut over launches, the tensors that loops and branches
    hand on, and what is moved between the sides says what is where. What was predicted stays on the
    launch.

    ```mlir before
    func.func @main(%n: tensor<4xi64>, %x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = kernel.launch row[0] "sum" ins(%n : tensor<4xi64>) sizes() {
      ^bb0(%a: tensor<4xi64>):
        %3 = prim.reduce sum %a [0] : (tensor<4xi64>) -> tensor<i64>
        kernel.yield %3 : tensor<i64>
      } {schedule = #gpu.schedules<sm_90a = <form = row, threads = 32, lanes = 2, row_threads = 32, kept = 2, index_bits = 32>>} -> tensor<i64>
      %1 = prim.extract %0 [0] : (tensor<i64>) -> index
      %2 = kernel.launch loop "neg" ins(%x : tensor<?xf32>) sizes(%1) {
      ^bb0(%a: tensor<?xf32>):
        %3 = prim.neg %a : (tensor<?xf32>) -> tensor<?xf32>
        kernel.yield %3 : tensor<?xf32>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<?xf32>
      return %2 : tensor<?xf32>
    }
    ```
    ```mlir after
    func.func @main(%n: tensor<4xi64> {kernel.on_host}, %x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = kernel.launch row[0] "sum" ins(%n : tensor<4xi64>) sizes() {
      ^bb0(%a: tensor<4xi64>):
        %3 = prim.reduce sum %a [0] : (tensor<4xi64>) -> tensor<i64>
        kernel.yield %3 : tensor<i64>
      } {on_host = #kernel.on_host<here = 101, device = 2500>, schedule = #cpu.row_schedule<lanes = 4, grain = 4, kept = 16384>} -> tensor<i64>
      %1 = prim.extract %0 [0] : (tensor<i64>) -> index
      %2 = kernel.launch loop "neg" ins(%x : tensor<?xf32>) sizes(%1) {
      ^bb0(%a: tensor<?xf32>):
        %3 = prim.neg %a : (tensor<?xf32>) -> tensor<?xf32>
        kernel.yield %3 : tensor<?xf32>
      } {schedule = #gpu.schedules<sm_90a = <form = loop, threads = 256>>} -> tensor<?xf32>
      return %2 : tensor<?xf32>
    }
    ```

    Runs after tcc-schedule-kernels, whose schedules of the device are what a launch costs there.
  }];
}
#endif
