"""docs/adding-an-operator.md does what it says, step by step."""
import os
import unittest

from compiled import Compiled
from followpage import Followed
from toolrun import ToolTest


class AddingAnOperator(ToolTest):
    def test_page(self):
        page = Followed("adding-an-operator.md", self.folder)
        page.generate("Dialect/Prim")
        objects = page.compile("lib/Dialect/Prim/Prim.cpp")
        for name in ("tcc", "tcc-opt"):
            page.link(name, objects)
        page.run_filecheck()
        before = os.environ.get("TCC_BIN")
        os.environ["TCC_BIN"] = str(page.made)
        self.addCleanup(lambda: os.environ.update({"TCC_BIN": before}) if before else os.environ.pop("TCC_BIN"))
        os.chdir(self.work)
        for code in page.text("python"):
            exec(code, {"Compiled": Compiled})


unittest.main()
