"""A host of tests/bench/hosts: sends and gets messages of given sizes.

  host_messages.py HOST ADDRESS...

Reads from stdin, as JSON, the steps, each a list of rounds, each a matrix of
the bytes that each host sends to each. Prints "up", waits for a line, joins the
others, and prints the seconds of each step, as JSON.
"""

import json
import socket
import sys
import threading
import time

_PORT = 9100
_PATIENCE = 60
# In flight: more than 1 Gbit/s has on its way in 10 ms, less than tbf queues.
_BUFFER = 1 << 21
_LENGTH_BYTES = 8


def joined(host, addresses, server):
    """A socket to each other host. Those of higher numbers call."""
    sockets = {}
    for other in range(host):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        one.settimeout(_PATIENCE)
        one.connect((addresses[other], _PORT))
        one.sendall(bytes([host]))
        sockets[other] = one
    while len(sockets) < len(addresses) - 1:
        one, _ = server.accept()
        one.settimeout(_PATIENCE)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
        sockets[one.recv(1)[0]] = one
    for one in sockets.values():
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sockets


def get(one, count, space):
    view = memoryview(space)
    while count > 0:
        got = one.recv_into(view[:min(count, len(space))])
        if got == 0:
            raise EOFError('the other host is gone')
        count -= got


def run_round(sizes, host, sockets, message, spaces):
    """Each message has its length before it, so that an empty one is told."""
    senders = [
        threading.Thread(target=one.sendall, args=(
            memoryview(message)[:_LENGTH_BYTES + sizes[host][other]],))
        for other, one in sockets.items()]
    getters = [
        threading.Thread(target=get, args=(
            one, _LENGTH_BYTES + sizes[other][host], spaces[other]))
        for other, one in sockets.items()]
    for thread in senders + getters:
        thread.start()
    for thread in senders + getters:
        thread.join()


def main():
    host, addresses = int(sys.argv[1]), sys.argv[2:]
    steps = json.loads(sys.stdin.readline())
    message = bytes(_LENGTH_BYTES + max(
        size for step in steps for one in step for row in one for size in row))
    with socket.create_server((addresses[host], _PORT)) as server:
        print('up', flush=True)
        sys.stdin.readline()
        server.settimeout(_PATIENCE)
        sockets = joined(host, addresses, server)
        spaces = {other: bytearray(1 << 20) for other in sockets}
        seconds = []
        for step in steps:
            started = time.monotonic()
            for sizes in step:
                run_round(sizes, host, sockets, message, spaces)
            seconds.append(time.monotonic() - started)
    print(json.dumps(seconds), flush=True)


if __name__ == '__main__':
    main()
