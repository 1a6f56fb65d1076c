"""array.py FILE TYPE "VALUES" [COLUMNS]: writes a .npy file of any type, also of
types that are not read."""

import struct
import sys

CODES = {'f2': 'e', 'f4': 'f', 'f8': 'd', 'i1': 'b', 'i2': 'h', 'i4': 'i',
         'i8': 'q', 'u1': 'B', 'u2': 'H', 'u4': 'I', 'u8': 'Q', 'b1': '?'}


def main(file, descr, text, columns=''):
    values = text.split()
    kind, size = descr[1], descr[1:].partition('[')[0]
    if kind in 'US':
        length = int(descr[2:])
        width = length * 4 if kind == 'U' else length
        data = b''.join(
            value.encode('utf-32-le' if kind == 'U' else 'ascii').ljust(
                width, b'\0') for value in values)
    elif size in CODES:
        number = float if size[0] == 'f' else int
        order = '>' if descr[0] == '>' else '<'
        data = struct.pack(f'{order}{len(values)}{CODES[size]}',
                           *map(number, values))
    elif kind == 'O':
        data = b'\x80\x03]q\x00.'
    else:
        data = struct.pack(f'<{len(values)}q', *map(int, values))
    shape = (len(values) // int(columns), int(columns)) if columns else (
        len(values),)
    header = repr({'descr': descr, 'fortran_order': False,
                   'shape': shape}).encode()
    header += b' ' * (-(len(header) + 11) % 64) + b'\n'
    with open(file, 'wb') as out:
        out.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) +
                  header + data)


main(*sys.argv[1:])
