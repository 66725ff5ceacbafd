"""Kernels for sm_90a, whose copies and matrix units the simulated device lacks, run from their PTX."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from toolrun import SOURCE, ToolTest, run

DEVICE = SOURCE / "test/device"


class EmulatedLaunches(ToolTest):
    @classmethod
    def setUpClass(cls):
        """What a file packs to is the same for every test: packed by the first that needs it, copied by each."""
        scratch = tempfile.TemporaryDirectory(prefix="tcc-packed-")
        cls.addClassCleanup(scratch.cleanup)
        cls.made = pathlib.Path(scratch.name)

    def pack(self, name):
        made = self.made / name
        if not made.exists():
            only = [] if name in ("wgmma_tile", "recurrence", "factors") else [name]
            begun = self.folder / "begun"
            result = run("pack-launches", "sm_90a", DEVICE / f"{name}.mlir", begun, *only, timeout=600)
            self.assertEqual(result.code, 0, result.text)
            shutil.move(begun, made)
        shutil.copytree(made, self.work / "packed")

    def emulated(self, *arguments):
        return subprocess.run([sys.executable, DEVICE / "emulate_launches.py", self.work / "packed", *arguments],
                              capture_output=True, text=True)

    def test_wgmma(self):
        self.pack("wgmma")
        result = self.emulated("--seeds", "2")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for name in ("conv_same", "conv_groups", "dot", "dot_three", "dot_three_residual", "batch_kn", "batch_nk",
                     "batch_ends", "batch_ends_nk", "batch_open", "left_across", "left_across_batch"):
            self.assertIn(name, result.stdout)

    def test_turns(self):
        """Warp groups with tiles of their own, several each."""
        self.pack("wgmma")
        kernels = ("dot_k0_dot_add", "dot_kn_k0_dot", "conv_tails_k0_conv_add_maximum")
        names = [f"{kernel}.wgmma_128x64_by128" for kernel in kernels]
        for blocks in ("1", "2"):
            result = self.emulated(*names, "--blocks", blocks)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("3 launches, 0 wrong", result.stdout)
        code = next(line.split()[2] for line in (self.work / "packed/launches").read_text().splitlines()
                    if line.startswith(f"launch {names[0]} "))
        text = (self.work / "packed" / code).with_suffix(".ptx")
        lines = text.read_text().splitlines(keepends=True)
        text.write_text("".join(line for line in lines if "\tbar.arrive" not in line))
        self.assertEqual(self.emulated(names[0], "--blocks", "1").returncode, 1)

    def test_wgmma_tiles(self):
        """One tile a block, in clusters that share its sums, by the schedules of the file."""
        self.pack("wgmma_tile")
        result = self.emulated("--seeds", "2")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("clusters_k0_dot_add.wgmma_64x32_split2", result.stdout)
        self.assertIn("batch_columns_k0_dot_add", result.stdout)
        self.assertIn("tf32_turned_k0_dot_add.wgmma_96x128", result.stdout)
        self.assertIn("tf32_turned_batch_k0_dot.wgmma_32x64_split3", result.stdout)
        self.assertIn("tf32_turned_batch_ends_k0_dot.wgmma_32x64_split3", result.stdout)
        self.assertIn("turned_result_k0_dot_add_transpose.wgmma_128x24_split2", result.stdout)
        self.assertIn("left_across_k0_dot.wgmma_128x64_split2", result.stdout)
        self.assertIn("batch_ends_k0_dot_add.wgmma_64x64_split2", result.stdout)
        # Sums that are read before all blocks of the cluster have left theirs, and shared memory that ends too early.
        kernel = self.work / "packed/k2.ptx"
        lines = kernel.read_text().splitlines(keepends=True)
        barriers = [at for at, line in enumerate(lines) if "barrier.cluster" in line]
        for dropped in (barriers[:2], barriers[-1:]):
            kernel.write_text("".join(line for at, line in enumerate(lines) if at not in dropped))
            result = self.emulated("clusters_k0_dot_add")
            self.assertEqual(result.returncode, 1, result.stdout)

    def blocks_wait(self, name, launches, kernel, launch):
        """All launches of a file, whose blocks send to each other, are right, and a kernel of them is not without its waits."""
        self.pack(name)
        result = self.emulated("--seeds", "3")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{launches} launches, 0 wrong", result.stdout)
        path = self.work / "packed" / kernel
        lines = path.read_text().splitlines(keepends=True)
        silent = [line for line in lines if "expect_tx" not in line]
        hasty = ["setp.eq.b32 P1, 0, 0;\n" if "mbarrier.try_wait" in line else line for line in lines]
        for changed in silent, hasty:  # nobody says what will come, or waits for it
            self.assertNotEqual(changed, lines)
            path.write_text("".join(changed))
            self.assertEqual(self.emulated(launch).returncode, 1)

    def test_recurrences(self):
        """Blocks of a cluster that share the units of a layer, by the schedules of the file."""
        self.blocks_wait("recurrence", 18, "k1.ptx", "layer_k0_recurrence.line")

    def test_factors(self):
        """Blocks of a cluster that share the columns of a matrix, by the schedules of the file."""
        self.blocks_wait("factors", 9, "k0.ptx", "tall_k0_qr")

    def test_ring_begins_anew(self):
        """Reflections that come to a place of the ring from which a warp that is late has yet to read."""
        self.pack("factors")
        name = "rows_k0_qr"
        code = next(line.split()[2] for line in (self.work / "packed/launches").read_text().splitlines()
                    if line.startswith(f"launch {name}"))
        text = (self.work / "packed" / code).with_suffix(".ptx")
        lines = text.read_text().splitlines(keepends=True)
        barriers = [at for at, line in enumerate(lines) if "barrier.cluster" in line]
        self.assertGreater(len(barriers), 4)  # before the first reflection, in between, and at the end
        text.write_text("".join(line for at, line in enumerate(lines) if at not in barriers[2:-2]))
        result = self.emulated(name, "--seeds", "4")
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_wgmma_attention(self):
        self.pack("wgmma_attention")
        names = "attention_causal", "attention_padded", "attention_72", "attention_odd", "attention_bool"
        result = self.emulated(*names, "--blocks", "2")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(", 0 wrong", result.stdout)
        for name in names:
            self.assertIn(name, result.stdout)

    def test_narrow_boxes_show(self):
        """Boxes with narrower rows than the kernel reads, and with rows for which there is no swizzle."""
        self.pack("wgmma")
        listing = self.work / "packed/launches"
        lines = listing.read_text().splitlines(keepends=True)
        for units, shown in ("32", "WRONG"), ("48", "rows of 96 bytes in a swizzle of 96"):
            narrowed = []
            for line in lines:
                words = line.split()
                if words[0] == "map":
                    words[3 + 2 * int(words[3])] = units  # the innermost of the pairs of extent and box
                narrowed.append(" ".join(words) + "\n")
            listing.write_text("".join(narrowed))
            result = self.emulated("dot_k0_dot_add", "conv_same")
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn(shown, result.stdout)

    def test_faults_show(self):
        """A kernel that gives a stage back too early, and one that never fills it."""
        self.pack("wgmma")
        kernel = self.work / "packed/k0.ptx"
        text = kernel.read_text()
        for right, wrong in (("wgmma.wait_group.sync.aligned \t1;", ""), ("wgmma.wait_group.sync.aligned 0;", ""),
                             (".im2col.mbarrier", ".mbarrier"), ("mbarrier.arrive.shared.b64", "// ")):
            self.assertIn(right, text)
            kernel.write_text(text.replace(right, wrong))
            result = self.emulated("conv_same")
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("WRONG", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
