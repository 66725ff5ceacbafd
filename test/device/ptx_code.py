"""What a thread does on its own, as functions of Python: one for each straight run of a kernel's code.

A run ends at a label, at a branch, and before an instruction that waits or takes several threads (ptx_async.py). In it
registers are variables, and what other code reads of them is in the thread's registers at its end. A number of type f32
is a float, rounded, until its bits are asked for. So an instruction costs about what Python takes for its expression: a
tenth of a function for each.
"""
import re
import struct

import ptx_numbers as numbers

WARP = 32
TOKEN = re.compile(r"[%\w$@.]+")
LITERAL = re.compile(r"-?(0x)?[0-9a-fA-F]+U?")
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
ORDERED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "hs": ">="}
EXACT = {"min", "max", "neg", "abs"}  # no rounding of what they give
NOTHING = ("prefetch", "fence", "setmaxnreg", "griddepcontrol", "membar")
SPECIALS = {"%tid.x": "t.number", "%ctaid.x": "t.block.number", "%laneid": f"t.number % {WARP}"}


def names(text):
    return [part.strip() for part in text.strip("{}").split(",")]


def mask(bits):
    return (1 << bits) - 1


def picked(low, high, selector):
    """prmt: four of eight bytes."""
    data = (low | high << 32).to_bytes(8, "little")
    return sum(data[selector >> 4 * i & 7] << 8 * i for i in range(4))


class Operands:
    """What operands are that no thread changes."""

    def __init__(self, kernel, symbols, launch, parameter):
        self.kernel, self.symbols, self.launch, self.parameter = kernel, symbols, launch, parameter

    def constant(self, text):
        """The number that `text` is; None for a register."""
        if text in self.symbols:
            return self.symbols[text]
        if text in self.kernel.parameters:
            return self.parameter | self.kernel.parameters[text] << 8
        if text in ("%nctaid.x", "%ntid.x"):
            return self.launch.blocks if text == "%nctaid.x" else self.launch.threads
        if text[:2] in ("0f", "0F", "0d", "0D"):
            return int(text[2:], 16)
        if LITERAL.fullmatch(text):
            return int(text.rstrip("U"), 0)
        return {"true": 1, "false": 0}.get(text)


class Run:
    """The text of one run. Each method for a kind of instructions says whether it knows this one."""

    def __init__(self, operands, private, space):
        self.operands, self.private, self.space = operands, private, space
        self.lines, self.indent = [], "    "
        self.bits, self.widths = {}, {}  # the variable that has the bits of a register, and how many may be set
        self.floats = {}                 # kind and variable of a register that is a float
        self.changed, self.targets = [], []

    # ---- registers and numbers ----

    def line(self, text):
        self.lines.append(self.indent + text)

    def variable(self, prefix, register):
        return prefix + re.sub(r"\W", lambda found: f"_{ord(found.group()):x}_", register)

    def shared(self, value):
        """A name for a value in the functions' globals."""
        for name, known in self.space.items():
            if known is value:
                return name
        name = f"c{len(self.space)}"
        self.space[name] = value
        return name

    def raw(self, text):
        """The bits of an operand and the width that they surely have, or None."""
        constant = self.operands.constant(text)
        if constant is not None:
            return (str(constant), constant.bit_length()) if constant >= 0 else (f"({constant})", None)
        if text in SPECIALS:
            return f"({SPECIALS[text]})", 32
        if text not in self.bits:
            self.bits[text] = variable = self.variable("v", text)
            kind, number = self.floats.get(text, (None, None))
            self.line(f"{variable} = {f'{self.shared(numbers.FROM_REAL[kind])}({number})' if kind else f'r[{text!r}]'}")
            self.widths[text] = numbers.width(kind) if kind else None
        return self.bits[text], self.widths[text]

    def unsigned(self, text, bits):
        expression, width = self.raw(text)
        return expression if width is not None and width <= bits else f"({expression} & {mask(bits)})"

    def real(self, text, kind):
        if text in self.floats and self.floats[text][0] == kind:
            return self.floats[text][1]
        constant = self.operands.constant(text)
        if constant is not None:
            name = f"k{kind}_{constant}"
            self.space[name] = numbers.TO_REAL[kind](constant)
            return name
        bits = self.unsigned(text, numbers.width(kind))
        if kind in ("bf16", "f16"):
            return f"{self.shared(numbers.BF16 if kind == 'bf16' else numbers.F16)}[{bits}]"
        variable = self.variable("f", text)
        self.line(f"{variable} = {self.shared(numbers.TO_REAL[kind])}({bits})")
        self.floats[text] = kind, variable
        return variable

    def computed(self, text):
        """Kind and variable of a register whose bits are not known, which a NaN's may not survive."""
        return self.floats.get(text, (None, None)) if text not in self.bits else (None, None)

    def number(self, text, kind):
        """An operand as a number of a type."""
        if kind in numbers.TO_REAL:
            return self.real(text, kind)
        bits = numbers.width(kind)
        constant = self.operands.constant(text)
        if kind[0] != "s":
            return str(constant & mask(bits)) if constant is not None else self.unsigned(text, bits)
        if constant is not None:
            return f"({numbers.signed(constant, bits)})"
        sign = 1 << bits - 1
        return f"(({self.unsigned(text, bits)} ^ {sign}) - {sign})"

    def changes(self, register):
        self.bits.pop(register, None)
        self.floats.pop(register, None)
        self.targets.append(register)
        if register not in self.changed:
            self.changed.append(register)

    def assign(self, register, expression, width=None):
        variable = self.variable("v", register)
        self.line(f"{variable} = {expression}")
        self.changes(register)
        self.bits[register], self.widths[register] = variable, width
        return True

    def assign_real(self, register, kind, expression, exact=False):
        if kind not in ("f32", "f64"):
            return self.assign(register, f"{self.shared(numbers.FROM_REAL[kind])}({expression})", 16)
        if kind == "f32" and not exact:
            expression = f"{self.shared(numbers.rounded)}({expression})"
        variable = self.variable("f", register)
        self.line(f"{variable} = {expression}")
        self.changes(register)
        self.floats[register] = kind, variable
        return True

    def flush(self):
        """What was written and is read elsewhere goes into the thread's registers."""
        for register in self.changed:
            if register not in self.private:
                self.line(f"r[{register!r}] = {self.raw(register)[0]}")
        self.changed = []

    # ---- instructions ----

    def add(self, instruction):
        """Whether it is of a single thread that goes on; branches are not."""
        before = len(self.lines)
        parts, given = instruction.name.split("."), instruction.operands
        if instruction.predicate:
            return self.predicated(instruction, parts, given)
        done = self.made(parts, given)
        if not done:
            del self.lines[before:]
        return done

    def made(self, parts, given):
        return any(make(parts, given) for make in (self.arithmetic, self.conversion, self.movement, self.nothing))

    def predicated(self, instruction, parts, given):
        """In an `if`, after which nothing is known of what it wrote."""
        before, known = len(self.lines), (dict(self.bits), dict(self.widths), dict(self.floats), list(self.changed))
        self.flush()
        expression, _ = self.raw(instruction.predicate.lstrip("!"))
        self.line(f"if {'not ' if instruction.predicate[0] == '!' else ''}{expression}:")
        kept = dict(self.bits), dict(self.widths), dict(self.floats)
        self.indent, self.targets, inside = " " * 8, [], len(self.lines)
        done = self.made(parts, given)
        self.flush()
        self.indent = " " * 4
        if not done:
            del self.lines[before:]
            self.bits, self.widths, self.floats, self.changed = known
            return False
        if len(self.lines) == inside:
            self.line("    pass")
        self.bits, self.widths, self.floats = kept
        for register in self.targets:
            self.bits.pop(register, None)
            self.floats.pop(register, None)
        return True

    def nothing(self, parts, given):
        return parts[0] in NOTHING or parts[:2] == ["wgmma", "fence"]

    def arithmetic(self, parts, given):
        kind, name = parts[-1], parts[0]
        if name == "setp":
            return self.comparison(parts[1], kind, given)
        if name == "selp":
            return self.selection(given)
        if name == "not":
            bits = numbers.width(kind)
            return self.assign(given[0], f"{self.unsigned(given[1], bits)} ^ {mask(bits)}", bits)
        if kind in numbers.TO_REAL and name in (*numbers.REAL, *numbers.UNARY, "fma"):
            return self.real_arithmetic(name, kind, given[0], [self.real(text, kind) for text in given[1:]])
        if name in ("mad", "bfe", "prmt", *numbers.INTEGER) or (name in ("neg", "abs") and kind[0] == "s"):
            return self.integer(name, parts, given)
        return False

    def comparison(self, test, kind, given):
        left, right = self.number(given[1], kind), self.number(given[2], kind)
        if test in ORDERED:
            return self.assign(given[0], f"{left} {ORDERED[test]} {right}", 1)
        return self.assign(given[0], f"{self.shared(numbers.COMPARE[test])}({left}, {right})", 1)

    def selection(self, given):
        chosen = [self.computed(text) for text in given[1:3]]
        holds, _ = self.raw(given[3])
        if chosen[0][0] and chosen[0][0] == chosen[1][0]:
            return self.assign_real(given[0], chosen[0][0], f"{chosen[0][1]} if {holds} else {chosen[1][1]}", exact=True)
        (yes, first), (no, second) = self.raw(given[1]), self.raw(given[2])
        known = first is not None and second is not None
        return self.assign(given[0], f"{yes} if {holds} else {no}", max(first, second) if known else None)

    def real_arithmetic(self, name, kind, to, get):
        if name == "fma":
            return self.assign_real(to, kind, f"{get[0]} * {get[1]} + {get[2]}")
        if name in OPERATORS:
            return self.assign_real(to, kind, f"{get[0]} {OPERATORS[name]} {get[1]}")
        function = self.shared(numbers.UNARY[name] if len(get) == 1 else numbers.REAL[name])
        return self.assign_real(to, kind, f"{function}({', '.join(get)})", exact=name in EXACT)

    def integer(self, name, parts, given):
        kind, to = parts[-1], given[0]
        bits = numbers.width(kind)
        if name == "prmt":
            words = ", ".join(self.raw(text)[0] for text in given[1:4])
            return self.assign(to, f"{self.shared(picked)}({words})", 32)
        if name == "bfe":
            word, first, count = (self.raw(text)[0] for text in given[1:4])
            field = f"({word} >> {first} & (1 << {count}) - 1)"
            if kind[0] != "s":
                return self.assign(to, field)
            sign = f"((1 << {count}) >> 1)"  # of a field within the word, which fills what is above it
            return self.assign(to, f"({field} ^ {sign}) - {sign} & {mask(bits)}", bits)
        whole = bits * (2 if "wide" in parts else 1)
        get = [self.number(text, kind) for text in given[1:3]]
        if name == "mad":
            return self.assign(to, f"({get[0]} * {get[1]} + {self.raw(given[3])[0]}) & {mask(whole)}", whole)
        if len(given) == 2:
            return self.assign(to, f"{self.shared(numbers.UNARY[name])}({get[0]}) & {mask(whole)}", whole)
        if name in OPERATORS:
            expression = f"{get[0]} {OPERATORS[name]} {get[1]}"
        elif name in ("shl", "shr") and get[1].isdigit():
            expression = f"{get[0]} {'<<' if name == 'shl' else '>>'} {min(int(get[1]), 64)}"
        else:
            expression = f"{self.shared(numbers.INTEGER[name])}({', '.join(get)})"
        if "hi" in parts:
            expression = f"({expression}) >> {bits}"
        fits = kind[0] != "s" and name in ("and", "or", "xor", "shr", "min", "max", "rem", "div")
        return self.assign(to, expression if fits else f"({expression}) & {mask(whole)}", whole)

    def conversion(self, parts, given):
        if parts[0] == "cvta":
            offset = self.space["SHARED"]
            offset = offset if parts[1] == "shared" else -offset if parts[1:3] == ["to", "shared"] else 0
            expression, width = self.raw(given[1])
            return self.assign(given[0], f"{expression} + {offset}") if offset else \
                self.assign(given[0], expression, width)
        if parts[0] != "cvt":
            return False
        to, of = parts[-2:]
        if to.endswith("x2"):
            write = self.shared(numbers.FROM_REAL[to[:-2]])
            high, low = self.real(given[1], "f32"), self.real(given[2], "f32")
            return self.assign(given[0], f"{write}({high}) << 16 | {write}({low})", 32)
        if to == "tf32":  # to nearest, ties away from zero
            return self.assign(given[0], f"{self.raw(given[1])[0]} + 0x1000 & 0xFFFFE000", 32)
        value = self.number(given[1], of)
        if of in numbers.TO_REAL and "rni" in parts:
            value = f"round({value})"
        if to in numbers.TO_REAL:
            return self.assign_real(given[0], to, value, exact=of in ("bf16", "f16"))
        width = numbers.width(to)
        if of in numbers.TO_REAL:
            return self.assign(given[0], f"int({value}) & {mask(width)}", width)
        fits = of[0] != "s" and numbers.width(of) <= width
        return self.assign(given[0], value if fits else f"{value} & {mask(width)}", width)

    def movement(self, parts, given):
        if parts[0] == "mov":
            return self.move(numbers.width(parts[-1]), given)
        if parts[:2] == ["ld", "param"]:
            number = self.operands.kernel.parameters[given[1].strip("[]").split("+")[0]]
            value = self.operands.launch.parameters[number]
            return self.assign(given[0], str(value) if isinstance(value, int) else self.shared(value))
        if parts[0] not in ("ld", "st") or parts[1] == "async":
            return False
        loads = parts[0] == "ld"
        place, registers = given[1 if loads else 0], names(given[0 if loads else 1])
        each = numbers.width(parts[-1]) // 8
        base, _, offset = place.strip("[]").partition("+")
        words = struct.Struct(f"<{len(registers)}{CODES[each]}")
        space = "shared" if any(part.startswith("shared") for part in parts) else "global"
        values = [] if loads else [self.unsigned(register, 8 * each) for register in registers]
        name = ("load" if loads else "store") + words.format.strip("<")
        self.space[name] = words.unpack_from if loads else words.pack_into
        self.line(f"memory, at = place(t, {self.raw(base)[0]} + {int(offset or '0', 0)}, {space!r}, {words.size})")
        if not loads:
            self.line(f"{name}(memory, at, {', '.join(values)})")
            return True
        self.line(f"{', '.join(self.variable('v', register) for register in registers)}, = {name}(memory, at)")
        for register in registers:
            self.changes(register)
            self.bits[register], self.widths[register] = self.variable("v", register), 8 * each
        return True

    def move(self, bits, given):
        if given[0][0] == "{":
            targets, each = names(given[0]), bits // len(names(given[0]))
            self.line(f"whole = {self.raw(given[1])[0]}")
            for i, target in enumerate(targets):
                self.assign(target, f"whole >> {i * each} & {mask(each)}", each)
            return True
        sources = names(given[1])
        if len(sources) == 1:
            kind, variable = self.computed(given[1])
            if kind and numbers.width(kind) == bits:
                return self.assign_real(given[0], kind, variable, exact=True)
            return self.assign(given[0], self.unsigned(given[1], bits), bits)
        each = bits // len(sources)
        return self.assign(given[0], " | ".join(f"{self.unsigned(text, each)} << {i * each}"
                                                for i, text in enumerate(sources)), bits)

    # ---- its end ----

    def branch(self, instruction, at):
        """A jump or the thread's end, which ends the run too; `at`: what follows it."""
        kind = instruction.name.split(".")[0]
        if kind not in ("bra", "ret", "exit"):
            return False
        self.flush()
        holds = "True"
        if instruction.predicate:
            holds = self.raw(instruction.predicate.lstrip("!"))[0]
            holds = f"not {holds}" if instruction.predicate[0] == "!" else holds
        if kind == "bra":
            target = self.operands.kernel.labels[instruction.operands[0]]
            self.line(f"t.at = {target} if {holds} else {at}" if instruction.predicate else f"t.at = {target}")
            return True
        self.line(f"t.at = {at}")
        self.line(f"if {holds}: end(t)")
        return True


def mentions(instruction):
    texts = [*instruction.operands, *([instruction.predicate] if instruction.predicate else [])]
    return {token for text in texts for token in TOKEN.findall(text.replace("!", ""))}


def spans(kernel, operands):
    """Where each run begins and ends, and its text as far as it is known without what else is read."""
    begins = set(kernel.labels.values())
    at = 0
    while at < len(kernel.code):
        first, probe = at, Run(operands, set(), {"SHARED": 0})
        while at < len(kernel.code) and (at == first or at not in begins):
            if probe.branch(kernel.code[at], at + 1):
                at += 1
                break
            if not probe.add(kernel.code[at]):
                break
            at += 1
        if at > first:
            yield first, at
        at = max(at, first + 1)


def private_registers(kernel, found):
    """Of each run, the registers that nothing else mentions and that it writes before it reads them."""
    where = {}
    for first, end in found:
        for at in range(first, end):
            where[at] = first
    users, conditional = {}, set()
    for at, instruction in enumerate(kernel.code):
        for register in mentions(instruction):
            users.setdefault(register, set()).add(where.get(at, -1))
        if instruction.predicate:
            conditional |= mentions(instruction)
    private = {first: set() for first, _ in found}
    for first, end in found:
        seen = set()
        for at in range(first, end):
            instruction = kernel.code[at]
            loads = instruction.name[:3] != "st." and instruction.operands
            written = set(TOKEN.findall(instruction.operands[0])) if loads else set()
            read = {token for text in instruction.operands[1 if loads else 0:] for token in TOKEN.findall(text)}
            private[first] |= {register for register in written - read - seen - conditional
                               if users[register] == {first}}
            seen |= written | read
    return private


def compiled(kernel, operands, space):
    """By where in the code a run begins its end and its function of a thread. `space` has SHARED, `place` and `end`."""
    found = list(spans(kernel, operands))
    private = private_registers(kernel, found)
    lines = []
    for first, end in found:
        run = Run(operands, private[first], space)
        ended = False
        for at in range(first, end):
            ended = run.branch(kernel.code[at], at + 1) or not run.add(kernel.code[at])
        if not ended:
            run.flush()
            run.line(f"t.at = {end}")
        lines += [f"def run{first}(t):", "    r = t.registers", *run.lines]
    exec(compile("\n".join(lines) + "\n", "<kernel>", "exec"), space)
    return {first: (end, space[f"run{first}"]) for first, end in found}
