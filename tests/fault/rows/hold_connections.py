"""Connects to Unix sockets and says nothing until it is killed.

  hold_connections.py COUNT UID,GID,GROUP... SOCKET...

Prints how many connections it holds, of all sockets together, once it has no
more to make. A server may hang up: that connection is not held. Becomes that
user first, who may not be able to read this file; '-' leaves it as it is.
"""

import contextlib
import os
import resource
import select
import socket
import sys
import time

CONNECT_SECONDS = 0.5
_SETTLE_SECONDS = 0.5


def connect(door):
    """A connection, or None where the server takes no more."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        peer = socket.socket(socket.AF_UNIX, kind)
        peer.settimeout(CONNECT_SECONDS)
        try:
            peer.connect(door)
            return peer
        except OSError as error:
            peer.close()
            if error.errno != 91:  # EPROTOTYPE: of the other kind.
                return None
    return None


def is_held(peer):
    """Whether the server has not hung up."""
    peer.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        try:
            while peer.recv(4096):
                pass
            return False
        except ConnectionError:
            return False
    return True


def become(words):
    if words == '-':
        return
    user, group, *groups = map(int, words.split(','))
    os.setgroups(groups)
    os.setgid(group)
    os.setuid(user)


def main():
    count, who, doors = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    become(who)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    for door in doors:
        failures = 0
        for _ in range(count):
            peer = connect(door)
            if peer is not None:
                held.append(peer)
            failures = 0 if peer is not None else failures + 1
            if failures > 3:
                break
    time.sleep(_SETTLE_SECONDS)  # For a server that hangs up later.
    print(sum(map(is_held, held)), flush=True)
    select.select([sys.stdin], [], [])


if __name__ == '__main__':
    main()
