"""Joins network namespaces, and delays each packet between them.

  delay_packets.py MILLISECONDS NAMESPACE=ADDRESS...

Each gets a tun device. Packets are large, so that few pass: a kernel without
netem can do no better. Prints "up"; ends once its stdin is closed.
"""

import collections
import ctypes
import fcntl
import os
import select
import socket
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


def destination(packet):
    """The address of an IPv4 packet; None of any other."""
    return packet[16:20] if packet[0] >> 4 == 4 else None


def forward(devices, seconds):
    """Packets keep their order. `devices`: those of addresses, four bytes."""
    line = collections.deque()
    while True:
        now = time.monotonic()
        while line and line[0][0] <= now:
            _, device, packet = line.popleft()
            write(device, packet)
        wait = max(0, line[0][0] - now) if line else None
        for device in select.select([*devices.values(), sys.stdin], [], [],
                                    wait)[0]:
            if device is sys.stdin:
                return
            # No more than one packet: those that wait are due by their times.
            packet = os.read(device, 65536)
            to = devices.get(destination(packet))
            if to is not None:
                line.append((time.monotonic() + seconds, to, packet))


def main():
    hosts = [words.split('=') for words in sys.argv[2:]]
    devices = {socket.inet_aton(address): tun(name, address)
               for name, address in hosts}
    print('up', flush=True)
    forward(devices, float(sys.argv[1]) / 1000)


if __name__ == '__main__':
    main()
