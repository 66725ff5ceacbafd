"""Those programs of cases.py that quantize by blocks, as torchao 0.18 does; without that package there are none."""
import torch


def blocks(normal, uniform):
    try:
        from torchao.quantization import quant_primitives  # noqa: F401: it registers the operators
    except ImportError:
        return
    ops = torch.ops.torchao

    def run(x, h, w, s):
        results = []
        for block in ([1, 8], [4, 8], [2, 4]):
            for mapping in ("SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"):
                for keepdim in (False, True):
                    scale, zero = ops.choose_qparams_affine(x, mapping, block, torch.int8, -8, 7, 1e-5, torch.float32,
                                                            torch.int8, keepdim)
                    results += [scale, zero]
            q = ops.quantize_affine(x, block, scale, zero, torch.int8, -8, 7)
            results += [q, ops.dequantize_affine(q, block, scale, zero, torch.int8, -8, 7)]
        scale, zero = ops.choose_qparams_affine(h, "ASYMMETRIC", [1, 8], torch.uint8)
        q = ops.quantize_affine(h, [1, 8], scale, zero, torch.uint8)
        results += [scale, zero, ops.dequantize_affine(q, [1, 8], scale, None, torch.uint8, output_dtype=torch.bfloat16),
                    ops.dequantize_affine(w, [1, 4], s, None, torch.int8, -8, 7)]
        return results

    x = normal(4, 8)
    yield "blocks_quantized", run, (x, x.bfloat16(), torch.arange(32).reshape(4, 8).sub(16).div(2).char(), uniform(4, 2))
