"""Threads of a block that run PTX, memory, and the instructions of a single thread.

A thread runs until it waits: for the others of its warp, group, block or cluster, or for a barrier in memory. What works
with several threads or on its own is in ptx_async.py. The blocks of a cluster run together, others one after the other.
"""
import random
import re

import ptx_numbers as numbers
import ptx_text

SHARED = 1 << 40     # where shared memory begins for generic addresses
PARAMETER = 7 << 48  # the same of parameters that are read where they lie
PEER = 1 << 32       # from the shared memory of a cluster's block to that of the next; 0: the thread's own
WARP = 32
SHARED_BYTES = 240 << 10


class Fault(Exception):
    """What would be undefined on a GPU."""


class Thread:
    def __init__(self, number, block):
        self.number, self.block = number, block
        self.registers, self.at = {}, 0
        self.done, self.waits = False, None
        self.turn = None  # of the cluster's barrier, from coming there to having waited
        self.stores, self.store_groups = [], []  # bulk copies out of shared memory


class Cluster:
    """Blocks that read each other's shared memory."""

    def __init__(self, first, count, threads):
        self.arrived = self.ended = self.turn = 0  # threads that have come to the cluster's barrier, that are done
        self.blocks = [Block(first + i, threads, self) for i in range(count)]


class Block:
    def __init__(self, number, threads, cluster):
        self.number, self.cluster = number, cluster
        self.shared = bytearray(b"\xff" * SHARED_BYTES)
        self.barriers = {}     # in memory, by address
        self.meetings = {}     # of all threads of the block, by number
        self.collectives = {}  # of warps and groups, by instruction
        self.queues, self.committed = {}, {}  # products of a group of warps
        self.threads = [Thread(i, self) for i in range(threads)]


class Machine:
    def __init__(self, text, launch, seed, others):
        """`launch` has blocks, threads, parameters (words, then tensor maps) and memory, by address. `others` makes
        the instructions that are not of a single thread."""
        self.kernel = ptx_text.parse(text)
        self.launch = launch
        self.random = random.Random(seed)
        self.others = others
        self.copies = []  # bulk copies to shared memory on their way
        self.symbols, offset = {}, 0x400 if seed % 2 else 0x410
        for name, size in sorted(self.kernel.shared.items(), key=lambda item: item[1] == 0):
            self.symbols[name] = offset
            offset += -(-size // 16) * 16
        self.actions = [self.action(i, instruction) for i, instruction in enumerate(self.kernel.code)]

    # ---- operands ----

    def value(self, text):
        """A function that gives what `text` is in a thread."""
        specials = {"%tid.x": lambda t: t.number, "%ctaid.x": lambda t: t.block.number,
                    "%nctaid.x": lambda t: self.launch.blocks, "%ntid.x": lambda t: self.launch.threads,
                    "%laneid": lambda t: t.number % WARP}
        if text in specials:
            return specials[text]
        if text in self.symbols or text in self.kernel.parameters:
            known = self.symbols.get(text)
            constant = PARAMETER | self.kernel.parameters[text] << 8 if known is None else known
        elif text[:2] in ("0f", "0F", "0d", "0D"):
            constant = int(text[2:], 16)
        elif re.fullmatch(r"-?(0x)?[0-9a-fA-F]+U?", text):
            constant = int(text.rstrip("U"), 0)
        elif text in ("true", "false"):
            constant = text == "true"
        else:
            return lambda t: t.registers[text]
        return lambda t: constant

    def address(self, text):
        base, _, offset = text.strip("[]").partition("+")
        get, offset = self.value(base), int(offset or "0", 0)
        return lambda t: get(t) + offset

    def values(self, text):
        """Of "{a, b}", or of a single one."""
        return [self.value(part) for part in names(text)]

    def memory(self, thread, address, space):
        """The bytes of an address and where in them it is."""
        if space == "shared" or SHARED <= address < SHARED + SHARED_BYTES:
            peer, offset = divmod(address % SHARED, PEER)
            block = thread.block.cluster.blocks[peer - 1] if peer else thread.block
            if all(other.done for other in block.threads):
                raise Fault(f"block {block.number} has ended, and with it its shared memory")
            return block.shared, offset
        for base, memory in self.launch.memory.items():
            if base <= address < base + len(memory):
                return memory, address - base
        raise Fault(f"nothing is at {address:#x}")

    # ---- instructions ----

    def action(self, number, instruction):
        """The function of a thread that an instruction is."""
        do = self.made(number, instruction.name, instruction.operands)
        if not instruction.predicate:
            return do
        wanted = not instruction.predicate.startswith("!")
        holds = self.value(instruction.predicate.lstrip("!"))
        return lambda t: do(t) if bool(holds(t)) == wanted else None

    def made(self, number, name, operands):
        parts = name.split(".")
        for make in (self.arithmetic, self.conversion, self.movement, self.control):
            if do := make(parts, operands):
                return do
        if do := self.others(self, number, parts, operands):
            return do
        raise Fault(f"no instruction {name} {operands}")

    def arithmetic(self, parts, operands):
        kind, name = parts[-1], parts[0]
        get = [self.value(operand) for operand in operands[1:] if operand[0] != "{"]
        if name == "setp":
            return self.comparison(parts, operands)
        if name == "selp":
            return assign(operands[0], lambda t: get[0](t) if get[2](t) else get[1](t))
        if name == "not":
            mask = (1 << numbers.width(kind)) - 1
            return assign(operands[0], lambda t: ~int(get[0](t)) & mask)
        if kind in numbers.TO_REAL and name in (*numbers.REAL, *numbers.UNARY, "fma"):
            return self.real(name, kind, operands[0], get)
        if name in ("mad", "bfe", "prmt", *numbers.INTEGER) or (name in ("neg", "abs") and kind[0] == "s"):
            return self.integer(name, parts, operands[0], get)
        return None

    def comparison(self, parts, operands):
        kind, test = parts[-1], numbers.COMPARE[parts[1]]
        left, right = self.value(operands[1]), self.value(operands[2])
        read = reader(kind)
        return assign(operands[0], lambda t: test(read(left(t)), read(right(t))))

    def real(self, name, kind, to, get):
        read, write = numbers.TO_REAL[kind], numbers.FROM_REAL[kind]
        if name == "fma":
            return assign(to, lambda t: write(read(get[0](t)) * read(get[1](t)) + read(get[2](t))))
        if len(get) == 1:
            one = numbers.UNARY[name]
            return assign(to, lambda t: write(one(read(get[0](t)))))
        two = numbers.REAL[name]
        return assign(to, lambda t: write(two(read(get[0](t)), read(get[1](t)))))

    def integer(self, name, parts, to, get):
        kind = parts[-1]
        read, bits = reader(kind), numbers.width(kind)
        mask = (1 << bits * (2 if "wide" in parts else 1)) - 1
        if name == "mad":
            add = get[2]
            return assign(to, lambda t: (read(get[0](t)) * read(get[1](t)) + add(t)) & mask)
        if name == "bfe":
            return assign(to, lambda t: (get[0](t) >> get[1](t)) & ((1 << get[2](t)) - 1))
        if name == "prmt":
            def pick(t):
                data = (get[0](t) | get[1](t) << 32).to_bytes(8, "little")
                return sum(data[get[2](t) >> 4 * i & 7] << 8 * i for i in range(4))
            return assign(to, pick)
        if name in numbers.UNARY:
            one = numbers.UNARY[name]
            return assign(to, lambda t: one(read(get[0](t))) & mask)
        two, down = numbers.INTEGER[name], bits if "hi" in parts else 0
        if kind == "pred":
            return assign(to, lambda t: bool(two(bool(get[0](t)), bool(get[1](t)))))
        return assign(to, lambda t: two(read(get[0](t)), read(get[1](t))) >> down & mask)

    def conversion(self, parts, operands):
        if parts[0] == "cvta":
            offset = SHARED if parts[1] == "shared" else -SHARED if parts[1:3] == ["to", "shared"] else 0
            get = self.value(operands[1])
            return assign(operands[0], lambda t: get(t) + offset)
        if parts[0] != "cvt":
            return None
        to, of = parts[-2:]
        if to.endswith("x2"):
            high, low = self.value(operands[1]), self.value(operands[2])
            write = numbers.FROM_REAL[to[:-2]]
            return assign(operands[0], lambda t: write(numbers.f32(high(t))) << 16 | write(numbers.f32(low(t))))
        get, read, mask = self.value(operands[1]), reader(of), (1 << numbers.width(to)) - 1
        write = numbers.FROM_REAL.get(to, lambda value: int(value) & mask)
        if of in numbers.TO_REAL and "rni" in parts:
            return assign(operands[0], lambda t: write(round(read(get(t)))))
        return assign(operands[0], lambda t: write(read(get(t))))

    def movement(self, parts, operands):
        if parts[0] == "mov":
            return self.move(numbers.width(parts[-1]), operands)
        if parts[0] not in ("ld", "st"):
            return None
        if parts[:2] == ["ld", "param"]:
            parameter = self.kernel.parameters[operands[1].strip("[]").split("+")[0]]
            return assign(operands[0], lambda t: self.launch.parameters[parameter])
        bytes_each = numbers.width(parts[-1]) // 8
        space = "shared" if any(part.startswith("shared") for part in parts) else "global"
        place = self.address(operands[0 if parts[0] == "st" else 1])
        registers = names(operands[1 if parts[0] == "st" else 0])
        size = bytes_each * len(registers)

        def at(t):
            address = place(t)
            if address % size:
                raise Fault(f"{'.'.join(parts)} at {address:#x}")
            return self.memory(t, address, space)

        def load(t):
            memory, first = at(t)
            for i, register in enumerate(registers):
                begin = first + i * bytes_each
                t.registers[register] = int.from_bytes(memory[begin:begin + bytes_each], "little")

        def store(t):
            memory, first = at(t)
            for i, get in enumerate(stored):
                begin = first + i * bytes_each
                memory[begin:begin + bytes_each] = (get(t) & (1 << 8 * bytes_each) - 1).to_bytes(bytes_each, "little")

        stored = [self.value(register) for register in registers] if parts[0] == "st" else []
        return store if parts[0] == "st" else load

    def move(self, bits, operands):
        if operands[0][0] == "{":
            targets, get = names(operands[0]), self.value(operands[1])
            each = bits // len(targets)

            def unpack(t):
                for i, target in enumerate(targets):
                    t.registers[target] = get(t) >> i * each & (1 << each) - 1
            return unpack
        get = self.values(operands[1])
        each = bits // len(get)
        if len(get) == 1:
            whole = get[0]
            return assign(operands[0], lambda t: int(whole(t)) & (1 << bits) - 1)
        return assign(operands[0], lambda t: sum((int(g(t)) & (1 << each) - 1) << i * each for i, g in enumerate(get)))

    def control(self, parts, operands):
        if parts[0] == "bra":
            target = self.kernel.labels[operands[0]]

            def jump(t):
                t.at = target
            return jump
        if parts[0] in ("ret", "exit"):
            def end(t):
                t.done = True
            return end
        nothing = ("prefetch", "fence", "setmaxnreg", "griddepcontrol", "membar")
        if parts[0] in nothing or parts[:2] == ["wgmma", "fence"]:
            return lambda t: None
        return None

    # ---- running ----

    def run(self):
        together = self.kernel.cluster
        if self.launch.blocks % together:
            raise Fault(f"{self.launch.blocks} blocks, in clusters of {together}")
        for first in range(0, self.launch.blocks, together):
            self.run_cluster(Cluster(first, together, self.launch.threads))

    def run_cluster(self, cluster):
        threads = [thread for block in cluster.blocks for thread in block.threads]
        live, idle = threads, 0
        while live:
            moved = False
            for thread in live:
                moved |= self.run_thread(thread)
            if self.copies and (not moved or self.random.random() < 0.5):
                self.copies.pop(self.random.randrange(len(self.copies)))()
                moved = True
            live = [thread for thread in live if not thread.done]
            cluster.ended = len(threads) - len(live)
            idle = 0 if moved else idle + 1
            if idle > 50:
                raise Fault(f"{len(live)} threads of block {live[0].block.number} and its cluster wait for ever, the "
                            f"first in {self.kernel.code[live[0].at - 1]}")
        if any(thread.stores or thread.store_groups for thread in threads):
            raise Fault("a thread ended before its copies had read what they copy")

    def run_thread(self, thread):
        """Whether it did something. `waits` says whether the thread may go on now."""
        if thread.waits and not thread.waits():
            return False
        thread.waits = None
        while not thread.done and not thread.waits:
            thread.at += 1
            self.actions[thread.at - 1](thread)
        return True


def names(text):
    return [part.strip() for part in text.strip("{}").split(",")]


def assign(register, get):
    def do(t):
        t.registers[register] = get(t)
    return do


def reader(kind):
    """What a register holds, as a number of a type."""
    if kind in numbers.TO_REAL:
        return numbers.TO_REAL[kind]
    bits = numbers.width(kind)
    if kind[0] == "s":
        return lambda value: numbers.signed(int(value), bits)
    mask = (1 << bits) - 1
    return lambda value: int(value) & mask
