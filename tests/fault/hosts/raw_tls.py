"""OpenSSL alone: what the exchange is measured against.

  raw_tls.py get TLS_DIR ADDRESS PORT SKIPPED
  raw_tls.py send TLS_DIR ADDRESS PORT BYTES
  raw_tls.py send-clear ADDRESS PORT FILE
  raw_tls.py get-clear ADDRESS PORT

`get` prints "up", takes one connection to its end, and `send` makes it: mutual
TLS with a host's certificate, both ways. Each prints its bytes, its processor's
seconds and its rate in bytes a second as JSON. `get` leaves the first SKIPPED
bytes out of the rate: TCP begins slowly. The kind in the clear shows what a
capture would see without TLS.
"""

import json
import pathlib
import resource
import socket
import ssl
import sys
import time

_PIECE = 1 << 20


def context_of(folder, side):
    folder = pathlib.Path(folder)
    context = ssl.SSLContext(side)
    context.load_verify_locations(folder / 'ca.pem')
    context.load_cert_chain(folder / 'host.pem', folder / 'host.key')
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def say(count, rate, used, **more):
    print(json.dumps({'bytes': count, 'rate': rate,
                      'cpu': processor_seconds() - used, **more}), flush=True)


def take(connection, skipped):
    """Bytes, and bytes a second without the first ones."""
    piece = bytearray(_PIECE)
    count, begun, started = 0, 0, time.monotonic()
    while got := connection.recv_into(piece):
        count += got
        if begun <= skipped < count:
            begun, started = count, time.monotonic()
    return count, (count - begun) / (time.monotonic() - started)


def listen(address, port):
    with socket.create_server((address, int(port))) as server:
        print('up', flush=True)
        return server.accept()[0]


def get(folder, address, port, skipped):
    context = context_of(folder, ssl.PROTOCOL_TLS_SERVER)
    with context.wrap_socket(listen(address, port),
                             server_side=True) as connection:
        used = processor_seconds()
        say(*take(connection, int(skipped)), used,
            cipher=connection.cipher()[0])
        connection.unwrap()  # Answers the sender's.


def send(folder, address, port, count):
    context = context_of(folder, ssl.PROTOCOL_TLS_CLIENT)
    left = int(count)
    piece = memoryview(bytearray(_PIECE))
    with context.wrap_socket(
            socket.create_connection((address, int(port)), 10)) as connection:
        connection.settimeout(None)
        used, started = processor_seconds(), time.monotonic()
        while left > 0:
            connection.sendall(piece[:min(left, _PIECE)])
            left -= _PIECE
        say(int(count), int(count) / (time.monotonic() - started), used)
        # A close would reset the connection, as tickets were not read.
        connection.unwrap()


def get_clear(address, port):
    with listen(address, port) as connection:
        used = processor_seconds()
        say(*take(connection, 0), used)


def send_clear(address, port, path):
    content = pathlib.Path(path).read_bytes()
    used, started = processor_seconds(), time.monotonic()
    with socket.create_connection((address, int(port)), 10) as connection:
        connection.sendall(content)
    say(len(content), len(content) / (time.monotonic() - started), used)


if __name__ == '__main__':
    {'get': get, 'send': send, 'get-clear': get_clear,
     'send-clear': send_clear}[sys.argv[1]](*sys.argv[2:])
