"""Random PyTorch programs agree with PyTorch (test/models/randomprogram.py; run that for longer by hand)."""
import subprocess
import unittest

from toolrun import SOURCE

PYTHON = SOURCE / "build/python-models/bin/python"


class RandomPrograms(unittest.TestCase):
    def test_programs(self):
        subprocess.run([SOURCE / "scripts/setup-python", "--models"], check=True)
        result = subprocess.run([PYTHON, SOURCE / "test/models/randomprogram.py", "--seeds", "0:25"],
                                stdout=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
