#!/usr/bin/env python3
"""Which sources can be read as one, and what CMake compiles so.

    scripts/source_groups.py LIST OUTPUT

Most of the time that a file takes goes into the templates of headers that it instantiates: several files read as one
take half. They must give no name two meanings, and none may see what another keeps to itself:

- Each has the using-directives of those before it.
- None defines a name that another defines. An alias or a macro may stand for the same in both.
- What a file defines for itself alone (static, in a namespace without a name, a type, a constant, an alias, a
  using-declaration, a macro) no other so much as mentions, be it as a local variable, but as a member. So nothing is overloaded or
  hidden in silence.

What belongs to a file alone stands at the beginning of a line. What is not found there the compiler finds defined twice.

LIST has a line a target: its name, a folder and sources, separated by semicolons. A group is a file in that folder that
includes its sources, and OUTPUT gives the target these files for its sources. None is written if it is as it should be:
the build runs this whenever a source has changed, and CMake only when a group has.

A source's group is drawn from its name, so that one that no longer fits, or is new, moves few others.
"""
import json
import math
import pathlib
import re
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOGETHER = 8  # files of a group on average: all are compiled when one has changed
AT_MOST = 12
DIRECTIVE = re.compile(r"^ *using namespace [\w:]+;", re.M)
ALIAS = re.compile(r"^(?:using|namespace) (\w+) =(.*)$|^# *define (\w+)(.*)$|^ *using ([\w:]+::)(\w+);$", re.M)
TYPE = re.compile(r"^(?:template\b.*> )?(?:struct|class|union|enum(?: class)?) (\w+)\b(?!;)", re.M)
CONSTANT = re.compile(r"^(?:static |inline )*const(?:expr)? .*(?:\n .*)*", re.M)
FUNCTION = re.compile(r"^(?!using|return|namespace|extern|[A-Z_]+\()([A-Za-z_][^;={}()/\"\n]*?)"
                      r"(?<![\w:~])(?:[a-z]\w*::)*(\w+)(?:\(|\[| = |;|\{)", re.M)
UNNAMED = re.compile(r"^namespace \{.*?^\} // namespace$", re.M | re.S)
SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.S)

MEMBER = re.compile(r"(?:\.|->)~?\w+|\b(std|llvm|mlir|[A-Z]\w*)(?:::~?\w+)+")  # nothing else can have such a name
WORD = re.compile(r"[A-Za-z_]\w*")


class Source:
    """The names that a file gives a meaning, and what it says."""

    def __init__(self, path):
        self.path, text = path, pathlib.Path(path).read_text()
        code = SKIPPED.sub("", text)
        self.directives = {" ".join(line.split()) for line in DIRECTIVE.findall(code)}
        # LLVM has many names, and what mlir-tblgen writes has the same ones in each.
        self.kind = "using namespace llvm;" in self.directives, path if '.cpp.inc"' in text else ""
        self.words = set(WORD.findall(MEMBER.sub(r"\1", code)))
        self.meanings = {name: path for _, name in FUNCTION.findall(code)}
        own = {name for before, name in FUNCTION.findall(code) if "static " in before}
        for section in UNNAMED.findall(text):
            own.update(name for _, name in FUNCTION.findall(SKIPPED.sub("", section)))
        own.update(TYPE.findall(code))
        own.update(name for line in CONSTANT.findall(code) for name in re.findall(r"(\w+)(?:\[\w*\])* = ", line))
        self.meanings.update(dict.fromkeys(own, path))
        for alias, what, macro, body, outer, name in ALIAS.findall(code):
            self.meanings[alias or macro or name] = what + body + outer
            own.add(alias or macro or name)
        self.own = own

    def agrees_with(self, other):
        """Whether no name means two things to them: enough for who only reads them."""
        shared = self.meanings.keys() & other.meanings.keys()
        return self.kind == other.kind and all(self.meanings[name] == other.meanings[name] for name in shared)

    def may_follow(self, other):
        """Whether neither sees what the other keeps to itself."""
        return self.agrees_with(other) and other.directives <= self.directives and all(
            b.meanings.get(name) == a.meanings[name] for a, b in ((self, other), (other, self)) for name in a.own & b.words)


def groups(paths):
    """Lists of the paths, each of files that can be compiled as one."""
    sources = sorted(map(Source, paths), key=lambda source: (len(source.directives), source.path))
    homes = 2 ** max(0, round(math.log2(max(1, len(sources)) / TOGETHER)))
    made = [[] for _ in range(homes)]
    for source in sources:
        home = zlib.crc32(pathlib.Path(source.path).name.encode()) % homes
        for group in made[home:homes] + made[:home] + made[homes:]:
            if len(group) < AT_MOST and all(map(source.may_follow, group)):
                group.append(source)
                break
        else:
            made.append([source])
    return [[source.path for source in group] for group in made if group]


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def included(path):
    """The sources of a group's file."""
    return [str(ROOT / name) for name in re.findall(r'^#include "(.*)"$', pathlib.Path(path).read_text(), re.M)]


def compile_commands(build):
    """CMake's, with an entry for each source of a group."""
    entries = []
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        if "/groups/" not in entry["file"]:
            entries.append(entry)
            continue
        for source in included(entry["file"]):
            before, _, after = entry["command"].rpartition(entry["file"])
            entries.append({**entry, "file": source, "command": before + source + after, "group": entry["file"]})
    return entries


def main():
    listing, output = map(pathlib.Path, sys.argv[1:])
    text, read = "", [listing, pathlib.Path(__file__).resolve()]
    for line in listing.read_text().splitlines():
        target, folder, *paths = line.split(";")
        paths = [path for path in paths if pathlib.Path(path).exists()]  # of one that is gone CMake will hear
        read += paths
        files = []
        for group in groups(paths):
            if len(group) > 1:
                names = [pathlib.Path(path).relative_to(ROOT).as_posix() for path in group]
                file = pathlib.Path(folder) / f"{len(files)}.cpp"
                write(file, "".join(f'#include "{name}"\n' for name in names))
                group = [file.as_posix()]
            files += group
        for old in set(pathlib.Path(folder).glob("*.cpp")) - set(map(pathlib.Path, files)):
            old.unlink()
        text += f"tcc_group({target} {' '.join(files)})\n"
    write(output, text)
    write(output.with_suffix(".d"), f"{output.name}: " + " ".join(map(str, read)) + "\n")


if __name__ == "__main__":
    main()
