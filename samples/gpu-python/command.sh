# Compiles a model for a GPU and runs it from Python. TCC_SOURCE is this repository; ARCH is the GPU's architecture,
# such as sm_90a: without one the kernels run on this machine's CPU, in the place of a GPU.
tcc "$TCC_SOURCE/samples/linear-relu/linear-relu.onnx" --arch "${ARCH:-sim}" -o model.so
PYTHONPATH=$TCC_SOURCE/lib/Bindings/Python "$PYTHON" main.py
