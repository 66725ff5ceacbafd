// RUN: tcc-opt %s -tcc-schedule-recurrences | FileCheck %s
// Matrices that one multiprocessor has no room for: blocks of a cluster share the units.

// A unit is computed from the sums of its own column of each gate.
// CHECK-LABEL: @gates
// CHECK: kernel.launch special "recurrence"
// CHECK: form = line, threads = {{[0-9]+}}, row_threads = {{[0-9]+}}, kept = {{[0-9]+}}, rows = 1, shared_bytes = {{[0-9]+}}, split = {{[248]}}, index_bits = 32
func.func @gates(%r: tensor<640x320xf32>, %h: tensor<2x320xf32>) -> tensor<2x320xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x320xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x320xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x320xf32>, tensor<640x320xf32>) sizes() {
    ^bb0(%l: tensor<2x320xf32>, %w: tensor<640x320xf32>):
      %d = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x320xf32>, tensor<640x320xf32>) -> tensor<2x640xf32>
      %x = prim.slice %d starts [0, 0]() steps [1, 1] sizes() : (tensor<2x640xf32>) -> tensor<2x320xf32>
      %z = prim.slice %d starts [0, 320]() steps [1, 1] sizes() : (tensor<2x640xf32>) -> tensor<2x320xf32>
      %y = prim.mul %x, %z : (tensor<2x320xf32>, tensor<2x320xf32>) -> tensor<2x320xf32>
      kernel.yield %y : tensor<2x320xf32>
    } -> tensor<2x320xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x320xf32>
  } : (index, tensor<2x320xf32>) -> (index, tensor<2x320xf32>)
  return %all#1 : tensor<2x320xf32>
}

// Of so many units no eight blocks have room: sixteen share them, where such clusters can be run.
// CHECK-LABEL: @many_units
// CHECK: kernel.launch special "recurrence"
// CHECK: form = line, threads = {{[0-9]+}}, row_threads = {{[0-9]+}}, kept = {{[0-9]+}}, rows = 1, shared_bytes = {{[0-9]+}}, split = 16, index_bits = 32,
// GPUs without room for those have eight blocks, which read in every turn what they have no room for.
// CHECK-SAME: narrow = {{(#gpu.schedule)?}}<form = line, threads = {{[0-9]+}}, row_threads = {{[0-9]+}}, kept = {{[0-9]+}}, rows = 1, shared_bytes = {{[0-9]+}}, split = 8, index_bits = 32>
func.func @many_units(%r: tensor<2048x512xf32>, %h: tensor<2x512xf32>) -> tensor<2x512xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x512xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x512xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x512xf32>, tensor<2048x512xf32>) sizes() {
    ^bb0(%l: tensor<2x512xf32>, %w: tensor<2048x512xf32>):
      %d = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x512xf32>, tensor<2048x512xf32>) -> tensor<2x2048xf32>
      %x = prim.slice %d starts [0, 0]() steps [1, 1] sizes() : (tensor<2x2048xf32>) -> tensor<2x512xf32>
      %z = prim.slice %d starts [0, 1536]() steps [1, 1] sizes() : (tensor<2x2048xf32>) -> tensor<2x512xf32>
      %y = prim.mul %x, %z : (tensor<2x512xf32>, tensor<2x512xf32>) -> tensor<2x512xf32>
      kernel.yield %y : tensor<2x512xf32>
    } -> tensor<2x512xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x512xf32>
  } : (index, tensor<2x512xf32>) -> (index, tensor<2x512xf32>)
  return %all#1 : tensor<2x512xf32>
}

// A unit needs sums of the columns of other units.
// CHECK-LABEL: @parts
// CHECK-NOT: special "recurrence"
// CHECK: prim.while
func.func @parts(%r: tensor<640x320xf32>, %h: tensor<2x320xf32>) -> tensor<2x320xf32> {
  %zero = arith.constant 0 : index
  %all:2 = prim.while(%zero, %h) {
  ^bb0(%i: index, %a: tensor<2x320xf32>):
    %turns = arith.constant 6 : index
    %more = arith.cmpi slt, %i, %turns : index
    prim.yield %more : i1
  } do {
  ^bb0(%i: index, %a: tensor<2x320xf32>):
    %one = arith.constant 1 : index
    %next = kernel.launch contraction "dot" ins(%a, %r : tensor<2x320xf32>, tensor<640x320xf32>) sizes() {
    ^bb0(%l: tensor<2x320xf32>, %w: tensor<640x320xf32>):
      %d = prim.dot %l, %w batch [] x [] contract [1] x [1] : (tensor<2x320xf32>, tensor<640x320xf32>) -> tensor<2x640xf32>
      %x = prim.slice %d starts [0, 0]() steps [1, 1] sizes() : (tensor<2x640xf32>) -> tensor<2x320xf32>
      %z = prim.slice %d starts [0, 160]() steps [1, 1] sizes() : (tensor<2x640xf32>) -> tensor<2x320xf32>
      %y = prim.mul %x, %z : (tensor<2x320xf32>, tensor<2x320xf32>) -> tensor<2x320xf32>
      kernel.yield %y : tensor<2x320xf32>
    } -> tensor<2x320xf32>
    %after = arith.addi %i, %one : index
    prim.yield %after, %next : index, tensor<2x320xf32>
  } : (index, tensor<2x320xf32>) -> (index, tensor<2x320xf32>)
  return %all#1 : tensor<2x320xf32>
}
