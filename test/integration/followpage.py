"""Following a page of docs/ on a copy of the sources.

A block ```diff FILE``` adds lines to a file: those with a space before them must be in it, together and once. A block
```LANGUAGE FILE``` is a new file. What the page touches is compiled by the commands of the development build and
linked in front of its libraries, so that nothing else is built.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from compiled import tool
from toolrun import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from source_groups import compile_commands  # noqa: E402 # what the build compiles as one

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, shell=isinstance(command, str), capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


class Followed:
    def __init__(self, page, scratch):
        self.build = pathlib.Path(tool("tcc-opt")).parent.parent
        self.tree, self.made = scratch / "tree", scratch / "made"
        self.blocks = BLOCK.findall((SOURCE / "docs" / page).read_text())
        for folder in ("include", "lib", "tools", "test/unit/Reference"):
            shutil.copytree(SOURCE / folder, self.tree / folder)
        shutil.copytree(self.build / "include", self.made / "include")
        self.touched = []
        for language, path, text in self.blocks:
            if path:
                self.apply(language, self.tree / path, text)

    def apply(self, language, path, text):
        if path not in self.touched:
            self.touched.append(path)
        if language != "diff":
            assert not path.exists(), f"{path} exists"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        lines = text.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] == " ")
        source = path.read_text()
        assert source.count(old) == 1, f"{path} has not once:\n{old}"
        path.write_text(source.replace(old, "".join(line[1:] for line in lines)))

    def sources(self, suffix):
        return [path for path in self.touched if path.suffix == suffix]

    def text(self, language):
        return [text for kind, path, text in self.blocks if kind == language and not path]

    def moved(self, text):
        """A command of the build, on the copies, of which no precompiled header may hold another state."""
        text = re.sub("/Tcc(Prim|Kernel|Nvvm)Pch.dir/", "/TccPch.dir/", text)
        for folder in ("include", "lib", "tools"):
            text = re.sub(rf"{re.escape(str(SOURCE / folder))}(?=[/\s]|$)", str(self.tree / folder), text)
        text = text.replace(f"-I{SOURCE} ", f"-I{self.tree} ")
        return text.replace(str(self.build / "include"), str(self.made / "include"))

    def commands(self, target):
        return run(["ninja", "-C", str(self.build), "-t", "commands", target], SOURCE).splitlines()

    def generate(self, folder):
        """What mlir-tblgen makes of the definitions of a folder below include/tcc."""
        for file in sorted((self.build / "include/tcc" / folder).glob("*.inc")):
            made = next(line for line in self.commands(str(file.relative_to(self.build)))[::-1] if "mlir-tblgen" in line)
            command = self.moved(made.split("&&")[1].strip())
            run(command, self.made / "include/tcc" / folder)

    def compile(self, *others):
        """Objects of the sources that the page touches, and of `others`, with what they are compiled as one with, by
        their place in the build."""
        entries = {entry["file"]: entry for entry in compile_commands(self.build)}
        objects, running = {}, []
        for path in [*self.sources(".cpp"), *(self.tree / other for other in others)]:
            original = SOURCE / path.relative_to(self.tree)
            if original.parts[len(SOURCE.parts)] == "test":
                continue
            like = str(original) if str(original) in entries else next(
                file for file in sorted(entries) if pathlib.Path(file).parent == original.parent)
            words = shlex.split(self.moved(entries[like]["command"]))
            made = words.index("-o") + 1
            place, words[made] = words[made], str(self.made / f"{len(objects)}.o")
            known = like == str(original)
            if known and place in objects:
                continue
            objects[place if known else words[made]] = words[made]
            words[words.index("-c") + 1] = entries[like].get("group", str(path)) if known else str(path)
            words += ["-O0", "-Xclang", "-fno-validate-pch"]  # what follows a page runs for less time than it is optimised
            running.append((words, subprocess.Popen(words, cwd=self.build, stderr=subprocess.PIPE, text=True)))
            if len(running) == os.cpu_count():
                self.finish(running)
        self.finish(running)
        return objects

    @staticmethod
    def finish(running):
        for words, process in running:
            _, errors = process.communicate()
            assert process.returncode == 0, f"{' '.join(words)}\n{errors}"
        running.clear()

    def link(self, name, objects):
        """The program with these objects; its libraries are asked for what they lack alone."""
        command = next(line for line in self.commands(f"bin/{name}")[::-1] if f"-o bin/{name}" in line)
        for place, made in objects.items():
            command = command.replace(f" {place} ", f" {made} ")
        front = " ".join(made for made in objects.values() if f" {made} " not in command)
        program = self.made / name
        command = command.replace(f" -o bin/{name} ", f" {front} -o {program} ")
        run(command.split("&&")[1].strip(), self.build)
        return program

    def run_filecheck(self):
        """The RUN lines of the page's tests, with the linked tcc-opt."""
        for test in self.sources(".mlir"):
            command = test.read_text().splitlines()[0].removeprefix("// RUN: ").replace("%s", str(test))
            command = command.replace("tcc-opt", str(self.made / "tcc-opt")).replace("FileCheck", "FileCheck-22")
            run(["bash", "-o", "pipefail", "-c", command], self.made)
