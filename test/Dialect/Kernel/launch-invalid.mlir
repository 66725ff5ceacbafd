// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'kernel.launch' op of kind 'row' must say how many axes are rows}}
  %0 = kernel.launch row "sum" ins(%x : tensor<4x2xf32>) sizes() {
  ^bb0(%a: tensor<4x2xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x2xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'loop' has no rows}}
  %0 = kernel.launch loop[1] "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    %b = prim.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{has 2 axes of rows, and a result of type 'tensor<4xf32>'}}
  %0 = kernel.launch row[2] "sum" ins(%x : tensor<4x2xf32>) sizes() {
  ^bb0(%a: tensor<4x2xf32>):
    %b = prim.reduce sum %a [1] : (tensor<4x2xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'contraction' computes none of what the kind is about}}
  %0 = kernel.launch contraction "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    %b = prim.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{no kind of kernel is called 'loops'}}
  %0 = kernel.launch loops "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{has 1 region arguments for 0 inputs}}
  %0 = kernel.launch loop "neg" ins() sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @+1 {{has 1 dynamic result dims but 0 sizes}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<?xf32>) sizes() {
  ^bb0(%a: tensor<?xf32>):
    kernel.yield %a : tensor<?xf32>
  } -> tensor<?xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  %0 = kernel.launch loop "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  // expected-error @+1 {{failed to satisfy constraint}}
  } {schedule = "fast"} -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'special' computes none of what the kind is about}}
  %0 = kernel.launch special "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    %b = prim.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{of kind 'special' computes none of what the kind is about}}
  %0 = kernel.launch special "nothing" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    kernel.yield %a : tensor<4xf32>
  } -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{computes nothing}}
  "kernel.launch"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "kernel.yield"() : () -> ()
  }) {name = "k", kind = #kernel<kind loop>, operandSegmentSizes = array<i32: 1, 0>} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{the size that its schedule depends on is the same in all runs}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4xf32>) sizes() {
  ^bb0(%a: tensor<4xf32>):
    %b = prim.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    kernel.yield %b : tensor<4xf32>
  } {schedule = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 9, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>} -> tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{no run has fewer than 0 elements}}
func.func private @f() attributes {a = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 0, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>}

// -----

// expected-error @+1 {{the schedule for small sizes depends on a size itself}}
func.func private @f() attributes {a = #kernel.by_size<small = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 2, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>, below = 9, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>}

// -----

// expected-error @+1 {{no run of 9 elements or more has fewer than 9}}
func.func private @f() attributes {a = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 9, large = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 9, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>>}

// -----

// expected-error @+1 {{the schedule for large sizes depends on another size}}
func.func private @f() attributes {a = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 9, large = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 99, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>>, largest = true>}

// -----

// expected-error @+1 {{the schedule for small sizes depends on a size itself}}
func.func private @f() attributes {a = #kernel.by_size<small = #kernel.by_size<small = #gpu.schedules<sm_80 = <form = loop, threads = 128>>, below = 9, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>, largest = true>, below = 99, large = #gpu.schedules<sm_80 = <form = loop, threads = 256>>, largest = true>}
