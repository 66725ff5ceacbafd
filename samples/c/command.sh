# Compiles a model, then a C program that runs it. TCC_SOURCE is this repository.
tcc "$TCC_SOURCE/samples/linear-relu/linear-relu.onnx" -o model.so
"${CC:-clang-22}" -std=c11 -Wall -Wextra -Werror -I "$TCC_SOURCE/include" main.c -o main
./main ./model.so
