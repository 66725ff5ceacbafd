// RUN: not tcc %s --start-from codegen --emit obj -o %t.o 2>&1 | FileCheck %s

// The host dialect has room for devices; what there is no runtime for is refused by name.
// CHECK: there is no runtime for memory in space 'device'
func.func @main(%x: memref<4xf32> {graph.name = "x"}) -> (memref<4xf32> {graph.name = "y"}) {
  %d = host.alloc sizes() : memref<4xf32, #host.space<device>>
  host.copy %x to %d : memref<4xf32> to memref<4xf32, #host.space<device>>
  %y = host.output 0 sizes() : memref<4xf32>
  host.copy %d to %y : memref<4xf32, #host.space<device>> to memref<4xf32>
  host.free %d : memref<4xf32, #host.space<device>>
  return %y : memref<4xf32>
}
