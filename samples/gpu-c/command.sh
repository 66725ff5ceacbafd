# Compiles a model for a GPU, then a C program that runs it. TCC_SOURCE is this repository; ARCH is the GPU's
# architecture, such as sm_90a: without one the kernels run on this machine's CPU, in the place of a GPU.
tcc "$TCC_SOURCE/samples/linear-relu/linear-relu.onnx" --arch "${ARCH:-sim}" -o model.so
"${CC:-clang-22}" -std=c11 -Wall -Wextra -Werror -I "$TCC_SOURCE/include" main.c -o main
./main ./model.so
