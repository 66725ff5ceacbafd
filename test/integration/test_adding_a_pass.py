"""docs/adding-a-pass.md does what it says, step by step."""
import unittest

from followpage import Followed
from passdescriptions import check_description, passes
from toolrun import SOURCE, ToolTest


class AddingAPass(ToolTest):
    def test_page(self):
        page = Followed("adding-a-pass.md", self.folder)
        page.generate("Simplify")
        program = page.link("tcc-opt", page.compile())
        page.run_filecheck()
        known = {argument for _, argument, _ in passes(SOURCE)}
        added = [found for found in passes(page.tree) if found[1] not in known]
        self.assertEqual(len(added), 1)
        for _, argument, description in added:
            check_description(self, program, argument, description)


unittest.main()
