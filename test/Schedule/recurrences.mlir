// RUN: tcc-opt %s -tcc-schedule-recurrences | FileCheck %s
// Loops of recurrent layers become a launch where a block takes rows of the batch through all turns.

// Outputs begin with nothing, and the states that nobody asks for are no results.
// CHECK-LABEL: @layer
// CHECK-NOT: kernel.launch
// CHECK: %[[ALL:.*]]:2 = kernel.launch special "recurrence" ins(%{{.*}} : tensor<32x8xf32>, tensor<6x2x32xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: %[[NONE:.*]] = prim.constant dense<0.000000e+00> : tensor<6x2x8xf32>
// CHECK: prim.while(%{{.*}}, %{{.*}}, %{{.*}}, %[[NONE]])
// CHECK-NOT: kernel.launch
// CHECK: kernel.yield %{{.*}}#2, %{{.*}}#3
// CHECK: form = line, threads = 64, row_threads = 64, kept = {{[0-9]+}}, rows = 1, shared_bytes = {{[0-9]+}}, index_bits = 32
// CHECK-NOT: prim.while
// CHECK: return %[[ALL]]#1, %[[ALL]]#0
func.func @layer(%x: tensor<6x2x32xf32>, %r: tensor<32x8xf32>, %h: tensor<2x8xf32>, %c: tensor<2x8xf32>) -> (tensor<6x2x8xf32>, tensor<2x8xf32>) {
  %zero = arith.constant 0 : index
  %none = kernel.launch loop "constant" ins() sizes() {
    %0 = prim.constant dense<0.0> : tensor<6x2x8xf32>
    kernel.yield %0 : tensor<6x2x8xf32>
  } -> tensor<6x2x8xf32>
  %all:4 = prim.while(%zero, %h, %c, %none) {
  ^bb0(%i: index, %a: tensor<2x8xf32>, %b: tensor<2x8xf32>, %o: tensor<6x2x8xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x8xf32>, %b: tensor<2x8xf32>, %o: tensor<6x2x8xf32>):
    %one = arith.constant 1 : index
    %product = kernel.launch contraction "dot" ins(%a, %r : tensor<2x8xf32>, tensor<32x8xf32>) sizes() {
    ^bb0(%l: tensor<2x8xf32>, %w: tensor<32x8xf32>):
      %0 = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
      kernel.yield %0 : tensor<2x32xf32>
    } -> tensor<2x32xf32>
    %next:2 = kernel.launch loop "gates" ins(%x, %i, %product, %b : tensor<6x2x32xf32>, index, tensor<2x32xf32>, tensor<2x8xf32>) sizes() {
    ^bb0(%given: tensor<6x2x32xf32>, %turn: index, %p: tensor<2x32xf32>, %cell: tensor<2x8xf32>):
      %0 = prim.slice %given starts [-9223372036854775808, 0, 0](%turn) steps [1, 1, 1] sizes() : (tensor<6x2x32xf32>) -> tensor<1x2x32xf32>
      %1 = prim.reshape %0 sizes() : (tensor<1x2x32xf32>) -> tensor<2x32xf32>
      %2 = prim.add %1, %p : (tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x32xf32>
      %3 = prim.slice %2 starts [0, 0]() steps [1, 1] sizes() : (tensor<2x32xf32>) -> tensor<2x8xf32>
      %4 = prim.slice %2 starts [0, 8]() steps [1, 1] sizes() : (tensor<2x32xf32>) -> tensor<2x8xf32>
      %5 = prim.slice %2 starts [0, 16]() steps [1, 1] sizes() : (tensor<2x32xf32>) -> tensor<2x8xf32>
      %6 = prim.logistic %3 : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %7 = prim.mul %6, %cell : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %8 = prim.tanh %4 : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %9 = prim.add %7, %8 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      %10 = prim.logistic %5 : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %11 = prim.mul %10, %9 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      kernel.yield %11, %9 : tensor<2x8xf32>, tensor<2x8xf32>
    } -> tensor<2x8xf32>, tensor<2x8xf32>
    %later = kernel.launch special "insert_slice" ins(%o, %next#0, %i : tensor<6x2x8xf32>, tensor<2x8xf32>, index) sizes() {
    ^bb0(%before: tensor<6x2x8xf32>, %row: tensor<2x8xf32>, %turn: index):
      %0 = prim.reshape %row sizes() : (tensor<2x8xf32>) -> tensor<1x2x8xf32>
      %1 = prim.insert_slice %before, %0 starts [-9223372036854775808, 0, 0](%turn) steps [1, 1, 1] : (tensor<6x2x8xf32>, tensor<1x2x8xf32>, index) -> tensor<6x2x8xf32>
      kernel.yield %1 : tensor<6x2x8xf32>
    } -> tensor<6x2x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next#0, %next#1, %later : index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>
  } : (index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>) -> (index, tensor<2x8xf32>, tensor<2x8xf32>, tensor<6x2x8xf32>)
  return %all#3, %all#2 : tensor<6x2x8xf32>, tensor<2x8xf32>
}

// Matrices that a multiprocessor has no room for.
// CHECK-LABEL: @large
// CHECK-NOT: special "recurrence"
// CHECK: prim.while
func.func @large(%r: tensor<2048x2048xf32>, %h: tensor<2x2048xf32>) -> tensor<2x2048xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x2048xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x2048xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x2048xf32>, tensor<2048x2048xf32>) sizes() {
    ^bb0(%l: tensor<2x2048xf32>, %w: tensor<2048x2048xf32>):
      %y = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x2048xf32>, tensor<2048x2048xf32>) -> tensor<2x2048xf32>
      kernel.yield %y : tensor<2x2048xf32>
    } -> tensor<2x2048xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x2048xf32>
  } : (index, tensor<2x2048xf32>) -> (index, tensor<2x2048xf32>)
  return %all#1 : tensor<2x2048xf32>
}

// Rows of the batch that depend on each other.
// CHECK-LABEL: @rows_meet
// CHECK-NOT: special "recurrence"
// CHECK: prim.while
func.func @rows_meet(%r: tensor<8x8xf32>, %h: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x8xf32>, tensor<8x8xf32>) sizes() {
    ^bb0(%l: tensor<2x8xf32>, %w: tensor<8x8xf32>):
      %d = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
      %s = prim.reverse %d [0] : (tensor<2x8xf32>) -> tensor<2x8xf32>
      %y = prim.add %d, %s : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
      kernel.yield %y : tensor<2x8xf32>
    } -> tensor<2x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x8xf32>
  } : (index, tensor<2x8xf32>) -> (index, tensor<2x8xf32>)
  return %all#1 : tensor<2x8xf32>
}

// Columns of the matrix that do not lie along what is summed.
// CHECK-LABEL: @rows_of_columns
// CHECK-NOT: special "recurrence"
// CHECK: prim.while
func.func @rows_of_columns(%r: tensor<8x8xf32>, %h: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x8xf32>, tensor<8x8xf32>) sizes() {
    ^bb0(%l: tensor<2x8xf32>, %w: tensor<8x8xf32>):
      %y = prim.dot %l, %w batch [] x [] contract [1] x [0] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
      kernel.yield %y : tensor<2x8xf32>
    } -> tensor<2x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x8xf32>
  } : (index, tensor<2x8xf32>) -> (index, tensor<2x8xf32>)
  return %all#1 : tensor<2x8xf32>
}

// Turns that only a run knows.
// CHECK-LABEL: @turns_of_a_run
// CHECK-NOT: special "recurrence"
// CHECK: prim.while
func.func @turns_of_a_run(%r: tensor<8x8xf32>, %h: tensor<2x8xf32>, %n: index) -> tensor<2x8xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %one0 = arith.constant 1 : index
    %turns = arith.addi %n, %one0 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x8xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x8xf32>, tensor<8x8xf32>) sizes() {
    ^bb0(%l: tensor<2x8xf32>, %w: tensor<8x8xf32>):
      %y = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
      kernel.yield %y : tensor<2x8xf32>
    } -> tensor<2x8xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x8xf32>
  } : (index, tensor<2x8xf32>) -> (index, tensor<2x8xf32>)
  return %all#1 : tensor<2x8xf32>
}
