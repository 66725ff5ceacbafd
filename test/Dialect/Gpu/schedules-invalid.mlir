// RUN: tcc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{index_bits is 16, neither 32 nor 64}}
func.func @f() attributes {s = #gpu.schedule<form = loop, threads = 256, index_bits = 16>} {
  return
}

// -----

// expected-error @+1 {{5 blocks of 512 threads do not fit a multiprocessor}}
func.func @f() attributes {s = #gpu.schedule<form = scatter, threads = 512, resident = 5>} {
  return
}

// -----

// expected-error @+1 {{row_threads is 96, which is no part of 256 threads}}
func.func @f() attributes {s = #gpu.schedule<form = row, threads = 256, row_threads = 96>} {
  return
}

// -----

// expected-error @+1 {{row_threads is 12, which is no part of 128 threads}}
func.func @f() attributes {s = #gpu.schedule<form = mma_attention, threads = 128, row_threads = 12, rows = 64, columns = 64>} {
  return
}

// -----

// expected-error @+1 {{columns is 0, at least 1}}
func.func @f() attributes {s = #gpu.schedule<form = mma_attention, threads = 128, row_threads = 4, rows = 64>} {
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind 'loop' cannot run by a schedule}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x8xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>):
    %b = prim.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    kernel.yield %b : tensor<4x8xf32>
  } {schedule = #gpu.schedules<sm_80 = <form = mma_attention, threads = 128, row_threads = 4, rows = 64, columns = 64>>} -> tensor<4x8xf32>
  return
}

// -----

// expected-error @+1 {{depth is 0, at least 1}}
func.func @f() attributes {s = #gpu.schedule<form = product, threads = 256, rows = 64, columns = 64>} {
  return
}

// -----

// expected-error @+1 {{no architecture}}
func.func @f() attributes {s = #gpu.schedules<>} {
  return
}

// -----

// expected-error @+1 {{sm_80 is given twice}}
func.func @f() attributes {s = #gpu.schedules<sm_80 = <form = loop, threads = 256>, sm_80 = <form = loop, threads = 128>>} {
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{of kind 'loop' cannot run by a schedule}}
  %0 = kernel.launch loop "neg" ins(%x : tensor<4x8xf32>) sizes() {
  ^bb0(%a: tensor<4x8xf32>):
    %b = prim.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    kernel.yield %b : tensor<4x8xf32>
  } {schedule = #gpu.schedules<sm_80 = <form = loop, threads = 256>, sm_90a = <form = row, threads = 256, row_threads = 32>>} -> tensor<4x8xf32>
  return
}

// -----

// expected-error @+1 {{threads is 4096, at most 1024}}
func.func @f() attributes {s = #gpu.schedule<form = loop, threads = 4096>} {
  return
}

// -----

// expected-error @+1 {{the narrow kernel has another form, or not fewer blocks}}
func.func private @wide() attributes {s = #gpu.schedule<form = line, threads = 384, split = 16, narrow = #gpu.schedule<form = line, threads = 384, split = 16>>}
