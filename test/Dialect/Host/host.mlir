// RUN: tcc-opt %s | tcc-opt | FileCheck %s

// CHECK: host.kernel @k0_relu {
// CHECK: ^bb0(%{{.*}}: tensor<?x8xf32>, %{{.*}}: index):
// CHECK: host.yield %{{.*}} : tensor<?x8xf32>
host.kernel @k0_relu {
^bb0(%x: tensor<?x8xf32>, %n: index):
  %y = kernel.launch loop "relu" ins(%x : tensor<?x8xf32>) sizes(%n) {
  ^bb0(%a: tensor<?x8xf32>):
    %b = prim.exp %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
    kernel.yield %b : tensor<?x8xf32>
  } -> tensor<?x8xf32>
  host.yield %y : tensor<?x8xf32>
}

// CHECK: func.func @main(%[[X:.*]]: memref<?x8xf32>) -> memref<?x8xf32>
func.func @main(%x: memref<?x8xf32>) -> memref<?x8xf32> {
  // CHECK: host.weight "w" : memref<4xf32>
  %w = host.weight "w" : memref<4xf32>
  // CHECK: host.constant dense<1> : tensor<2xi64> : memref<2xi64>
  %c = host.constant dense<1> : tensor<2xi64> : memref<2xi64>
  // CHECK: %[[N:.*]] = host.dim %[[X]], 0 : memref<?x8xf32>
  %n = host.dim %x, 0 : memref<?x8xf32>
  // CHECK: host.arena 256 : !host.arena
  %arena = host.arena 256 : !host.arena
  // CHECK: host.slice %{{.*}}[64] sizes() : !host.arena -> memref<8xf32>
  %s = host.slice %arena[64] sizes() : !host.arena -> memref<8xf32>
  // CHECK: host.alloc_arena 64 times(%[[N]]) : <device>
  %units = host.alloc_arena 64 times(%n) : !host.arena<device>
  // CHECK: host.slice %{{.*}}[0] sizes(%[[N]]) : <device> -> memref<?x8xf32, #host.space<device>>
  %d = host.slice %units[0] sizes(%n) : !host.arena<device> -> memref<?x8xf32, #host.space<device>>
  // CHECK: host.copy %[[X]] to %{{.*}} stream(1) : memref<?x8xf32> to memref<?x8xf32, #host.space<device>>
  host.copy %x to %d stream(1) : memref<?x8xf32> to memref<?x8xf32, #host.space<device>>
  // CHECK: %[[B:.*]] = host.alloc sizes(%[[N]]) : memref<?x8xf32>
  %b = host.alloc sizes(%n) : memref<?x8xf32>
  // CHECK: host.launch @k0_relu ins(%[[X]] : memref<?x8xf32>) outs(%[[B]] : memref<?x8xf32>)
  host.launch @k0_relu ins(%x : memref<?x8xf32>) outs(%b : memref<?x8xf32>)
  // CHECK: host.launch @k0_relu ins(%{{.*}}) outs(%{{.*}}) stream(2)
  host.launch @k0_relu ins(%d : memref<?x8xf32, #host.space<device>>) outs(%d : memref<?x8xf32, #host.space<device>>) stream(2)
  // CHECK: host.read %{{.*}}[1] : (memref<2xi64>) -> index
  %i = host.read %c[1] : (memref<2xi64>) -> index
  %ok = arith.cmpi eq, %i, %n : index
  // CHECK: host.assert %{{.*}}, "one of each"
  host.assert %ok, "one of each"
  // CHECK: host.flag true, "out of range" : memref<i1, #host.space<pinned>>
  %flag = host.flag true, "out of range" : memref<i1, #host.space<pinned>>
  // CHECK: host.random_seed : i64
  %seed = host.random_seed : i64
  // CHECK: host.random_draw 0 : i64
  %drawn = host.random_draw 0 : i64
  // CHECK: %[[Y:.*]] = host.output 0 sizes(%[[N]]) : memref<?x8xf32>
  %y = host.output 0 sizes(%n) : memref<?x8xf32>
  // CHECK: host.view %[[Y]] sizes(%[[N]]) : memref<?x8xf32> -> memref<?x2x4xf32>
  %v = host.view %y sizes(%n) : memref<?x8xf32> -> memref<?x2x4xf32>
  // CHECK: host.part %[[Y]][%[[N]]] : memref<?x8xf32> -> memref<2x4xf32>
  %p = host.part %y[%n] : memref<?x8xf32> -> memref<2x4xf32>
  host.copy %b to %y : memref<?x8xf32> to memref<?x8xf32>
  // CHECK: host.free %[[B]] : memref<?x8xf32>
  host.free %b : memref<?x8xf32>
  // CHECK: host.free %{{.*}} : !host.arena<device>
  host.free %units : !host.arena<device>
  return %y : memref<?x8xf32>
}
