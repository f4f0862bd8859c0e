"""A link as a QR code for a terminal. Pure.

Byte mode and the lowest error correction (a screen has no stains), so that a long link stays as small as it can be.
Numbers and names are those of ISO/IEC 18004; codewords of a block are coefficients of a polynomial over GF(256).
"""

from collections.abc import Iterator
from itertools import pairwise

# Per version, for error correction level L: check codewords in each block, and blocks.
_CHECKS = (7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30)
_BLOCKS = (1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12)
_QUIETS = (2, 1)  # light modules around; readers of screens need no more
_DARK_ON_LIGHT, _PLAIN = "\x1b[30;107m", "\x1b[0m"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}

Matrix = list[list[bool]]


def draw(text: str, columns: int) -> list[str]:
    """Lines for a terminal, two rows of modules in each; [] where it has too few columns, or the text is too long."""
    matrix = encode(text.encode())
    quiet = next((each for each in _QUIETS if matrix and len(matrix) + 2 * each <= columns), None)
    if quiet is None:
        return []
    size = len(matrix)

    def at(row: int, column: int) -> bool:
        return 0 <= row < size and 0 <= column < size and matrix[row][column]

    places = range(-quiet, size + quiet)
    return [
        _DARK_ON_LIGHT + "".join(_HALVES[at(row, each), at(row + 1, each)] for each in places) + _PLAIN
        for row in range(-quiet, size + quiet, 2)
    ]


def encode(data: bytes) -> Matrix:
    """The modules of the smallest code that holds `data`, True for dark; [] when none does."""
    for version in range(1, len(_CHECKS) + 1):
        checks, blocks = _CHECKS[version - 1], _BLOCKS[version - 1]
        capacity = _raw_modules(version) // 8 - checks * blocks
        length_bits = 8 if version < 10 else 16
        if 4 + length_bits + 8 * len(data) <= capacity * 8:
            codewords = _interleave(_codewords(data, length_bits, capacity), checks, blocks)
            return _best_mask(version, codewords)
    return []


def _raw_modules(version: int) -> int:
    """Modules that are left for data and checks."""
    count = (16 * version + 128) * version + 64
    if version >= 2:
        lines = version // 7 + 2
        count -= (25 * lines - 10) * lines - 55
    return count - 36 if version >= 7 else count


def _codewords(data: bytes, length_bits: int, capacity: int) -> list[int]:
    bits = f"0100{len(data):0{length_bits}b}" + "".join(f"{byte:08b}" for byte in data)
    bits += "0" * min(4, capacity * 8 - len(bits))
    bits += "0" * (-len(bits) % 8)
    words = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    return words + [(0xEC, 0x11)[number % 2] for number in range(capacity - len(words))]


def _interleave(words: list[int], checks: int, blocks: int) -> list[int]:
    """Blocks of equal length, the last ones a word longer, and their checks, word by word in turn."""
    short, longer = divmod(len(words), blocks)
    parts, at = [], 0
    for number in range(blocks):
        length = short + (number >= blocks - longer)
        parts.append(words[at : at + length])
        at += length
    tails = [_remainder(part, _generator(checks)) for part in parts]
    mixed = [part[row] for row in range(short + 1) for part in parts if row < len(part)]
    return mixed + [tail[row] for row in range(checks) for tail in tails]


def _times(a: int, b: int) -> int:
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def _generator(degree: int) -> list[int]:
    """(x - 1)(x - 2)(x - 4) …, without its leading 1."""
    product, root = [1], 1
    for _ in range(degree):
        shifted, scaled = [*product, 0], [0, *(_times(each, root) for each in product)]
        product = [a ^ b for a, b in zip(shifted, scaled, strict=True)]
        root = _times(root, 2)
    return product[1:]


def _remainder(words: list[int], generator: list[int]) -> list[int]:
    rest = [0] * len(generator)
    for word in words:
        factor = word ^ rest[0]
        rest = [a ^ _times(b, factor) for a, b in zip([*rest[1:], 0], generator, strict=True)]
    return rest


def _best_mask(version: int, codewords: list[int]) -> Matrix:
    fixed = _fixed_modules(version)
    size = 17 + 4 * version
    bits = [bool(word >> shift & 1) for word in codewords for shift in range(7, -1, -1)]
    data = dict(zip(_path(size, fixed), bits, strict=False))
    candidates = []
    for mask in range(8):
        modules = fixed | _format_modules(size, mask)
        rows = [
            [
                modules[row, column]
                if (row, column) in modules
                else data.get((row, column), False) ^ _masked(mask, row, column)
                for column in range(size)
            ]
            for row in range(size)
        ]
        candidates.append(rows)
    return min(candidates, key=_penalty)


def _fixed_modules(version: int) -> dict[tuple[int, int], bool]:
    """Everything that is the same whatever the code says; the places of the format are taken, and still light."""
    size = 17 + 4 * version
    modules = {(6, each): each % 2 == 0 for each in range(size)} | {(each, 6): each % 2 == 0 for each in range(size)}
    for row, column in ((3, 3), (3, size - 4), (size - 4, 3)):
        for y in range(-4, 5):
            for x in range(-4, 5):
                if 0 <= row + y < size and 0 <= column + x < size:
                    modules[row + y, column + x] = max(abs(x), abs(y)) not in (2, 4)
    places = _alignments(version, size)
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for row, column in ((a, b) for a in places for b in places if (a, b) not in corners):
        for y in range(-2, 3):
            for x in range(-2, 3):
                modules[row + y, column + x] = max(abs(x), abs(y)) != 1
    if version >= 7:
        rest = version
        for _ in range(12):
            rest = (rest << 1) ^ ((rest >> 11) * 0x1F25)
        for number in range(18):
            dark = bool((version << 12 | rest) >> number & 1)
            along, across = number // 3, size - 11 + number % 3
            modules[along, across] = modules[across, along] = dark
    return modules | _format_modules(size, 0)


def _alignments(version: int, size: int) -> list[int]:
    if version == 1:
        return []
    count = version // 7 + 2
    step = (version * 4 + count * 2 + 1) // (count * 2 - 2) * 2
    return [6, *(size - 7 - step * number for number in range(count - 1))]


def _format_modules(size: int, mask: int) -> dict[tuple[int, int], bool]:
    """Level L and the mask, twice."""
    value = rest = 1 << 3 | mask
    for _ in range(10):
        rest = (rest << 1) ^ ((rest >> 9) * 0x537)
    bits = (value << 10 | rest) ^ 0x5412
    beside = [0, 1, 2, 3, 4, 5, 7, 8]
    modules = {(size - 8, 8): True}
    for number in range(15):
        dark = bool(bits >> number & 1)
        if number < 8:
            modules[beside[number], 8] = modules[8, size - 1 - number] = dark
        else:
            modules[8, beside[14 - number]] = modules[size - 15 + number, 8] = dark
    return modules


def _path(size: int, fixed: dict[tuple[int, int], bool]) -> Iterator[tuple[int, int]]:
    """Free modules in reading order: pairs of columns from the right, up and down in turn, past the timing column."""
    upwards = True
    for right in [*range(size - 1, 6, -2), *range(5, 0, -2)]:
        for step in range(size):
            row = size - 1 - step if upwards else step
            yield from ((row, column) for column in (right, right - 1) if (row, column) not in fixed)
        upwards = not upwards


def _masked(mask: int, row: int, column: int) -> bool:
    product = row * column
    return (
        (row + column) % 2,
        row % 2,
        column % 3,
        (row + column) % 3,
        (row // 2 + column // 3) % 2,
        product % 2 + product % 3,
        (product % 2 + product % 3) % 2,
        ((row + column) % 2 + product % 3) % 2,
    )[mask] == 0


def _penalty(rows: Matrix) -> int:
    """What makes a code hard to read: long runs, blocks, too much of one colour."""
    size, score = len(rows), 0
    for line in [*rows, *map(list, zip(*rows, strict=True))]:
        run = 1
        for before, here in pairwise(line):
            run = run + 1 if before == here else 1
            score += 3 if run == 5 else run > 5
    for upper, lower in pairwise(rows):
        score += 3 * sum(upper[at] == upper[at + 1] == lower[at] == lower[at + 1] for at in range(size - 1))
    dark = sum(map(sum, rows))
    return score + abs(dark * 20 - size * size * 10) // (size * size) * 10
