"""Every pass's description shows IR before and after that is real, says what it follows, and its name follows the rule."""
import re
import unittest

from compiled import tool
from passdescriptions import check_description, passes
from toolrun import SOURCE

PHASES = ("decompose", "simplify", "differentiate", "layout", "fuse", "schedule", "plan", "codegen")


class Passes(unittest.TestCase):
    maxDiff = None

    def test_names(self):
        found = list(passes(SOURCE))
        self.assertGreaterEqual(len(found), 19)
        for name, argument, _ in found:
            self.assertIn(argument.split("-")[1], PHASES, argument)
            self.assertTrue(name.endswith("Pass"), name)

    def test_descriptions(self):
        for _, argument, description in passes(SOURCE):
            with self.subTest(argument):
                check_description(self, tool("tcc-opt"), argument, description)

    def test_every_pass_of_the_sources_is_declared(self):
        declared = {name for name, _, _ in passes(SOURCE)}
        for path in sorted((SOURCE / "lib").rglob("*.cpp")):
            for name in re.findall(r"\b(?:PassWrapper|impl::\w+Base)<(\w+)", path.read_text()):
                self.assertIn(name, declared, f"{path} has a pass that no Passes.td declares")


unittest.main()
