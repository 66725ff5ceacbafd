# From ONNX and from torch.export: the same answers.
tcc linear.onnx -o linear.so
tcc-run linear.so --data data
tcc linear.pt2 -o linear-fx.so
tcc-run linear-fx.so --data data
