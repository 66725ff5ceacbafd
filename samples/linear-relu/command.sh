# From ONNX and from torch.export: the same answers.
tcc linear-relu.onnx -o linear-relu.so
tcc-run linear-relu.so --data data
tcc linear-relu.pt2 -o linear-relu-fx.so
tcc-run linear-relu-fx.so --data data
