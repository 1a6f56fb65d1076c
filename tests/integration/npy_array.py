"""A .npy file, to be written, read or damaged."""

import ast
import os
import struct

CODES = {'<i8': 'q', '<u4': 'I', '<i4': 'i', '<f4': 'f', '|u1': 'B'}


def write_array(path, descr, values, columns=None):
    """A one-dimensional array; or [rows, columns], row by row."""
    shape = (len(values),) if columns is None else (
        len(values) // columns, columns)
    header = (f"{{'descr': '{descr}', 'fortran_order': False, "
              f"'shape': {shape}, }}").encode()
    header += b' ' * (-(len(header) + 11) % 64) + b'\n'
    path.write_bytes(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) +
                     header +
                     struct.pack(f'<{len(values)}{CODES[descr]}', *values))


def values(content):
    """The elements of the bytes of a .npy file, as a flat list."""
    assert content[:6] == b'\x93NUMPY'
    form = '<H' if content[6] == 1 else '<I'
    size, = struct.unpack_from(form, content, 8)
    start = 8 + struct.calcsize(form) + size
    header = ast.literal_eval(content[start - size:start].decode('latin1'))
    code = CODES[header['descr']]
    count = (len(content) - start) // struct.calcsize('<' + code)
    return list(struct.unpack_from(f'<{count}{code}', content, start))


class Array:
    """A .npy file of which single values can be changed in place."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as file:
            assert file.read(6) == b'\x93NUMPY'
            major, _ = file.read(2)
            form = '<H' if major == 1 else '<I'
            size, = struct.unpack(form, file.read(struct.calcsize(form)))
            self.header = ast.literal_eval(file.read(size).decode('latin1'))
            self.start = file.tell()
        self.code = CODES[self.header['descr']]
        self.item = struct.calcsize('<' + self.code)
        self.count = (os.path.getsize(path) - self.start) // self.item

    def get(self, index):
        """A negative index counts from the end."""
        with open(self.path, 'rb') as file:
            file.seek(self.start + index % self.count * self.item)
            return struct.unpack('<' + self.code, file.read(self.item))[0]

    def put(self, index, *values):
        """From `index` on; a negative one counts from the end."""
        with open(self.path, 'r+b') as file:
            file.seek(self.start + index % self.count * self.item)
            file.write(struct.pack(f'<{len(values)}{self.code}', *values))
