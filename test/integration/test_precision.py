"""Models in bf16 and f16: errors beside PyTorch's own in the type (test/models/precision.py)."""
import subprocess
import unittest

from toolrun import SOURCE

PYTHON = SOURCE / "build/python-models/bin/python"


class Precision(unittest.TestCase):
    def test_models(self):
        subprocess.run([SOURCE / "scripts/setup-python", "--models"], check=True)
        result = subprocess.run([PYTHON, SOURCE / "test/models/precision.py"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
