"""What threads do together, and what works beside them: barriers, bulk tensor copies, wgmma.

Each happens as late as it may: products when a thread waits for them, copies to shared memory in any order, copies out
of it when a thread waits until they have read. So a wait that is missing, or a stage given back too early, shows as a
wrong result, and what waits for ever as an error.
"""
from types import SimpleNamespace

import numpy as np

import ptx_numbers as numbers
from ptx_machine import PARAMETER, PEER, SHARED, SLEEPS, WARP, Fault, assign, names

GROUP = 128  # threads that multiply together


def made(machine, number, parts, operands):
    """The function of a thread that an instruction is; None for any other."""
    start = {"mbarrier": memory_barrier, "bar": meeting, "barrier": meeting, "elect": elect, "shfl": exchange,
             "redux": reduce, "vote": vote, "stmatrix": store_matrices, "wgmma": product, "cp": bulk_copy,
             "mapa": peer_address, "st": store_to_peer}.get(parts[0])
    return start(machine, number, parts, operands) if start else None


def together(number, size, mine, all_of_them):
    """Once `size` neighbours have come here, `all_of_them` gets them, each with what `mine` gave."""
    def do(thread):
        key = number, thread.number // size
        gathered = thread.block.collectives.setdefault(key, {})
        gathered[thread.number % size] = thread, mine(thread)
        if len(gathered) < size:
            thread.waits = SLEEPS
            return
        for other, _ in gathered.values():
            other.waits = None
        del thread.block.collectives[key]
        all_of_them([gathered[i] for i in range(size)])
    return do


# ---- barriers ----

def complete(barrier):
    if barrier.pending == 0 and barrier.bytes == 0:
        barrier.parity ^= 1
        barrier.pending = barrier.count


def memory_barrier(machine, number, parts, operands):
    at = machine.address(operands[0 if parts[1] == "init" else 1])
    get = machine.value(operands[-1])
    wanted = machine.value(operands[2]) if parts[1] == "try_wait" else None

    def of(thread):
        return thread.block.barriers[at(thread) % SHARED]

    def init(thread):
        count = get(thread)
        thread.block.barriers[at(thread) % SHARED] = SimpleNamespace(count=count, pending=count, bytes=0, parity=0)

    def arrive(thread):
        barrier = of(thread)
        if "expect_tx" in parts:
            barrier.bytes += get(thread)
        barrier.pending -= 1
        if barrier.pending < 0:
            raise Fault("more threads arrive at a barrier than it counts")
        complete(barrier)

    def test(thread):
        barrier, parity = of(thread), wanted(thread) & 1
        thread.registers[operands[0]] = passed = barrier.parity != parity
        if not passed:
            thread.waits = lambda: barrier.parity != parity

    return {"init": init, "arrive": arrive, "try_wait": test}[parts[1]]


def cluster_barrier(parts):
    """Of all threads of a cluster that have not ended."""
    def arrive(thread):
        cluster = thread.block.cluster
        if thread.turn is not None:
            raise Fault("a thread comes to the cluster's barrier twice without waiting")
        thread.turn = cluster.turn
        cluster.arrived += 1

    def passed(thread):
        cluster = thread.block.cluster
        if cluster.turn == thread.turn and cluster.arrived + cluster.ended == cluster.threads:
            cluster.arrived, cluster.turn = 0, cluster.turn + 1
        if cluster.turn == thread.turn:
            return False
        thread.turn = None
        return True

    def wait(thread):
        if thread.turn is None:
            raise Fault("a thread waits at the cluster's barrier without having come there")
        if not passed(thread):
            thread.waits = lambda: passed(thread)
    return arrive if "arrive" in parts else wait


def peer_address(machine, number, parts, operands):
    """Where in the cluster the shared memory of another block is."""
    at, rank = machine.value(operands[1]), machine.value(operands[2])
    return assign(operands[0], lambda t: at(t) % SHARED % PEER + PEER * (rank(t) + 1))


def store_to_peer(machine, number, parts, operands):
    """st.async: words for a block of the cluster, whose barrier counts their bytes."""
    at, barrier_at = machine.address(operands[0]), machine.address(operands[2])
    words = [machine.value(word) for word in names(operands[1])]
    size = 4 * len(words)

    def do(thread):
        address, counted = at(thread), barrier_at(thread)
        data = b"".join(get(thread).to_bytes(4, "little") for get in words)
        if address % size:
            raise Fault("words that are stored at once do not lie so")

        def store():
            shared, place = machine.place(thread, address, "shared", size)
            peer, where = divmod(counted % SHARED, PEER)
            if peer != address % SHARED // PEER:
                raise Fault("a word and the barrier that counts it are not of one block")
            shared[place:place + size] = data
            barrier = thread.block.cluster.blocks[peer - 1].barriers[where]
            barrier.bytes -= size
            complete(barrier)
        machine.copies.append(store)
    return do


def meeting(machine, number, parts, operands):
    if parts[1] == "cluster":
        return cluster_barrier(parts)
    if parts[1] == "warp":
        return together(number, WARP, lambda t: None, lambda all_of_them: None)
    which = machine.value(operands[0])
    count = machine.value(operands[1]) if len(operands) > 1 else lambda t: machine.launch.threads
    arrives = "arrive" in parts

    def do(thread):
        here = thread.block.meetings.setdefault(which(thread), SimpleNamespace(arrived=0, turn=0))
        turn = here.turn
        here.arrived += 1
        if here.arrived == count(thread):
            here.arrived, here.turn = 0, turn + 1
        elif not arrives:
            thread.waits = lambda: here.turn != turn
    return do


def elect(machine, number, parts, operands):
    mask, chosen = operands[0].split("|")

    def do(thread):
        thread.registers[mask] = thread.number & ~(WARP - 1)
        thread.registers[chosen] = thread.number % WARP == 0
    return do


def exchange(machine, number, parts, operands):
    word, which = machine.value(operands[1]), machine.value(operands[2])
    target, _, valid = operands[0].partition("|")

    def all_of_them(lanes):
        for i, (thread, (_, distance)) in enumerate(lanes):
            source = i ^ distance if "bfly" in parts else distance
            thread.registers[target] = lanes[source][1][0]
            if valid:
                thread.registers[valid] = True
    return together(number, WARP, lambda t: (word(t), which(t)), all_of_them)


def reduce(machine, number, parts, operands):
    """redux.sync: all lanes get the least or largest of their numbers."""
    word, bits = machine.value(operands[1]), numbers.width(parts[-1])
    read = (lambda value: numbers.signed(value, bits)) if parts[-1][0] == "s" else (lambda value: value)
    best = {"min": min, "max": max}[parts[2]]

    def all_of_them(lanes):
        found = best(read(value) for _, value in lanes) & (1 << bits) - 1
        for thread, _ in lanes:
            thread.registers[operands[0]] = found
    return together(number, WARP, word, all_of_them)


def vote(machine, number, parts, operands):
    """vote.sync.ballot: a bit a lane."""
    if parts[2] != "ballot":
        return None
    holds = machine.value(operands[1])

    def all_of_them(lanes):
        bits = sum(1 << i for i, (_, held) in enumerate(lanes) if held)
        for thread, _ in lanes:
            thread.registers[operands[0]] = bits
    return together(number, WARP, holds, all_of_them)


def store_matrices(machine, number, parts, operands):
    at, words = machine.address(operands[0]), machine.values(operands[1])
    transposed = "trans" in parts

    def all_of_them(lanes):
        shared = lanes[0][0].block.shared
        for matrix in range(len(words)):
            for row in range(8):
                address = lanes[matrix * 8 + row][1][0] % SHARED
                if address % 16:
                    raise Fault(f"stmatrix to {address:#x}")
                for column in range(8):
                    lane, half = (row // 2 + column * 4, row % 2) if transposed else (row * 4 + column // 2, column % 2)
                    element = lanes[lane][1][1][matrix] >> 16 * half & 0xFFFF
                    shared[address + 2 * column:address + 2 * column + 2] = element.to_bytes(2, "little")
    return together(number, WARP, lambda t: (at(t), [word(t) for word in words]), all_of_them)


# ---- bulk tensor copies ----

def swizzled(address, map):
    """Where 16 bytes lie: swizzles change bits 4 to 6 by bits 7 to 9, as many as the swizzle is wide."""
    chunks = map.swizzle // 16
    return address ^ (address >> 7 & max(chunks - 1, 0)) << 4


def copy_row(map, shared, at, coordinates, out):
    """The innermost axis of a box, innermost coordinate first; what lies outside reads as zeros and is not written."""
    pitch, base, inside = map.element_bytes, 0, True
    for axis, (coordinate, extent) in enumerate(zip(coordinates, reversed(map.extents), strict=True)):
        base += coordinate * pitch
        pitch *= extent
        inside = inside and (axis == 0 or 0 <= coordinate < extent)
    each = 16 // map.element_bytes
    for chunk in range(map.box[-1] // each):
        place, first = swizzled(at + chunk * 16, map), coordinates[0] + chunk * each
        there = inside and 0 <= first and first + each <= map.extents[-1]
        begin = base + chunk * 16
        if there and out:
            map.memory[begin:begin + 16] = shared[place:place + 16]
        elif not out:
            shared[place:place + 16] = map.memory[begin:begin + 16] if there else bytes(16)


def row_bytes(map):
    """Of a box's row, which is as wide as the swizzle: others do not lie densely on a GPU, as all that reads them has it."""
    row = map.box[-1] * map.element_bytes
    if row != map.swizzle or row not in (32, 64, 128):
        raise Fault(f"rows of {row} bytes in a swizzle of {map.swizzle}")
    return row


def copy_box(map, shared, at, coordinates, out):
    """Bytes of shared memory that were filled or read."""
    row = row_bytes(map)
    places = [list(coordinates)]
    for axis in range(1, len(coordinates)):  # the innermost of the outer axes varies fastest
        places = [[*place[:axis], place[axis] + i, *place[axis + 1:]]
                  for i in range(map.box[-1 - axis]) for place in places]
    for i, place in enumerate(places):
        copy_row(map, shared, at + i * row, place, out)
    return len(places) * row


def copy_window(map, shared, at, coordinates, taps):
    """Pixels of a window, as numbered: along a row, then to the next row, then to the next image."""
    row = row_bytes(map)
    place = list(coordinates)
    low, high = list(reversed(map.low)), list(reversed(map.high))
    steps, extents = list(reversed(map.steps)), list(reversed(map.extents))
    for i in range(map.pixels):
        pixel = [place[0], *(p + tap for p, tap in zip(place[1:-1], taps, strict=True)), place[-1]]
        copy_row(map, shared, at + i * row, pixel, False)
        for axis in range(len(low)):
            place[1 + axis] += steps[1 + axis]
            if place[1 + axis] < extents[1 + axis] + high[axis]:
                break
            place[1 + axis] = low[axis]
        else:
            place[-1] += 1
    return map.pixels * row


def bulk_copy(machine, number, parts, operands):
    if parts[1:3] != ["async", "bulk"]:
        return None
    if parts[3] == "commit_group":
        def commit(thread):
            thread.store_groups.append(thread.stores)
            thread.stores = []
        return commit
    if parts[3] == "wait_group":
        most = machine.value(operands[0])

        def wait(thread):
            while len(thread.store_groups) > most(thread):
                for copy in thread.store_groups.pop(0):
                    copy()
        return wait
    return copy_out(machine, operands) if parts[5] == "global" else copy_in(machine, parts, operands)


def tensor_operand(machine, text):
    """The functions that give a tensor map and coordinates of "[map, {x, y}]"."""
    map_text, _, coordinates = text.strip("[]").partition(",")
    which = machine.value(map_text.strip())
    get = machine.values(coordinates.strip())

    def map_of(thread):
        return machine.launch.parameters[(which(thread) - PARAMETER) >> 8]
    return map_of, lambda t: [numbers.signed(g(t), 32) for g in get]


def copy_out(machine, operands):
    map_of, coordinates = tensor_operand(machine, operands[0])
    at = machine.address(operands[1])

    def do(thread):
        map, place, shared, address = map_of(thread), coordinates(thread), thread.block.shared, at(thread) % SHARED
        thread.stores.append(lambda: copy_box(map, shared, address, place, True))
    return do


def copy_in(machine, parts, operands):
    at, barrier_at = machine.address(operands[0]), machine.address(operands[2])
    map_of, coordinates = tensor_operand(machine, operands[1])
    offsets = machine.values(operands[3]) if "im2col" in parts else []

    def do(thread):
        map, place, address = map_of(thread), coordinates(thread), at(thread) % SHARED
        shared, barrier = thread.block.shared, thread.block.barriers[barrier_at(thread) % SHARED]
        taps = [get(thread) & 0xFFFF for get in offsets]
        if address % 128:
            raise Fault(f"a bulk tensor copy to {address:#x}")

        def copy():
            if bool(taps) != bool(map.pixels):
                raise Fault("a tensor map of another mode")
            filled = copy_window(map, shared, address, place, taps) if taps else \
                copy_box(map, shared, address, place, False)
            barrier.bytes -= filled
            complete(barrier)
        machine.copies.append(copy)
    return do


# ---- wgmma ----

# The bits of an element as NumPy has them, and what it is by them.
ELEMENTS = {"bf16": (np.uint16, lambda bits: (bits.astype(np.uint32) << 16).view(np.float32)),
            "f16": (np.uint16, lambda bits: bits.view(np.float16)),
            "tf32": (np.uint32, lambda bits: (bits & 0xFFFFE000).view(np.float32)),  # the rest is not looked at
            "s8": (np.uint8, lambda bits: bits.view(np.int8)), "u8": (np.uint8, lambda bits: bits)}
STEP = 32  # bytes of k


def decoded(bits, kind):
    """Exact products and sums of them fit the type that this gives."""
    return ELEMENTS[kind][1](bits).astype(np.int64 if kind in ("s8", "u8") else np.float64)


def operand_rows(shared, descriptor, rows, transposed, kind):
    """A step of k for each of `rows` rows or columns, out of shared memory as a descriptor says it lies."""
    first, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    chunks = {1: 8, 2: 4, 3: 2}[descriptor >> 62]  # of 16 bytes in a row of the swizzle
    bits = np.frombuffer(shared, ELEMENTS[kind][0])
    row, k = np.arange(rows)[:, None], np.arange(STEP // bits.itemsize)
    if transposed:
        offset = first + row // 64 * leading + k // 8 * stride + k % 8 * 128 + row % 64 * 2
    else:
        offset = first + row // 8 * stride + row % 8 * chunks * 16 + k * bits.itemsize
    place = offset ^ (offset >> 7 & chunks - 1) << 4
    if place.max() >= len(shared):
        raise Fault(f"a product reads shared memory at {place.max():#x}")
    return decoded(bits[place // bits.itemsize], kind)


def multiply(threads, columns, sums, left, right, adds, transposed, kinds):
    """64 rows by `columns`: lane 4 r + c of a warp has columns 8 j + 2 c and the next of rows r and r + 8 of its 16."""
    shared = threads[0].block.shared
    rows = operand_rows(shared, left, 64, transposed[0], kinds[0]) if isinstance(left, int) else left
    across = operand_rows(shared, right, columns, transposed[1], kinds[1])
    (warp, lane), (block, i) = divmod(np.arange(GROUP)[:, None], WARP), divmod(np.arange(columns // 2), 4)
    with np.errstate(all="ignore"):
        total = (rows @ across.T)[warp * 16 + lane // 4 + 8 * (i // 2), block * 8 + lane % 4 * 2 + i % 2]
        if adds:
            before = np.array([[thread.registers[register] for register in sums] for thread in threads], np.uint32)
            total = total + before.view(np.int32 if total.dtype == np.int64 else np.float32)
        bits = total.astype(np.uint32) if total.dtype == np.int64 else total.astype(np.float32).view(np.uint32)
    for thread, words in zip(threads, bits.tolist()):
        thread.registers.update(zip(sums, words))


def product(machine, number, parts, operands):
    def group_of(thread):
        return thread.number // GROUP

    if parts[1] == "commit_group":
        def commit(gathered):
            thread = gathered[0][0]
            chain = thread.block.queues.pop(group_of(thread), [])
            thread.block.committed.setdefault(group_of(thread), []).append(chain)
        return together(number, GROUP, lambda t: None, commit)
    if parts[1] == "wait_group":
        most = int(operands[0])

        def wait(gathered):
            thread = gathered[0][0]
            chains = thread.block.committed.setdefault(group_of(thread), [])
            while len(chains) > most:
                for step in chains.pop(0):
                    step()
        return together(number, GROUP, lambda t: None, wait)
    return asynchronous(machine, number, parts, operands, group_of)


def asynchronous(machine, number, parts, operands, group_of):
    shape = next(part for part in parts if part.startswith("m64n"))
    columns = int(shape[4:].split("k")[0])
    sums, kinds = names(operands[0]), parts[-2:]
    words = machine.values(operands[1]) if operands[1][0] == "{" else None
    left, right, adds = (machine.value(operand) for operand in (operands[1].strip("{}").split(",")[0], *operands[2:4]))
    halves = ELEMENTS[kinds[0]][0] == np.uint16  # others have no such operands
    transposed = halves and words is None and bool(int(operands[-2])), halves and bool(int(operands[-1]))

    def rows_of(threads):
        wide = ELEMENTS[kinds[0]][0] == np.uint32  # a word is an element, not two neighbours
        rows = np.zeros((64, 8), np.uint32) if wide else np.zeros((64, 16), np.uint16)
        for i, thread in enumerate(threads):
            warp, lane = divmod(i, WARP)
            for j, word in enumerate(words):
                bits = word(thread)
                row, k = warp * 16 + lane // 4 + 8 * (j % 2), lane % 4
                if wide:
                    rows[row, k + 4 * (j // 2)] = bits & 0xFFFFFFFF
                else:
                    k = 2 * k + 8 * (j // 2)
                    rows[row, k:k + 2] = bits & 0xFFFF, bits >> 16 & 0xFFFF
        return decoded(rows, kinds[0])

    def start(gathered):
        threads, (thread, given) = [thread for thread, _ in gathered], gathered[0]
        if any(other != given for _, other in gathered):
            raise Fault("threads of a group multiply different operands")
        thread.block.queues.setdefault(group_of(thread), []).append(
            lambda: multiply(threads, columns, sums, rows_of(threads) if words else given[0], given[1], given[2],
                             transposed, kinds))
    return together(number, GROUP, lambda t: (None if words else left(t), right(t), bool(adds(t))), start)
