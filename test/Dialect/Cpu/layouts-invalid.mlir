// RUN: tcc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{width is 0, at least 1}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 0>>)

// -----

// expected-error @+1 {{groups is 0, at least 1}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 0>>)

// -----

// expected-error @+1 {{only steps of several elements have runs and sums}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 8, run = 4>>)

// -----

// expected-error @+1 {{k and columns are not the axes of a tensor of rank 2}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [1], columns = 1, width = 8>>)

// -----

// expected-error @+1 {{k and columns are not the axes of a tensor of rank 3}}
func.func private @f(tensor<8x20x3xf32, #cpu.panels<k = [0], columns = 1, width = 8>>)

// -----

// expected-error @+1 {{weights of open extents are not packed}}
func.func private @f(tensor<?x20xf32, #cpu.panels<k = [0], columns = 1, width = 8>>)

// -----

// expected-error @+1 {{20 columns are not 3 groups}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 8, groups = 3>>)

// -----

// expected-error @+1 {{steps of 4 hold no elements of type 'f32'}}
func.func private @f(tensor<8x20xf32, #cpu.panels<k = [0], columns = 1, width = 8, step = 4>>)

// -----

// expected-error @+1 {{8 elements of k are not runs of 3}}
func.func private @f(tensor<8x20xi8, #cpu.panels<k = [0], columns = 1, width = 8, step = 4, run = 3>>)

// -----

// expected-error @+1 {{width is 0, at least 1}}
func.func private @f(tensor<24x32x3x3xf32, #cpu.winograd<width = 0>>)

// -----

// expected-error @+1 {{only weights of f32 with a 3x3 window are transformed for tiles}}
func.func private @f(tensor<24x32x5x5xf32, #cpu.winograd<width = 8>>)

// -----

// expected-error @+1 {{only weights of f32 with a 3x3 window are transformed for tiles}}
func.func private @f(tensor<24x32x3x3xf16, #cpu.winograd<width = 8>>)

// -----

// expected-error @+1 {{weights of open extents are not packed}}
func.func private @f(tensor<?x32x3x3xf32, #cpu.winograd<width = 8>>)

// -----

// expected-error @+1 {{columns is 2, an axis of a matrix}}
func.func private @f(tensor<64x24xf32, #cpu.grouped<columns = 2, width = 16, group = 32, bits = 4>>)

// -----

// expected-error @+1 {{width is 0, at least 1}}
func.func private @f(tensor<64x24xf32, #cpu.grouped<columns = 1, width = 0, group = 32, bits = 4>>)

// -----

// expected-error @+1 {{group is 0, at least 1}}
func.func private @f(tensor<64x24xf32, #cpu.grouped<columns = 1, width = 8, group = 0, bits = 4>>)

// -----

// expected-error @+1 {{bits is 3, none of 2, 4 and 8}}
func.func private @f(tensor<64x24xf32, #cpu.grouped<columns = 1, width = 8, group = 32, bits = 3>>)

// -----

// expected-error @+1 {{a group of 4 integers of 4 bits is no words}}
func.func private @f(tensor<64x24xf32, #cpu.grouped<columns = 1, width = 8, group = 4, bits = 4>>)

// -----

// expected-error @+1 {{only matrices of f32 are grouped}}
func.func private @f(tensor<64x24xbf16, #cpu.grouped<columns = 1, width = 8, group = 32, bits = 4>>)

// -----

// expected-error @+1 {{weights of open extents are not packed}}
func.func private @f(tensor<64x?xf32, #cpu.grouped<columns = 1, width = 8, group = 32, bits = 4>>)

// -----

// expected-error @+1 {{72 elements of k are no groups of 32}}
func.func private @f(tensor<72x24xf32, #cpu.grouped<columns = 1, width = 8, group = 32, bits = 4>>)
