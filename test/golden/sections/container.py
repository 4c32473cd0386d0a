"""Take a section file apart and lay it out again (spec/section-file.md, part 1).

Only the standard library. Used by damage.py; nothing here decodes a payload.
"""
import hashlib
import struct

HEADER = ("magic", "major", "minor", "flags", "dim", "n_chunks", "n_embeddings", "file_size",
          "table_offset", "table_count", "manifest_offset", "manifest_size")
HEADER_FORMAT = "<4sHHIIQQQQQQQ"          # 72 bytes; then 8 of checksum and 48 reserved
HEADER_AT = dict(zip(HEADER, (0, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 64))) | {
    "checksum": 72, "reserved": 80}
ENTRY_AT = {"id": 0, "encoding": 4, "offset": 8, "size": 16, "checksum": 24}


def sha8(data):
    return hashlib.sha256(data).digest()[:8]


def header(data):
    return dict(zip(HEADER, struct.unpack_from(HEADER_FORMAT, data, 0)))


def table(data):
    """[id, encoding, offset, size, position of the entry] of every entry that lies in the file."""
    head, rows = header(data), []
    for i in range(min(head["table_count"], 4096)):
        at = head["table_offset"] + 32 * i
        if at + 32 > len(data):
            break
        rows.append([*struct.unpack_from("<IIQQ", data, at), at])
    return rows


class Box:
    """Header values that are free to choose, the manifest text, and [id, encoding, payload]s."""

    def __init__(self, data):
        head = header(data)
        self.magic, self.dim = head["magic"], head["dim"]
        self.n_chunks, self.n_embeddings = head["n_chunks"], head["n_embeddings"]
        start = head["manifest_offset"]
        self.manifest = data[start:start + head["manifest_size"]]
        self.sections = [[i, e, data[o:o + s]] for i, e, o, s, _ in table(data)]

    def find(self, section_id):
        return next(s for s in self.sections if s[0] == section_id)

    def put(self, section_id, encoding, payload):
        """Replace the section, or add it in id order."""
        for s in self.sections:
            if s[0] == section_id:
                s[1:] = [encoding, payload]
                return
        self.sections.append([section_id, encoding, payload])
        self.sections.sort(key=lambda s: s[0])

    def drop(self, section_id):
        self.sections = [s for s in self.sections if s[0] != section_id]

    def dump(self):
        """The file, every checksum and hash right."""
        count = len(self.sections)
        body = bytearray(128 + 32 * count) + bytearray(self.manifest)
        for i, (section_id, encoding, payload) in enumerate(self.sections):
            body += bytes(-len(body) % 64)
            struct.pack_into("<IIQQ8s", body, 128 + 32 * i, section_id, encoding, len(body),
                             len(payload), sha8(payload))
            body += payload
        struct.pack_into(HEADER_FORMAT, body, 0, self.magic, 1, 0, 0, self.dim, self.n_chunks,
                         self.n_embeddings, len(body) + 40, 128, count, 128 + 32 * count,
                         len(self.manifest))
        return seal(bytes(body) + bytes(40))


def seal(data):
    """Header checksum and footer made right; the last 40 bytes are taken for the footer."""
    data = bytearray(data)
    data[72:80] = sha8(bytes(data[:72] + data[80:128]))
    data[-40:-32] = struct.pack("<Q", 40)
    data[-32:] = hashlib.sha256(bytes(data[:-40])).digest()
    return bytes(data)


def repair(data, size=True):
    """Make every checksum right again after bytes were changed in place."""
    data = bytearray(data)
    if size:
        struct.pack_into("<Q", data, HEADER_AT["file_size"], len(data))
    for _, _, offset, length, at in table(data):
        if offset + length <= len(data) - 40:
            data[at + 24:at + 32] = sha8(bytes(data[offset:offset + length]))
    return seal(data)
