"""Reads a volume by docs/FORMAT.md alone, and asserts what that page says. Tests show by it that the page is true, and
that a change of the library has not changed the format. So it takes no number from the library.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise

NONE = 0xFFFFFFFF
WORD, LONG = 1 << 32, 1 << 64
MAP, ROOT, META, SCHEMA, BLOCK, BUCKET, TREE = range(1, 8)
HASHED, ORDERED = 0, 1
REAL, BOOLEAN, TEXT, BLOB = range(5, 9)
WIDTHS = {1: 1, 2: 2, 3: 4, 4: 8, REAL: 8, BOOLEAN: 1}
NAMES = ["", "TINYINT", "SMALLINT", "INT", "INTEGER", "REAL", "BOOLEAN", "TEXT", "BLOB"]
RINGS = ["", " RING ROWS {}", " RING BYTES {}", " RING AGE {}"]
RECORDS, IMAGES, CHECKPOINT, BEFORE = range(1, 5)
OPEN, INSERT, PUT, PATCH, REMOVE, CREATE, DROP, EXTEND, MOVE, MOVE_PUT, PATCH_INDEXED, TRUNCATE = range(1, 13)

Value = int | float | bool | str | bytes | None
Place = tuple[int, int]  # ref, slot


def xxh32(seed: int, data: bytes) -> int:
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393

    def rotated(v: int, bits: int) -> int:
        v %= WORD
        return (v << bits | v >> (32 - bits)) % WORD

    lanes = [seed + p1 + p2, seed + p2, seed, seed - p1]
    whole = len(data) // 16 * 16
    for stripe in struct.iter_unpack("<4I", data[:whole]):
        lanes = [rotated(lane + word * p2, 13) * p1 for lane, word in zip(lanes, stripe, strict=True)]
    h = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) if whole else seed + p5
    h += len(data)
    words = whole + (len(data) - whole) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[whole:words]):
        h = rotated(h + word * p3, 17) * p4
    for byte in data[words:]:
        h = rotated(h + byte * p5, 11) * p1
    h %= WORD
    h = (h ^ h >> 15) * p2 % WORD
    h = (h ^ h >> 13) * p3 % WORD
    return h ^ h >> 16


def u8(data: bytes, at: int) -> int:
    return data[at]


def u16(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def literal(value: Value) -> str:
    """As SQL, the way `.dump` writes it."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if value in (float("inf"), float("-inf")):
        return "9.0e+999" if value > 0 else "-9.0e+999"
    return str(value)


@dataclass
class Column:
    name: str
    type: int
    not_null: bool


@dataclass
class Table:
    number: int
    name: str
    meta: bytes
    columns: list[Column]

    @property
    def ring(self) -> int:
        return u8(self.meta, 56) & 31

    @property
    def checksums(self) -> bool:
        return u8(self.meta, 56) & 64 != 0

    @property
    def key(self) -> int:
        return u8(self.meta, 6)


@dataclass
class Group:
    sector: int
    kind: int
    flags: int
    epoch: int
    sequence: int
    checkpoint_at: int
    count: int
    extra: int
    bytes: int
    body: bytes


@dataclass
class Record:
    type: int
    table: int
    ref: int
    slot: int
    position: int
    allocated: list[int]
    content: bytes


class Volume:
    def __init__(self, image: bytes) -> None:
        self.image = image
        self.size = 4096 if u8(image, 10) == 12 else 512
        head = self.sector(0)
        assert u32(head, 0) == xxh32(0x524E554C, head[4:])
        assert u32(head, 4) == 0x524E554C
        assert head == self.sector(1)
        self.version, self.growth = u16(head, 8), u8(head, 11)
        self.volume, self.sectors = u32(head, 12), u32(head, 16)
        self.root_at, self.meta_at, self.map_at, self.log_at, self.data_at = struct.unpack_from("<5I", head, 20)
        self.map_sectors, self.log_sectors, self.chunks = struct.unpack_from("<3I", head, 40)
        self.unit, self.class_min, self.chunk, self.numbers = struct.unpack_from("<4H", head, 52)
        self.classes, self.twice = head[60], head[61]
        assert not any(head[62:])
        self.copy = self.map_at + self.map_sectors - self.root_at
        assert self.log_at == self.root_at + self.copy * (1 + self.twice)
        assert self.data_at == self.log_at + self.log_sectors
        assert self.meta_at - self.root_at == -(-self.numbers // ((self.size - 8) // 24))
        assert self.map_at - self.meta_at == 2 * self.numbers
        assert len(image) == self.sectors * self.size
        self.names = {n: self.name(n) for n in range(self.numbers) if self.name(n)}

    def sector(self, at: int, count: int = 1) -> bytes:
        assert 0 <= at <= len(self.image) // self.size - count
        return self.image[at * self.size : (at + count) * self.size]

    def page(self, at: int, kind: int) -> bytes:
        data = self.sector(at)
        assert u32(data, 0) == xxh32(self.volume ^ at, data[4:]), f"checksum of the page in sector {at}"
        assert u8(data, 4) == kind, f"kind of the page in sector {at}"
        if kind in (MAP, ROOT, SCHEMA):
            assert not any(data[5:8])
        if kind <= SCHEMA and self.twice:
            assert data == self.sector(at + self.copy), f"second copy of sector {at}"
        return data

    def name(self, number: int) -> str:
        per_page = (self.size - 8) // 24
        at = 8 + 24 * (number % per_page)
        entry = self.page(self.root_at + number // per_page, ROOT)[at : at + 24]
        return entry.rstrip(b"\0").decode()

    # --- tables ---

    def tables(self) -> list[Table]:
        found = []
        for number, name in sorted(self.names.items(), key=lambda item: item[1]):
            meta = self.page(self.meta_at + 2 * number, META)
            assert u32(meta, 188) >> 31 == 1
            assert not any(meta[57:60])
            assert not any(meta[200:])
            columns = []
            if u8(meta, 7):
                schema = self.page(self.meta_at + 2 * number + 1, SCHEMA)
                for at in range(8, 8 + 26 * u8(meta, 7), 26):
                    column = schema[at : at + 24].rstrip(b"\0").decode()
                    columns.append(Column(column, u8(schema, at + 24), u8(schema, at + 25) == 1))
                assert not any(schema[8 + 26 * len(columns) :])
            found.append(Table(number, name, meta, columns))
        return found

    def class_sectors(self, class_: int) -> int:
        return self.chunk if self.growth == 1 else self.class_min << class_

    def rows(self, table: Table, used: dict[int, int]) -> dict[Place, list[Value]]:
        """The table's rows; used gets its blocks with their classes."""
        meta = table.meta
        ref, previous, serial, sectors, dead = u32(meta, 16), NONE, 0, 0, 0
        rows: dict[Place, list[Value]] = {}
        lists: dict[int, set[int]] = {0: set(), 1: set(), 2: set(), 3: set()}
        while ref != NONE:
            head = self.page(ref, BLOCK)
            class_, slot_pages = u8(head, 5), u8(head, 6)
            used[ref] = class_
            assert head[7] == 0
            size = self.class_sectors(class_)
            block = self.sector(ref, size)
            assert u16(head, 8) == table.number
            assert u32(head, 20) == previous
            assert u32(head, 32) > serial
            serial, sectors = u32(head, 32), sectors + size
            slots = list(struct.unpack_from(f"<{(self.size - 44) // 2}H", head, 44))
            for page in range(1, slot_pages):
                more = self.page(ref + page, BLOCK)
                assert not any(more[5:8])
                slots += struct.unpack_from(f"<{(self.size - 8) // 2}H", more, 8)
            slots = slots[: u16(head, 10)]
            free = [slot for slot, position in enumerate(slots) if position & 0x8000]
            dead_here = 0
            for slot, position in enumerate(slots):
                at = 4 * (position & 0x7FFF)
                length, room = u16(block, at), u16(block, at + 2)
                assert slot_pages * self.size <= at
                assert at + 4 + 4 * room <= 4 * u16(head, 14) <= size * self.size
                if position & 0x8000:
                    dead_here += room + 1
                    continue
                assert length <= 4 * room
                dead_here += room - (length + 3) // 4
                rows[ref, slot] = self.row(table, block[at + 4 : at + 4 + length])
            assert u16(head, 12) == len(slots) - len(free)
            assert u16(head, 24) == len(free)
            if table.ring == 0:
                assert u16(head, 38) == dead_here
                assert not free or u16(head, 26) <= free[0]
                quarters = 4 * 4 * dead_here // (size * self.size)
                if quarters or free:
                    lists[min(quarters, 3)].add(ref)
                dead += dead_here
            previous, ref = ref, u32(head, 16)
        assert u32(meta, 20) == previous
        assert u32(meta, 24) == sectors
        assert u64(meta, 8) == len(rows)
        assert u64(meta, 60) == dead
        assert u32(meta, 44) == serial or table.ring
        for number, blocks in lists.items():
            at, back, seen = u32(meta, 28 + 4 * number), NONE, set()
            while at != NONE:
                head = self.page(at, BLOCK)
                assert u32(head, 40) == back
                seen.add(at)
                back, at = at, u32(head, 28)
            assert seen == blocks
        return rows

    def row(self, table: Table, row: bytes) -> list[Value]:
        if table.checksums:
            assert u32(row, len(row) - 4) == xxh32(self.volume, row[:-4])
            row = row[:-4]
        nulls, at = u16(row, 0), 2
        values: list[Value] = [None] * len(table.columns)
        for number in [table.key, *(n for n in range(len(values)) if n != table.key)]:
            type_ = table.columns[number].type
            if nulls >> number & 1:
                continue
            size = WIDTHS.get(type_) or u16(row, at)
            at += 2 * (type_ >= TEXT)
            data = row[at : at + size]
            at += size
            if type_ >= TEXT:
                values[number] = data.decode() if type_ == TEXT else data
            elif type_ == REAL:
                values[number] = struct.unpack("<d", data)[0]
            else:
                integer = int.from_bytes(data, "little", signed=True)
                values[number] = integer == 1 if type_ == BOOLEAN else integer
        assert at == len(row)
        return values

    # --- indexes ---

    def sums(self, data: bytes) -> int:
        return xxh32(self.volume, data) * WORD + xxh32(self.volume ^ NONE, data)

    def hash_key(self, type_: int, value: Value) -> int:
        if value is None:
            return 0x6C6C756E
        if isinstance(value, str | bytes):
            return self.sums(value.encode() if isinstance(value, str) else value)
        if type_ == REAL:
            return u64(struct.pack("<d", value + 0.0 if value else 0.0), 0)
        return int(value) % LONG

    def ordered(self, type_: int, value: Value) -> bytes:
        """A number or a BOOLEAN of a key in a tree."""
        bits = 8 * WIDTHS[type_]
        if type_ != REAL:
            return ((int(value or 0) + (1 << bits - 1)) % (1 << bits)).to_bytes(bits // 8, "big")
        number = self.hash_key(REAL, value)
        return (number ^ (LONG - 1 if number >> 63 else 1 << 63)).to_bytes(8, "big")

    def tree_key(self, table: Table, values: list[Value], place: Place, column: int | None) -> bytes:
        """Of a secondary index, or of the primary one (column None)."""
        primary, key_type = values[table.key], table.columns[table.key].type
        as_bytes = [value.encode() if isinstance(value, str) else value for value in values]
        if column is None:
            raw = as_bytes[table.key]
            return raw if isinstance(raw, bytes) else self.ordered(4, primary)
        raw, value = as_bytes[table.key], as_bytes[column]
        is_bytes = isinstance(raw, bytes)
        end = struct.pack(">QIH", self.sums(raw), *place) if is_bytes else self.ordered(key_type, primary)
        if value is None:
            return b"\0" + end
        if not isinstance(value, bytes):
            return b"\1" + self.ordered(table.columns[column].type, value) + end
        return (b"\1" + value.replace(b"\0", b"\0\xff") + b"\0\0")[: 64 - len(end)] + end

    def bucket_of(self, key: int, buckets: int) -> int:
        h = (key + self.volume) * 0xFF51AFD7ED558CCD % LONG
        h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 % LONG
        h = (h ^ h >> 33) % WORD
        level = 1 << buckets.bit_length() - 1
        low = h % (2 * level)
        return low if low < buckets else low - level

    def hash_entries(self, meta: bytes, used: dict[int, int]) -> list[tuple[int, Place]]:
        buckets, split = u32(meta, 68), u32(meta, 72)
        found, refs = [], struct.unpack_from("<28I", meta, 76)
        for segment in range((buckets - 1).bit_length() + 1):
            sectors = 1 << segment - 1 if segment else 1
            for chunk in range(max(1, sectors // self.chunk)):
                fits = [c for c in range(self.classes) if self.class_sectors(c) >= sectors]
                used[refs[segment] + chunk * self.chunk] = fits[0] if fits else self.classes - 1
        for bucket in range(buckets):
            segment = bucket.bit_length()
            at = refs[segment] + (bucket - (1 << segment - 1) if segment else 0)
            first = True
            while at != NONE:
                page = self.page(at, BUCKET)
                assert page[5] == 0
                if not first:
                    used[at] = 0
                first = False
                for entry in range(12, 12 + 16 * u16(page, 6), 16):
                    key = u64(page, entry)
                    assert u16(page, entry + 14) == 0
                    here = {bucket}
                    if split != NONE and bucket == buckets - 1 - (1 << (buckets - 1).bit_length() - 1):
                        here.add(buckets - 1)
                    assert self.bucket_of(key, buckets) in here
                    found.append((key, (u32(page, entry + 8), u16(page, entry + 12))))
                at = u32(page, 8)
        return found

    def tree_entries(self, meta: bytes, used: dict[int, int]) -> list[tuple[bytes, Place]]:
        def below(ref: int, level: int) -> list[tuple[bytes, Place]]:
            page = self.page(ref, TREE)
            used[ref] = 0
            behind = 4 if level else 6
            assert (u8(page, 5), u8(page, 11)) == (level, behind)
            at = 12 + u8(page, 10)
            prefix, entries, found = page[12:at], [], []
            for _ in range(u16(page, 6)):
                rest = page[at + 1 : at + 1 + u8(page, at)]
                at += 1 + len(rest)
                entries.append((prefix + rest, (u32(page, at), u16(page, at + 4) if level == 0 else 0)))
                at += behind
            assert at == u16(page, 8)
            if level == 0:
                return entries
            for number, (least, place) in enumerate(entries):
                keys = below(place[0], level - 1)
                assert number == 0 or all(key >= least for key, _ in keys)
                assert number + 1 == len(entries) or all(key < entries[number + 1][0] for key, _ in keys)
                found += keys
            return found

        height = u32(meta, 72)
        assert 1 <= height <= 16
        assert not any(meta[76:188])
        found = below(u32(meta, 68), height - 1)
        assert all(a[0] < b[0] for a, b in pairwise(found))
        return found

    def check_index(self, table: Table, meta: bytes, rows: dict[Place, list[Value]], used: dict[int, int],
                    column: int | None) -> None:  # fmt: skip
        """The index has each row of the table once."""
        number = table.key if column is None else column
        expected: set[tuple[int | bytes, Place]]
        if u8(meta, 5) == HASHED:
            type_ = table.columns[number].type
            expected = {(self.hash_key(type_, row[number]), place) for place, row in rows.items()}
            found: list[tuple[int | bytes, Place]] = [*self.hash_entries(meta, used)]
        else:
            expected = {(self.tree_key(table, row, place, column), place) for place, row in rows.items()}
            found = [*self.tree_entries(meta, used)]
        assert len(found) == len(rows)
        assert set(found) == expected
        assert u64(meta, 8) == len(rows)

    # --- the whole volume ---

    def statements(self) -> list[str]:
        """What `.dump` writes, in another order, of a volume that was unmounted. Everything is read and compared."""
        used: dict[int, int] = {}
        lines = []
        tables = {table.number: table for table in self.tables()}
        for table in tables.values():
            if not table.columns:
                of = tables[u16(table.meta, 20)]
                assert table.number + 1 in struct.unpack_from("<4H", of.meta, 192)
                continue
            rows = self.rows(table, used)
            self.check_index(table, table.meta, rows, used, None)
            key = " PRIMARY KEY" + (" USING HASH" if u8(table.meta, 5) == HASHED else "")
            columns = ", ".join(
                f"{c.name} {NAMES[c.type]}{key if n == table.key else ' NOT NULL' if c.not_null else ''}"
                for n, c in enumerate(table.columns)
            )
            ring = RINGS[table.ring].format(u64(table.meta, 48))
            lines.append(f"CREATE TABLE {table.name} ({columns}){ring}{' CHECKSUM' * table.checksums};")
            lines += [f"INSERT INTO {table.name} VALUES ({','.join(map(literal, row))});" for row in rows.values()]
            listed = [number - 1 for number in struct.unpack_from("<4H", table.meta, 192) if number]
            assert (u8(table.meta, 56) & 128 != 0) == (listed != [])
            for number in listed:
                index = tables[number]
                column = u8(index.meta, 6)
                self.check_index(table, index.meta, rows, used, column)
                using = " USING HASH" if u8(index.meta, 5) == HASHED else ""
                lines.append(f"CREATE INDEX {index.name} ON {table.name} ({table.columns[column].name}){using};")
        self.check_map(used)
        return lines

    def check_map(self, used: dict[int, int]) -> None:
        """The map has the blocks that are in use, and no others."""
        per_page, allocated, free = (self.size - 8) // 20, {}, 0
        for chunk in range(self.chunks):
            at = 8 + 20 * (chunk % per_page)
            entry = self.page(self.map_at + chunk // per_page, MAP)[at : at + 20]
            free += u8(entry, 0) == 255
            if u8(entry, 0) == 255:
                continue
            bits = int.from_bytes(entry[4:], "little")
            assert bits.bit_count() == u8(entry, 1)
            for block in range(128):
                if bits >> block & 1:
                    offset = block * self.class_sectors(u8(entry, 0))
                    allocated[self.data_at + chunk * self.chunk + offset] = u8(entry, 0)
        assert allocated == used
        assert u32(self.groups()[-1].body, 8) == free

    # --- the log ---

    def group(self, at: int) -> Group | None:
        """The group in this sector, if its header is whole; its body is whole too."""
        head = self.sector(at)[:36]
        if u16(head, 0) != 0x4C47 or u32(head, 32) != xxh32(self.volume, head[:32]):
            return None
        size, count = u32(head, 16), u32(head, 20)
        body = self.sector(at, -(-(36 + size) // self.size))[36 : 36 + size]
        fields = struct.unpack_from("<BBIII", head, 2)
        group = Group(at, *fields, count, u32(head, 24), size, body)
        if group.kind in (IMAGES, BEFORE):
            entries = body[: 8 * count]
            whole = u32(head, 28) == xxh32(self.volume, entries) and all(
                sum_ == xxh32(self.volume, self.sector(at + 1 + i))
                for i, (_, sum_) in enumerate(struct.iter_unpack("<II", entries))
            )
        else:
            whole = u32(head, 28) == xxh32(self.volume, body)
        return group if whole else None

    def groups(self) -> list[Group]:
        """From the last checkpoint that a unit's first group names, to the end: steps 1 and 4."""
        heads = [self.group(at) for at in range(self.log_at, self.log_at + self.log_sectors, self.unit)]
        newest = max((g for g in heads if g), key=lambda g: (g.epoch, g.sequence))
        begin = newest.checkpoint_at
        at = newest.sector
        while at < newest.sector + self.unit and (group := self.group(at)):
            if group.sequence < newest.sequence:
                break
            begin = group.extra if group.kind == CHECKPOINT else begin
            at += -(-(36 + group.bytes) // self.size)
        head, series = begin, []
        extents: list[tuple[int, int, int, int]] = []  # block, next sector, table, sectors
        while True:
            unit_next = (head // self.unit + 1) * self.unit % self.log_sectors
            places = [(e[1], n) for n, e in enumerate(extents) if e[0] != NONE and e[1] < e[0] + e[3]]
            places += [(self.log_at + head % self.log_sectors, -1), (self.log_at + unit_next, -1)]
            here = [(g, place, n) for place, n in places if (g := self.group(place))]
            number = (series[-1].epoch, series[-1].sequence + 1) if series else None
            found = [f for f in here if number in (None, (f[0].epoch, f[0].sequence))]
            if not found:
                return series
            group, place, extent = found[0]
            sectors = -(-(36 + group.bytes) // self.size)
            if extent < 0:
                head = place - self.log_at + sectors
            else:
                e = extents[extent]
                extents[extent] = (e[0], e[1] + sectors, e[2], e[3])
            series.append(group)
            if group.kind == CHECKPOINT:
                assert group.bytes == 12 + 4 * 12
                assert group.extra == begin
                extents = [struct.unpack_from("<IIHH", group.body, 12 + 12 * n) for n in range(4)]
                self.checkpoints = u32(group.body, 4)
            if group.kind == RECORDS:
                for record in self.records(group):
                    extents = self.followed(extents, record)

    def records(self, group: Group) -> list[Record]:
        at, found = 0, []
        for _ in range(group.count):
            type_, count, table, ref, slot, position, size = struct.unpack_from("<BBHIHHI", group.body, at)
            at += 16
            allocated = list(struct.unpack_from(f"<{count}I", group.body, at))
            at += 4 * count
            found.append(Record(type_, table, ref, slot, position, allocated, group.body[at : at + size]))
            at += -(-size // 4) * 4
        assert at == len(group.body)
        return found

    def followed(self, extents: list[tuple[int, int, int, int]], r: Record) -> list[tuple[int, int, int, int]]:
        """The open extents after a record."""
        if r.type in (OPEN, EXTEND, DROP, TRUNCATE):
            extents = [(NONE, NONE, 0, 0) if e[2] == r.table else e for e in extents]
        if r.type == OPEN:
            extents[r.slot % 4] = (r.ref, r.ref + r.position, r.table, r.slot >> 8)
        if r.type in (PUT, MOVE_PUT):
            end = 4 * r.position + len(r.content) - (8 if r.type == MOVE_PUT else 0)
            behind = r.ref - (-end // self.size)
            extents = [(e[0], max(e[1], behind), e[2], e[3]) if e[0] == r.ref else e for e in extents]
        return extents
