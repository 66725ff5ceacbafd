# From ONNX and from torch.export: the same answers.
tcc conv-bn-silu.onnx -o conv-bn-silu.so
tcc-run conv-bn-silu.so --data data
tcc conv-bn-silu.pt2 -o conv-bn-silu-fx.so
tcc-run conv-bn-silu-fx.so --data data
