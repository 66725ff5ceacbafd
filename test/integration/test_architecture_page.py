"""docs/architecture.md shows what tcc gives: its code blocks are lines of the dump, in their order."""
import re
import unittest

from toolrun import SOURCE, ToolTest

PAGE = SOURCE / "docs/architecture.md"


def pattern(line):
    """A regular expression for a shown line; `...` stands for anything on the line."""
    return ".*?".join(re.escape(part) for part in line.strip().split("..."))


class ArchitecturePage(ToolTest):
    def test_blocks_are_real(self):
        text = PAGE.read_text()
        command = re.search(r"^    tcc (.*)$", text, re.MULTILINE).group(1).split()
        command = [str(SOURCE / word) if word.startswith("samples/") else word for word in command]
        self.compiles(*command)
        blocks = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual(len(blocks), 8)
        for path, block in blocks:
            dump, position = (self.work / path).read_text(), 0
            for line in block.splitlines():
                if line.strip() == "...":
                    continue
                found = re.compile(pattern(line)).search(dump, position)
                self.assertTrue(found, f"{path} has no line like '{line}' after character {position}")
                position = found.end()


unittest.main()
