"""The tiles that the estimate for wgmma picks, held to times that were measured (test/bench/gpu_product_times.json).

They were taken on one H200 in captured graphs, bf16, 2026-11-27: microseconds of products of `rows` x `k` by `columns` x `k`
in tiles of the template that computes tile after tile, with a bias, a residual, gelu or nothing behind them.
"""
import json
import re
import unittest

from toolrun import SOURCE, ToolTest, run

MOST, MEAN = 1.13, 1.015  # of the best tile's time: any product, and all of them


def function(number, product):
    m, k, n, behind = (product[key] for key in ("rows", "k", "columns", "behind"))
    wide, narrow = f"tensor<{m}x{n}xf32>", f"tensor<{m}x{n}xbf16>"
    arguments = f"%a: tensor<{m}x{k}xbf16>, %w: tensor<{n}x{k}xbf16>"
    lines = [f"%0 = prim.dot %a, %w batch [] x [] contract [1] x [1] : (tensor<{m}x{k}xbf16>, tensor<{n}x{k}xbf16>) -> {wide}"]

    def add(text):
        lines.append(f"%{len(lines)} = prim.{text}")
        return f"%{len(lines) - 1}"

    def binary(op, x, y):
        return add(f"{op} {x}, {y} : ({wide}, {wide}) -> {wide}")
    value = "%0"
    if behind != "nothing":
        arguments += f", %c: tensor<{n}xf32>"
        value = binary("add", value, add(f"broadcast %c axes [1] sizes() : (tensor<{n}xf32>) -> {wide}"))
    if behind == "residual":
        arguments += f", %z: {narrow}"
        value = binary("add", value, add(f"cast %z : ({narrow}) -> {wide}"))
    if behind == "gelu":
        value = binary("mul", value, add(f"erf {value} : ({wide}) -> {wide}"))
    lines.append(f"%y = prim.cast {value} : ({wide}) -> {narrow}")
    return "\n  ".join([f"func.func @p{number}({arguments}) -> {narrow} {{", *lines, f"return %y : {narrow}\n}}\n"])


class GpuProducts(ToolTest):
    def test_tiles(self):
        products = json.loads((SOURCE / "test/bench/gpu_product_times.json").read_text(encoding="utf-8"))
        (self.work / "products.mlir").write_text("".join(function(*item) for item in enumerate(products)))
        result = run("tcc-opt", self.work / "products.mlir", "--arch", "sm_90a", "-tcc-fuse-kernels", "-tcc-schedule-kernels")
        self.assertEqual(result.code, 0, result.text)
        schedules = re.findall(r"sm_90a = <form = (\w+), ([^>]*)>", result.out)
        self.assertEqual(len(schedules), len(products))
        losses = []
        for product, (form, words) in zip(products, schedules):
            self.assertEqual(form, "wgmma")
            sizes = dict(re.findall(r"(\w+) = (\d+)", words))
            if "most_blocks" not in sizes:
                continue  # few tiles, which the other template takes
            tile = f"{sizes['rows']}x{sizes['columns']}" + (" in turns" if "row_threads" in sizes else "")
            what = f"{product} by {tile}"
            self.assertIn(tile, product["us"], f"{what} has no time: measure it")
            losses.append(product["us"][tile] / min(product["us"].values()))
            self.assertLessEqual(losses[-1], MOST, what)
        self.assertGreater(len(losses), len(products) * 9 / 10)
        self.assertLessEqual(sum(losses) / len(losses), MEAN)


if __name__ == "__main__":
    unittest.main()
