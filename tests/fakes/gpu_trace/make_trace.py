"""Writes trace files as counters/gpu_trace/format.h describes them, independently of dlroof's own writer, and computes what a report
must say by brute force."""
import random
import struct


def checksum(data):
    value = 0x9E3779B97F4A7C15 ^ len(data)
    for (word,) in struct.iter_unpack("<Q", data):
        value = ((value ^ word) * 0xFF51AFD7ED558CCD) & (2**64 - 1)
        value = ((value << 29) | (value >> 35)) & (2**64 - 1)
    return value


def record(kind, body):
    body += b"\0" * (-(len(body) + 4) % 8)
    return struct.pack("<HH", kind, (len(body) + 4) // 8) + body


class TraceWriter:
    def __init__(self, pid=1):
        self.records, self.texts, self.kernels = [], {}, {}
        command = self.text("made.py")
        self.records.append(record(1, struct.pack("<IIIIIQ", pid, 0, command, 130001, 0, 1)))
        name = self.text("Made H200")
        self.records.append(record(3, struct.pack("<IIIIIQ", 0, name, 90, 132, 0, 141 * 10**9)))

    def text(self, text):
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            data = text.encode()
            data += b"\0" * (-len(data) % 8)
            self.records.append(record(2, struct.pack("<III", self.texts[text], len(text.encode()), 0) + data))
        return self.texts[text]

    def launch(self, name, grid, block, stream, begin, duration, graph=0, correlation=0):
        key = (name, grid, block)
        if key not in self.kernels:
            text = self.text(name)
            self.kernels[key] = len(self.kernels)
            body = struct.pack("<15I", self.kernels[key], 0, text, grid, 1, 1, block, 1, 1, 0, 0, 32, 1, 1, 1)
            self.records.append(record(4, body))
        body = struct.pack("<IQQIIIIQII", self.kernels[key], begin, duration, 0, 1, stream, correlation, graph, graph, 0)
        self.records.append(record(5, body))

    def copy(self, kind, size, stream, begin, duration):
        self.records.append(record(6, struct.pack("<BBBBQQQIIIIQ", kind, 1, 3, 0, begin, duration, size, 0, 1, stream, 0, 0)))

    def range(self, name, begin, duration, thread=1, depth=0):
        self.records.append(record(8, struct.pack("<IQQII", self.text(name), begin, duration, thread, depth)))

    def call(self, correlation, begin, thread=1):
        self.records.append(record(14, struct.pack("<IQII", correlation, begin, thread, 0)))

    def save(self, path, ended=True):
        if ended:
            self.records.append(record(13, struct.pack("<IQ", 0, 0)))
        with open(path, "wb") as file:
            file.write(b"DLROOFGT" + struct.pack("<II", 1, 16))
            for i in range(0, len(self.records), 4000):
                data = b"".join(self.records[i : i + 4000])
                file.write(struct.pack("<IIQ", 0x4B4C4231, len(data), checksum(data)) + data)


def random_trace(seed, streams=3, work=400):
    """Kernels and copies at random times. Returns the writer and the list (begin, end, is_kernel, name) in ns."""
    dice = random.Random(seed)
    writer, items = TraceWriter(), []
    for stream in range(streams):
        at = 1000 + dice.randrange(500)
        for _ in range(work):
            at += dice.randrange(300)
            duration = 1 + dice.randrange(400)
            if dice.random() < 0.8:
                name = f"kernel_{dice.randrange(1000)}"  # no period: there are no steps
                writer.launch(name, 64, 128, stream, at, duration)
                items.append((at, at + duration, True, name))
            else:
                writer.copy(1, 1000, stream, at, duration)
                items.append((at, at + duration, False, "copy"))
            at += duration
    return writer, items


def times_of(items):
    """Visits every ns: what runs in it? Returns the times [s] as the report names them."""
    begin, end = min(item[0] for item in items), max(item[1] for item in items)
    kernels, copies = [0] * (end - begin), [0] * (end - begin)
    for first, last, is_kernel, _ in items:
        counts = kernels if is_kernel else copies
        for i in range(first - begin, last - begin):
            counts[i] += 1
    pairs = list(zip(kernels, copies))
    return {
        "wall_seconds": 1e-9 * (end - begin),
        "kernel_seconds": 1e-9 * sum(k > 0 for k, _ in pairs),
        "copy_seconds": 1e-9 * sum(k == 0 and c > 0 for k, c in pairs),
        "idle_seconds": 1e-9 * sum(k == 0 and c == 0 for k, c in pairs),
        "overlap_seconds": 1e-9 * sum(max(k - 1, 0) for k, _ in pairs),
        "hidden_copy_seconds": 1e-9 * sum(k > 0 and c > 0 for k, c in pairs),
    }
