"""Numbers as registers hold them: unsigned integers, and the bits of floats."""
import math
import struct

WORD = struct.Struct("<I")
FLOAT = struct.Struct("<f")
HALF = struct.Struct("<e")
DOUBLE = struct.Struct("<d")
LONG = struct.Struct("<Q")


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def f32(bits):
    return FLOAT.unpack(WORD.pack(bits & 0xFFFFFFFF))[0]


def bits32(value):
    try:
        return WORD.unpack(FLOAT.pack(value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


def rounded(value):
    """To f32."""
    try:
        return FLOAT.unpack(FLOAT.pack(value))[0]
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bf16_bits(value):
    bits = bits32(value)
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FFF
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def f16_bits(value):
    try:
        return int.from_bytes(HALF.pack(value), "little")
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00


BF16 = struct.unpack("<65536f", b"".join(WORD.pack(bits << 16) for bits in range(65536)))
F16 = struct.unpack("<65536e", struct.pack("<65536H", *range(65536)))

TO_REAL = {"f32": f32, "bf16": lambda bits: BF16[bits & 0xFFFF], "f16": lambda bits: F16[bits & 0xFFFF],
           "f64": lambda bits: DOUBLE.unpack(LONG.pack(bits))[0]}
FROM_REAL = {"f32": bits32, "bf16": bf16_bits, "f16": f16_bits,
             "f64": lambda value: LONG.unpack(DOUBLE.pack(value))[0]}


def width(kind):
    """Bits of a PTX type: 32 of "u32", "b32", "bf16x2"."""
    if kind == "pred":
        return 1
    number, _, times = kind.lstrip("bfus").partition("x")
    return int(number) * int(times or 1)


def quotient(x, y):
    """As processors divide: towards zero."""
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


INTEGER = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "min": min, "max": max,
           "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y,
           "div": quotient, "rem": lambda x, y: x - quotient(x, y) * y,
           "shl": lambda x, y: x << min(y & 0xFFFFFFFF, 64), "shr": lambda x, y: x >> min(y & 0xFFFFFFFF, 64)}
REAL = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
        "min": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else min(x, y),
        "max": lambda x, y: y if math.isnan(x) else x if math.isnan(y) else max(x, y),
        "div": lambda x, y: x / y if y else math.copysign(math.inf, x) if x else math.nan,
        "copysign": lambda sign, x: math.copysign(x, sign)}
UNARY = {"neg": lambda x: -x, "abs": abs, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x),
         "rcp": lambda x: 1 / x if x else math.inf, "ex2": lambda x: 2.0 ** max(min(x, 1000.0), -1000.0),
         "lg2": lambda x: math.log2(x) if x > 0 else -math.inf}
COMPARE = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
           "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "lo": lambda x, y: x < y, "hs": lambda x, y: x >= y,
           "equ": lambda x, y: not (x < y or x > y), "neu": lambda x, y: not x == y, "ltu": lambda x, y: not x >= y,
           "leu": lambda x, y: not x > y, "gtu": lambda x, y: not x <= y, "geu": lambda x, y: not x < y,
           "num": lambda x, y: x == x and y == y, "nan": lambda x, y: x != x or y != y}
