"""Threads of a block that run PTX, and memory.

A thread runs until it waits: for the others of its warp, group, block or cluster, or for a barrier in memory. What it
does alone is in ptx_code.py, what takes several threads or goes on beside them in ptx_async.py. The blocks of a cluster run together, others one after the other.
One warp of a cluster is late: it goes on when nothing else does, so that others are as far ahead of it as they can be.
"""
import random

import ptx_code
import ptx_text
from ptx_code import WARP, names

SHARED = 1 << 40     # where shared memory begins for generic addresses
PARAMETER = 7 << 48  # the same of parameters that are read where they lie
PEER = 1 << 32       # from the shared memory of a cluster's block to that of the next; 0: the thread's own
SHARED_BYTES = 240 << 10


def SLEEPS():
    """What a thread waits for that another one wakes."""
    return False


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
        self.threads = count * threads


class Block:
    def __init__(self, number, threads, cluster):
        self.number, self.cluster = number, cluster
        self.shared = bytearray(b"\xff" * SHARED_BYTES)
        self.barriers = {}     # in memory, by address
        self.meetings = {}     # of all threads of the block, by number
        self.collectives = {}  # of warps and groups, by instruction
        self.queues, self.committed = {}, {}  # products of a group of warps
        self.threads = [Thread(i, self) for i in range(threads)]
        self.running = threads


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
        self.operands = ptx_code.Operands(self.kernel, self.symbols, launch, PARAMETER)
        runs = ptx_code.compiled(self.kernel, self.operands, {"SHARED": SHARED, "place": self.place, "end": end})
        inside = {at for first, (last, _) in runs.items() for at in range(first, last)}
        self.actions = [runs[i][1] if i in runs else None if i in inside else self.action(i, instruction)
                        for i, instruction in enumerate(self.kernel.code)]

    # ---- operands ----

    def value(self, text):
        """A function that gives what `text` is in a thread."""
        constant = self.operands.constant(text)
        if constant is not None:
            return lambda t: constant
        if text in ("%tid.x", "%laneid"):
            return (lambda t: t.number) if text == "%tid.x" else lambda t: t.number % WARP
        if text == "%ctaid.x":
            return lambda t: t.block.number
        return lambda t: t.registers[text]

    def address(self, text):
        base, _, offset = text.strip("[]").partition("+")
        get, offset = self.value(base), int(offset or "0", 0)
        return lambda t: get(t) + offset

    def values(self, text):
        """Of "{a, b}", or of a single one."""
        return [self.value(part) for part in names(text)]

    def place(self, thread, address, space, size):
        """The bytes that hold `size` of them at an address, and where in them it is."""
        if address % size:
            raise Fault(f"{size} bytes at {address:#x}")
        if space == "shared" or SHARED <= address < SHARED + SHARED_BYTES:
            peer, offset = divmod(address % SHARED, PEER)
            block = thread.block.cluster.blocks[peer - 1] if peer else thread.block
            if not block.running:
                raise Fault(f"block {block.number} has ended, and with it its shared memory")
            return block.shared, offset
        for base, memory in self.launch.memory.items():
            if base <= address <= base + len(memory) - size:
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
        if do := self.others(self, number, parts, operands):
            return do
        raise Fault(f"no instruction {name} {operands}")

    # ---- running ----

    def run(self):
        together = self.kernel.cluster
        if self.launch.blocks % together:
            raise Fault(f"{self.launch.blocks} blocks, in clusters of {together}")
        for first in range(0, self.launch.blocks, together):
            self.run_cluster(Cluster(first, together, self.launch.threads))

    def run_cluster(self, cluster):
        threads = [thread for block in cluster.blocks for thread in block.threads]
        late = self.random.choice(threads)
        late = [t for t in late.block.threads if t.number // WARP == late.number // WARP]
        prompt = [thread for thread in threads if thread not in late]
        live, idle = threads, 0
        while live:
            moved = self.run_threads(prompt)
            if self.copies and (not moved or self.random.random() < 0.5):
                self.copies.pop(self.random.randrange(len(self.copies)))()
                moved = True
            if not moved or self.random.random() < 1e-4:  # others may ask again and again
                moved |= self.run_threads(late)
            live = [thread for thread in live if not thread.done]
            cluster.ended = len(threads) - len(live)
            idle = 0 if moved else idle + 1
            if idle > 50:
                raise Fault(f"{len(live)} threads of block {live[0].block.number} and its cluster wait for ever, the "
                            f"first in {self.kernel.code[live[0].at - 1]}")
        if any(thread.stores or thread.store_groups for thread in threads):
            raise Fault("a thread ended before its copies had read what they copy")

    def run_threads(self, threads):
        moved = False
        for thread in threads:
            moved |= not thread.done and thread.waits is not SLEEPS and self.run_thread(thread)
        return moved

    def run_thread(self, thread):
        """Whether it did something. `waits` says whether the thread may go on now."""
        if thread.waits and not thread.waits():
            return False
        thread.waits, actions = None, self.actions
        while not thread.done and not thread.waits:
            at = thread.at
            thread.at = at + 1
            actions[at](thread)
        return True


def end(thread):
    thread.done = True
    thread.block.running -= 1


def assign(register, get):
    def do(t):
        t.registers[register] = get(t)
    return do
