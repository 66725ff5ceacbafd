// RUN: tcc-opt %s --arch sm_90a -tcc-schedule-kernels | FileCheck %s
// Who does the updates of a scatter.

// A block has a line whose updates it can sort; of few lines all updates are sorted by all blocks, and sums of floats whose order
// takes longer than atomic operations are those of integers.
// CHECK-LABEL: @lines
// CHECK: <form = scatter, threads = 256, vectors = 4, depth = 5, index_bits = 32>
// CHECK: <form = scatter, threads = 256, row_threads = 1, split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @lines(%x: tensor<500x1000xbf16>, %i: tensor<500x1000xi64>, %u: tensor<500x1000xbf16>, %y: tensor<3x1000xbf16>, %j: tensor<3x1000xi64>, %v: tensor<3x1000xbf16>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<500x1000xbf16>, tensor<500x1000xi64>, tensor<500x1000xbf16>) sizes() {
  ^bb0(%a: tensor<500x1000xbf16>, %b: tensor<500x1000xi64>, %c: tensor<500x1000xbf16>):
    %d = prim.scatter_along add %a, %b, %c axis 1 : (tensor<500x1000xbf16>, tensor<500x1000xi64>, tensor<500x1000xbf16>) -> tensor<500x1000xbf16>
    kernel.yield %d : tensor<500x1000xbf16>
  } -> tensor<500x1000xbf16>
  %1 = kernel.launch special "scatter_along" ins(%y, %j, %v : tensor<3x1000xbf16>, tensor<3x1000xi64>, tensor<3x1000xbf16>) sizes() {
  ^bb0(%a: tensor<3x1000xbf16>, %b: tensor<3x1000xi64>, %c: tensor<3x1000xbf16>):
    %d = prim.scatter_along add %a, %b, %c axis 1 : (tensor<3x1000xbf16>, tensor<3x1000xi64>, tensor<3x1000xbf16>) -> tensor<3x1000xbf16>
    kernel.yield %d : tensor<3x1000xbf16>
  } -> tensor<3x1000xbf16>
  return
}

// Integers are added where they belong, however many there turn out to be; the order of floats would show.
// CHECK-LABEL: @open
// CHECK: <form = scatter, threads = 256, row_threads = 1, split = 528, scratch_bytes = 4096, resident = 1>
// CHECK: <form = scatter, threads = 128>
func.func @open(%x: tensor<?xi64>, %i: tensor<30000xi64>, %u: tensor<30000xi64>, %y: tensor<?xf32>, %v: tensor<30000xf32>, %n: index) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<?xi64>, tensor<30000xi64>, tensor<30000xi64>) sizes(%n) {
  ^bb0(%a: tensor<?xi64>, %b: tensor<30000xi64>, %c: tensor<30000xi64>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<?xi64>, tensor<30000xi64>, tensor<30000xi64>) -> tensor<?xi64>
    kernel.yield %d : tensor<?xi64>
  } -> tensor<?xi64>
  %1 = kernel.launch special "scatter_along" ins(%y, %i, %v : tensor<?xf32>, tensor<30000xi64>, tensor<30000xf32>) sizes(%n) {
  ^bb0(%a: tensor<?xf32>, %b: tensor<30000xi64>, %c: tensor<30000xf32>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<?xf32>, tensor<30000xi64>, tensor<30000xf32>) -> tensor<?xf32>
    kernel.yield %d : tensor<?xf32>
  } -> tensor<?xf32>
  return
}

// Few updates of rows are done in one phase, with two bits a row in shared memory.
// CHECK-LABEL: @few
// CHECK: <form = scatter, threads = 512, lanes = 8, row_threads = 8, shared_bytes = 41384, split = 264, index_bits = 32, resident = 2>
func.func @few(%x: tensor<100000x64xbf16>, %i: tensor<4096x1xi64>, %u: tensor<4096x64xbf16>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<100000x64xbf16>, tensor<4096x1xi64>, tensor<4096x64xbf16>) sizes() {
  ^bb0(%a: tensor<100000x64xbf16>, %b: tensor<4096x1xi64>, %c: tensor<4096x64xbf16>):
    %e = prim.broadcast %b axes [0, 1] sizes() : (tensor<4096x1xi64>) -> tensor<4096x64xi64>
    %d = prim.scatter_along add %a, %e, %c axis 0 : (tensor<100000x64xbf16>, tensor<4096x64xi64>, tensor<4096x64xbf16>) -> tensor<100000x64xbf16>
    kernel.yield %d : tensor<100000x64xbf16>
  } -> tensor<100000x64xbf16>
  return
}

// Few updates of lines across: a block each brings those of a line in order while others copy. Of 128 in each of 768 lines
// everybody looked at all before.
// CHECK-LABEL: @across
// CHECK: <form = scatter, threads = 256, row_threads = 1, split = 396, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @across(%x: tensor<50257x768xbf16>, %i: tensor<128x768xi64>, %u: tensor<128x768xbf16>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<50257x768xbf16>, tensor<128x768xi64>, tensor<128x768xbf16>) sizes() {
  ^bb0(%a: tensor<50257x768xbf16>, %b: tensor<128x768xi64>, %c: tensor<128x768xbf16>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<50257x768xbf16>, tensor<128x768xi64>, tensor<128x768xbf16>) -> tensor<50257x768xbf16>
    kernel.yield %d : tensor<50257x768xbf16>
  } -> tensor<50257x768xbf16>
  return
}

// Of more updates than rows each block finds its own, unless a row has many.
// CHECK-LABEL: @found
// CHECK: <form = scatter, threads = 1024, lanes = 2, row_threads = 32, rows = 21, shared_bytes = 90324, split = 129, index_bits = 32, resident = 1>
// CHECK: <form = scatter, threads = 256, {{.*}}split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @found(%x: tensor<2708x64xf32>, %i: tensor<10556x1xi64>, %u: tensor<10556x64xf32>, %y: tensor<600x64xf32>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<2708x64xf32>, tensor<10556x1xi64>, tensor<10556x64xf32>) sizes() {
  ^bb0(%a: tensor<2708x64xf32>, %b: tensor<10556x1xi64>, %c: tensor<10556x64xf32>):
    %d = prim.broadcast %b axes [0, 1] sizes() : (tensor<10556x1xi64>) -> tensor<10556x64xi64>
    %e = prim.scatter_along add %a, %d, %c axis 0 : (tensor<2708x64xf32>, tensor<10556x64xi64>, tensor<10556x64xf32>) -> tensor<2708x64xf32>
    kernel.yield %e : tensor<2708x64xf32>
  } -> tensor<2708x64xf32>
  %1 = kernel.launch special "scatter_along" ins(%y, %i, %u : tensor<600x64xf32>, tensor<10556x1xi64>, tensor<10556x64xf32>) sizes() {
  ^bb0(%a: tensor<600x64xf32>, %b: tensor<10556x1xi64>, %c: tensor<10556x64xf32>):
    %d = prim.broadcast %b axes [0, 1] sizes() : (tensor<10556x1xi64>) -> tensor<10556x64xi64>
    %e = prim.scatter_along add %a, %d, %c axis 0 : (tensor<600x64xf32>, tensor<10556x64xi64>, tensor<10556x64xf32>) -> tensor<600x64xf32>
    kernel.yield %e : tensor<600x64xf32>
  } -> tensor<600x64xf32>
  return
}

// What a tuple of indices is put together by says nothing of a row's vectors.
// CHECK-LABEL: @tuples
// CHECK: <form = scatter, threads = 256, lanes = 8, row_threads = 4, split = 528
func.func @tuples(%x: tensor<500x600x32xbf16>, %i: tensor<5000x1xi64>, %j: tensor<5000x1xi64>, %u: tensor<5000x32xbf16>) {
  %0 = kernel.launch special "scatter_nd" ins(%x, %i, %j, %u : tensor<500x600x32xbf16>, tensor<5000x1xi64>, tensor<5000x1xi64>, tensor<5000x32xbf16>) sizes() {
  ^bb0(%a: tensor<500x600x32xbf16>, %b: tensor<5000x1xi64>, %c: tensor<5000x1xi64>, %d: tensor<5000x32xbf16>):
    %e = prim.concat %b, %c axis 1 : (tensor<5000x1xi64>, tensor<5000x1xi64>) -> tensor<5000x2xi64>
    %f = prim.scatter_nd assign %a, %e, %d : (tensor<500x600x32xbf16>, tensor<5000x2xi64>, tensor<5000x32xbf16>) -> tensor<500x600x32xbf16>
    kernel.yield %f : tensor<500x600x32xbf16>
  } -> tensor<500x600x32xbf16>
  return
}

// Integers that few elements have many of are added up by each block; of a few one block has all.
// CHECK-LABEL: @counts
// CHECK: <form = scatter, threads = 256, row_threads = 1, kept = 100, shared_bytes = 800, split = 488, scratch_bytes = 4096, index_bits = 32, resident = 1>
// CHECK: <form = scatter, threads = 256, row_threads = 1, kept = 100, shared_bytes = 800, index_bits = 32, resident = 1>
func.func @counts(%x: tensor<100xi64>, %i: tensor<1000000xi64>, %u: tensor<1000000xi64>, %j: tensor<1000xi64>, %v: tensor<1000xi64>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<100xi64>, tensor<1000000xi64>, tensor<1000000xi64>) sizes() {
  ^bb0(%a: tensor<100xi64>, %b: tensor<1000000xi64>, %c: tensor<1000000xi64>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<100xi64>, tensor<1000000xi64>, tensor<1000000xi64>) -> tensor<100xi64>
    kernel.yield %d : tensor<100xi64>
  } -> tensor<100xi64>
  %1 = kernel.launch special "scatter_along" ins(%x, %j, %v : tensor<100xi64>, tensor<1000xi64>, tensor<1000xi64>) sizes() {
  ^bb0(%a: tensor<100xi64>, %b: tensor<1000xi64>, %c: tensor<1000xi64>):
    %d = prim.scatter_along add %a, %b, %c axis 0 : (tensor<100xi64>, tensor<1000xi64>, tensor<1000xi64>) -> tensor<100xi64>
    kernel.yield %d : tensor<100xi64>
  } -> tensor<100xi64>
  return
}

// A block notes the last update of each place of its line, however many lines there are: numbers in memory are cleared and read
// for all places. Of few places all updates are looked at in memory.
// CHECK-LABEL: @replaced
// CHECK: <form = scatter, threads = 256, rows = 512, columns = 1, shared_bytes = 2048, index_bits = 32>
// CHECK: <form = scatter, threads = 256, row_threads = 1, split = {{[0-9]+}}, scratch_bytes = {{[0-9]+}}, index_bits = 32, resident = 1>
func.func @replaced(%x: tensor<48x512x512xbf16>, %i: tensor<48x512x64xi64>, %u: tensor<48x512x64xbf16>, %y: tensor<100000xf32>, %j: tensor<100000xi64>, %v: tensor<100000xf32>) {
  %0 = kernel.launch special "scatter_along" ins(%x, %i, %u : tensor<48x512x512xbf16>, tensor<48x512x64xi64>, tensor<48x512x64xbf16>) sizes() {
  ^bb0(%a: tensor<48x512x512xbf16>, %b: tensor<48x512x64xi64>, %c: tensor<48x512x64xbf16>):
    %d = prim.scatter_along assign %a, %b, %c axis 2 : (tensor<48x512x512xbf16>, tensor<48x512x64xi64>, tensor<48x512x64xbf16>) -> tensor<48x512x512xbf16>
    kernel.yield %d : tensor<48x512x512xbf16>
  } -> tensor<48x512x512xbf16>
  %1 = kernel.launch special "scatter_along" ins(%y, %j, %v : tensor<100000xf32>, tensor<100000xi64>, tensor<100000xf32>) sizes() {
  ^bb0(%a: tensor<100000xf32>, %b: tensor<100000xi64>, %c: tensor<100000xf32>):
    %d = prim.scatter_along assign %a, %b, %c axis 0 : (tensor<100000xf32>, tensor<100000xi64>, tensor<100000xf32>) -> tensor<100000xf32>
    kernel.yield %d : tensor<100000xf32>
  } -> tensor<100000xf32>
  return
}
