"""Joins two network namespaces, and delays each packet between them.

  delay_packets.py MILLISECONDS NAMESPACE=ADDRESS NAMESPACE=ADDRESS

Each gets a tun device. Packets are large, so that few pass: a kernel without
netem can do no better. Prints "up"; ends once its stdin is closed.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

DEVICE = 'eth0'
_MTU = 60000
_SET_DEVICE, _TUN, _NO_HEADER = 0x400454ca, 0x0001, 0x1000
_NEW_NETWORK = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def enter(namespace):
    if _libc.setns(namespace, _NEW_NETWORK) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


def tun(name, address):
    """A descriptor of a tun device in that namespace."""
    here = os.open('/proc/self/ns/net', os.O_RDONLY)
    there = os.open(f'/run/netns/{name}', os.O_RDONLY)
    enter(there)
    device = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _SET_DEVICE,
                struct.pack('16sH', DEVICE.encode(), _TUN | _NO_HEADER))
    for words in (('addr', 'add', f'{address}/24', 'dev', DEVICE),
                  ('link', 'set', DEVICE, 'mtu', str(_MTU), 'txqueuelen',
                   '1000', 'up')):
        subprocess.run(['ip', *words], check=True)
    enter(here)
    os.close(here)
    os.close(there)
    return device


def write(device, packet):
    try:
        os.write(device, packet)
    except OSError:  # The device is full or down: a lost packet.
        pass


def forward(devices, seconds):
    """Packets of one way keep their order, so a line each will do."""
    other = dict(zip(devices, reversed(devices)))
    lines = {device: collections.deque() for device in devices}
    while True:
        now = time.monotonic()
        for device, line in lines.items():
            while line and line[0][0] <= now:
                write(other[device], line.popleft()[1])
        next_times = [line[0][0] for line in lines.values() if line]
        wait = max(0, min(next_times) - now) if next_times else None
        for device in select.select([*devices, sys.stdin], [], [], wait)[0]:
            if device is sys.stdin:
                return
            # No more than one packet: those that wait are due by their times.
            packet = os.read(device, 65536)
            lines[device].append((time.monotonic() + seconds, packet))


def main():
    devices = [tun(*words.split('=')) for words in sys.argv[2:]]
    print('up', flush=True)
    forward(devices, float(sys.argv[1]) / 1000)


if __name__ == '__main__':
    main()
