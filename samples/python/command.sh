# Compiles a model and runs it from Python. TCC_SOURCE is this repository.
tcc "$TCC_SOURCE/samples/linear-relu/linear-relu.onnx" -o model.so
PYTHONPATH=$TCC_SOURCE/lib/Bindings/Python "$PYTHON" main.py
