// RUN: tcc-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: memref<4xf32>) {
  // expected-error @+1 {{frees an argument of the model}}
  host.free %x : memref<4xf32>
  return
}

// -----

func.func @f() {
  %w = host.weight "w" : memref<4xf32>
  %v = host.view %w sizes() : memref<4xf32> -> memref<2x2xf32>
  // expected-error @+1 {{frees what 'host.weight' gave: it is no block of the heap}}
  host.free %v : memref<2x2xf32>
  return
}

// -----

func.func @f() {
  %arena = host.arena 64 : !host.arena
  // expected-error @+1 {{ends at byte 128 of an arena of 64 bytes}}
  %s = host.slice %arena[64] sizes() : !host.arena -> memref<16xf32>
  return
}

// -----

func.func @f() {
  %arena = host.arena 64 : !host.arena
  // expected-error @+1 {{has offset 8, which is no multiple of 64}}
  %s = host.slice %arena[8] sizes() : !host.arena -> memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  %arena = host.arena 64 : !host.arena
  // expected-error @+1 {{puts a tensor of unknown size in an arena of known size}}
  %s = host.slice %arena[0] sizes(%n) : !host.arena -> memref<?xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs an extent: an arena of known size is host.arena}}
  %arena = host.alloc_arena 64 times() : !host.arena
  return
}

// -----

func.func @f(%n: index) {
  %arena = host.alloc_arena 64 times(%n) : !host.arena<device>
  // expected-error @+1 {{gives memory of space host in space device}}
  %s = host.slice %arena[0] sizes(%n) : !host.arena<device> -> memref<?x16xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has 0 sizes for 1 dims that are ?}}
  %b = host.alloc sizes() : memref<?x4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{has 1 sizes for 0 dims that are ?}}
  %b = host.output 0 sizes(%n) : memref<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'number' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative}}
  %b = host.output -1 sizes() : memref<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{has unknown extents}}
  %w = host.weight "w" : memref<?xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{gives elements of 'tensor<2xi64>' as 'memref<2xi32>'}}
  %c = host.constant dense<1> : tensor<2xi64> : memref<2xi32>
  return
}

// -----

func.func @f(%x: memref<4xf32>) {
  // expected-error @+1 {{is larger than its memory: 32 bytes of 16}}
  %v = host.view %x sizes() : memref<4xf32> -> memref<8xf32>
  return
}

// -----

func.func @f(%x: memref<4xf32>, %at: index) {
  // expected-error @+1 {{gives elements of 'f32' as 'memref<2xi32>'}}
  %v = host.part %x[%at] : memref<4xf32> -> memref<2xi32>
  return
}

// -----

func.func @f(%x: memref<4xf32>, %at: index) {
  // expected-error @+1 {{is larger than its memory: 32 bytes of 16}}
  %v = host.part %x[%at] : memref<4xf32> -> memref<8xf32>
  return
}

// -----

// A tensor in memory is compact.
func.func @f(%x: memref<4xf32, strided<[2]>>) {
  // expected-error @+1 {{operand #0 must be compact tensor in memory}}
  %n = host.dim %x, 0 : memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @f(%x: memref<?xf32>) {
  // expected-error @+1 {{has no axis 1 in 'memref<?xf32>'}}
  %n = host.dim %x, 1 : memref<?xf32>
  return
}

// -----

func.func @f(%x: memref<?x4xf32>) {
  // expected-error @+1 {{asks for axis 1, which is known in 'memref<?x4xf32>'}}
  %n = host.dim %x, 1 : memref<?x4xf32>
  return
}

// -----

func.func @f(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error @+1 {{copies 'memref<4xf32>' to 'memref<4xi32>'}}
  host.copy %x to %y : memref<4xf32> to memref<4xi32>
  return
}

// -----

func.func @f(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error @+1 {{copies 'memref<4xf32>' to 'memref<5xf32>'}}
  host.copy %x to %y : memref<4xf32> to memref<5xf32>
  return
}

// -----

func.func @f(%x: memref<4xi64>) {
  // expected-error @+1 {{has no element 4 in 'memref<4xi64>'}}
  %n = host.read %x[4] : (memref<4xi64>) -> index
  return
}

// -----

func.func @f(%x: memref<4xf32>) {
  // expected-error @+1 {{starts @k, which is no host.kernel}}
  host.launch @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

host.kernel @k {
^bb0(%x: tensor<?xf32>, %n: index):
  %y = kernel.launch loop "relu" ins(%x : tensor<?xf32>) sizes(%n) {
  ^bb0(%a: tensor<?xf32>):
    kernel.yield %a : tensor<?xf32>
  } -> tensor<?xf32>
  host.yield %y : tensor<?xf32>
}
func.func @f(%x: memref<4xf32>) {
  // expected-error @+1 {{gives @k ('tensor<4xf32>'), it takes ('tensor<?xf32>', 'index')}}
  host.launch @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

host.kernel @k {
^bb0(%x: tensor<?xf32>, %n: index):
  %y = kernel.launch loop "relu" ins(%x : tensor<?xf32>) sizes(%n) {
  ^bb0(%a: tensor<?xf32>):
    kernel.yield %a : tensor<?xf32>
  } -> tensor<?xf32>
  host.yield %y : tensor<?xf32>
}
func.func @f(%x: memref<?xf32>, %y: memref<?xi32>) {
  // expected-error @+1 {{takes ('tensor<?xi32>') from @k, it gives ('tensor<?xf32>')}}
  host.launch @k ins(%x : memref<?xf32>) outs(%y : memref<?xi32>)
  return
}

// -----

// expected-error @+1 {{has no kernel.launch}}
host.kernel @k {
^bb0(%x: tensor<4xf32>):
  host.yield %x : tensor<4xf32>
}

// -----

func.func @f() {
  // expected-error @+1 {{is no truth value that host and device share: 'memref<i1, #host.space<device>>'}}
  %flag = host.flag true, "out of range" : memref<i1, #host.space<device>>
  return
}

// -----

func.func @f() {
  %flag = host.flag true, "out of range" : memref<1xi1, #host.space<pinned>>
  // expected-error @+1 {{frees what 'host.flag' gave: it is no block of the heap}}
  host.free %flag : memref<1xi1, #host.space<pinned>>
  return
}
