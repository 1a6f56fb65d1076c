"""Writes down what passes a network device, until its stdin is closed.

  capture.py DEVICE OUT

Runs in the device's namespace. Prints "up", then the packets and bytes that it
wrote, and the packets that the kernel dropped since this program was too slow,
as JSON.
"""

import json
import select
import socket
import struct
import sys

_ALL = 0x0003  # ETH_P_ALL
_PACKET, _STATISTICS = 263, 6  # SOL_PACKET, PACKET_STATISTICS
_FORCE_BUFFER = 33  # SO_RCVBUFFORCE
_BUFFER_BYTES = 256 << 20
_LARGEST = 1 << 17  # Packets are of many segments.


def main():
    device, out = sys.argv[1:]
    packets = written = 0
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                       socket.htons(_ALL)) as seen, open(out, 'wb') as file:
        seen.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, _BUFFER_BYTES)
        seen.bind((device, 0))
        seen.setblocking(False)
        print('up', flush=True)
        while True:
            ready = select.select([seen, sys.stdin], [], [])[0]
            if seen in ready:
                packet = seen.recv(_LARGEST)
                file.write(packet)
                packets += 1
                written += len(packet)
            elif sys.stdin in ready:  # After all that had come.
                break
        _, dropped = struct.unpack('II', seen.getsockopt(_PACKET, _STATISTICS,
                                                         8))
    print(json.dumps({'packets': packets, 'bytes': written,
                      'dropped': dropped}))


if __name__ == '__main__':
    main()
