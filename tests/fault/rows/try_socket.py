"""Tries as some user whether a Unix socket lets it in.

  try_socket.py UID,GID,GROUP... SOCKET

Prints "refused" if the connection is not made, or is ended without an answer.
"""

import socket
import sys

from hold_connections import become

ANSWER_SECONDS = 1
# What an HTTP/2 client begins with; no request that other servers know.
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0'


def outcome(door):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        peer = socket.socket(socket.AF_UNIX, kind)
        peer.settimeout(ANSWER_SECONDS)
        with peer:
            try:
                peer.connect(door)
                peer.sendall(PREFACE)
                answer = peer.recv(4096)
            except TimeoutError:
                return 'connected'
            except OSError:
                continue
        if answer and not answer.startswith(b'error'):
            return 'answered'
    return 'refused'


if __name__ == '__main__':
    become(sys.argv[1])
    print(outcome(sys.argv[2]))
