"""Tries as some user to look into processes, and prints what it could.

  try_process.py UID,GID,GROUP...|- PID:DESCRIPTOR,...:ADDRESS...

DESCRIPTOR is one that the process has open, ADDRESS a page that it has mapped,
in hexadecimal digits. Nothing is printed where the kernel refused all.
"""

import ctypes
import os
import signal
import sys

from hold_connections import become

PTRACE_ATTACH = 16
PIDFD_GETFD = 438
LIBC = ctypes.CDLL(None, use_errno=True)


class Vector(ctypes.Structure):
    """An iovec."""

    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]


def attempt(what, action):
    try:
        action()
    except OSError:
        return
    print(what)


def call(function, *words):
    if function(*words) < 0:
        raise OSError(ctypes.get_errno(), 'refused')


def read_memory(pid, address):
    buffer = ctypes.create_string_buffer(16)
    here = Vector(ctypes.cast(buffer, ctypes.c_void_p), 16)
    there = Vector(address, 16)
    call(LIBC.process_vm_readv, pid, ctypes.byref(here), 1,
         ctypes.byref(there), 1, 0)


def read(path, flags=os.O_RDONLY):
    os.close(os.open(path, flags))


def try_all(pid, descriptors, address):
    here = f'/proc/{pid}'
    # The kernel checks at the opening, or, for environ, at the reading.
    for name in ('maps', 'mem', 'auxv', 'pagemap'):
        attempt(f'read {here}/{name}', lambda: read(f'{here}/{name}'))
    attempt(f'read {here}/environ', lambda: os.read(
        os.open(f'{here}/environ', os.O_RDONLY), 1))
    for name in ('fd', 'map_files'):
        attempt(f'list {here}/{name}', lambda: os.listdir(f'{here}/{name}'))
    for number in descriptors:
        for flags in (os.O_RDONLY, os.O_RDWR):
            attempt(f'open {here}/fd/{number}',
                    lambda: read(f'{here}/fd/{number}', flags))
        attempt(f'take descriptor {number} of {pid}', lambda: call(
            LIBC.syscall, PIDFD_GETFD, os.pidfd_open(pid), int(number), 0))
    attempt(f'read memory of {pid}', lambda: read_memory(pid, address))
    attempt(f'trace {pid}',
            lambda: call(LIBC.ptrace, PTRACE_ATTACH, pid, None, None))
    attempt(f'end {pid}', lambda: os.kill(pid, signal.SIGTERM))


if __name__ == '__main__':
    become(sys.argv[1])
    for each in sys.argv[2:]:
        which, numbers, page = each.split(':')
        try_all(int(which), numbers.split(','), int(page, 16))
