/* What DLPack's type codes are called in text; those before kDLBool say their bits
 * too. For the runtime's errors and for tcc-run, which share no code: a model carries the runtime.
 */
#ifndef TCC_RUNTIME_DTYPE_NAMES_H
#define TCC_RUNTIME_DTYPE_NAMES_H

static const char *const tcc_dtype_names[] = {"int",
                                              "uint",
                                              "float",
                                              "handle",
                                              "bfloat",
                                              "complex",
                                              "bool",
                                              "float8_e3m4",
                                              "float8_e4m3",
                                              "float8_e4m3b11fnuz",
                                              "float8_e4m3fn",
                                              "float8_e4m3fnuz",
                                              "float8_e5m2",
                                              "float8_e5m2fnuz",
                                              "float8_e8m0fnu",
                                              "float6_e2m3fn",
                                              "float6_e3m2fn",
                                              "float4_e2m1fn"};

#endif
