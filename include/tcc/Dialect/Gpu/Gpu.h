//===- Gpu.h - The gpu dialect -----------------------------------*- C++ -*-===//
//
// How launches run on GPUs. See GpuAttrs.td.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Dialect/Kernel/Kernel.h"

#include "tcc/Dialect/Gpu/GpuDialect.h.inc"
#include "tcc/Dialect/Gpu/GpuEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Gpu/GpuAttrs.h.inc"
