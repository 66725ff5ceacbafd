// RUN: tcc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{the order is not one of the axes of a tensor of rank 2}}
func.func @twice(%x: tensor<4x8xf32, #prim.axis_order<[0, 0]>>) { return }

// -----

// expected-error @+1 {{a tensor of open extents has its axes in order}}
func.func @open(%x: tensor<?x8xf32, #prim.axis_order<[1, 0]>>) { return }
