"""PTX as a list of instructions: what emulate_launches.py runs. No instruction is known here."""
import re
from typing import NamedTuple


class Instruction(NamedTuple):
    predicate: str | None  # the register that must hold; with "!": must not
    name: str              # "add.s32"
    operands: list[str]


class Kernel(NamedTuple):
    parameters: dict[str, int]   # number by name
    code: list[Instruction]
    labels: dict[str, int]       # where in the code
    shared: dict[str, int]       # bytes of shared variables by name; 0 for dynamic memory
    cluster: int                 # blocks that run together


def split_operands(text):
    """At the commas outside of braces and brackets."""
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += letter in "{["
        depth -= letter in "}]"
        if letter == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return parts + [current.strip()] if current.strip() else parts


def statements(body):
    """("open",), ("close",), ("label", name) and ("code", text) in order."""
    for line in re.sub(r"//[^\n]*", "", body).split("\n"):
        line = line.strip()
        while match := re.match(r"^(\$?\w+):\s*(.*)$", line):
            yield "label", match.group(1)
            line = match.group(2)
        if not line:
            continue
        if line[0] == "{":  # of inline code, which has registers and labels of its own
            yield "open", ""
            line = line[1:].strip()
        if line == "}":
            yield "close", ""
            continue
        closes = line.endswith("; }")
        for text in (line[:-1] if closes else line).split(";"):
            if text.strip():
                yield "code", text.strip()
        if closes:
            yield "close", ""


def parse(text):
    header, body = text.split(".entry", 1)[1].split("\n{\n", 1)
    parameters = {name: i for i, name in enumerate(re.findall(r"\b(\w+_param_\d+)", header))}
    shared = {name: int(size or 0) for name, size in re.findall(r"\.shared [^\n]*?\.b8 (\w+)\[(\d*)\]", text)}
    code, labels, scopes, scope = [], {}, [""], 0
    own = {}  # names that an open scope declares

    def renamed(part):
        return re.sub(r"(?<![%$\w])[A-Za-z_]\w*", lambda m: own.get(m.group(0), m.group(0)), part)

    for kind, text in statements(body[:body.rindex("}")]):
        if kind == "open":
            scope += 1
            scopes.append(f"@{scope}")
            own = {}
        elif kind == "close":
            scopes.pop()
            own = {}
        elif kind == "label":
            labels[text + scopes[-1]] = len(code)
            own[text] = text + scopes[-1]
        elif text.startswith("."):
            if scopes[-1] and (match := re.match(r"\.reg\s+\.\w+\s+(.*)", text)):
                own |= {name.strip(): name.strip() + scopes[-1] for name in match.group(1).split(",")}
        else:
            predicate = None
            if match := re.match(r"^@(!?%?\w+)\s+(.*)$", text):
                predicate, text = renamed(match.group(1)), match.group(2)
            name, _, rest = text.partition(" ")
            operands = [renamed(part) for part in split_operands(rest.strip())]
            if name.startswith("bra") and scopes[-1]:
                operands = [operands[0].split("@")[0] + scopes[-1]]
            code.append(Instruction(predicate, name, operands))
    cluster = re.search(r"\.reqnctapercluster (\d+)", header)
    return Kernel(parameters, code, labels, shared, int(cluster.group(1)) if cluster else 1)
