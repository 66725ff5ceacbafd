# What a compiled model takes and gives, and whether its answers are right: from ONNX and from torch.export.
tcc sincos.onnx -o sincos.so
tcc-run sincos.so --describe
tcc-run sincos.so --data data
tcc sincos.pt2 -o sincos-fx.so
tcc-run sincos-fx.so --data data
