"""Broken connections and strangers at one port, one after another.

  knock.py PLACE TLS_DIR COUNT SEED METHOD SOURCE...

Runs where the stranger is. TLS_DIR has the folders `foreign`, a certificate of
another authority, and `submit`, a user's of that role. Prints as JSON how often
it did what, and what strangers were told. `closed` are knocks that the port
ended first. Where nobody listens, it waits.
"""

import collections
import json
import pathlib
import random
import socket
import ssl
import struct
import sys
import time

# Of tests/fault/port.
from attackers import PREFACE, changed, frame, header_block

_HEADERS, _DATA, _SETTINGS = 1, 0, 4
_SECONDS = 5  # For an answer.
_GO_AWAY = 7  # A frame of HTTP/2.
# The name as its characters, and in HPACK's Huffman code; its value follows.
_STATUS = (b'grpc-status', bytes.fromhex('9acac8b21234da8f'))
_WAIT = 0.01  # For a port that is not there: an exchange between two jobs.


class Knocks:

    def __init__(self, place, tls, seed, method, sources):
        host, _, port = place.rpartition(':')
        self.place = (host, int(port))
        self.chance = random.Random(seed)
        self.method = method
        self.sources = sources
        self.counts = collections.Counter()
        self.said = collections.Counter()
        self.contexts = {
            'no_certificate': self.context(None),
            'foreign_certificate': self.context(tls / 'foreign'),
            'submit_role': self.context(tls / 'submit')}

    @staticmethod
    def context(folder):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(['h2'])
        if folder is not None:
            context.load_cert_chain(folder / 'user.pem', folder / 'user.key')
        return context

    def connect(self):
        source = self.chance.choice(self.sources)
        return socket.create_connection(self.place, _SECONDS,
                                        source_address=(source, 0))

    def hello(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        half = self.contexts['no_certificate'].wrap_bio(incoming, outgoing)
        try:
            half.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    # Broken connections.

    def nothing(self):
        self.connect().close()

    def reset(self):
        with self.connect() as connection:
            connection.sendall(self.hello()[:self.chance.randint(1, 200)])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack('ii', 1, 0))

    def junk(self):
        with self.connect() as connection:
            connection.sendall(self.chance.randbytes(
                self.chance.choice((1, 5, 100, 10_000))))

    def http2_in_the_clear(self):
        with self.connect() as connection:
            connection.sendall(PREFACE + self.request())

    def half_a_hello(self):
        with self.connect() as connection:
            hello = self.hello()
            connection.sendall(hello[:self.chance.randint(1, len(hello) - 1)])

    def changed_hello(self):
        with self.connect() as connection:
            connection.sendall(changed(self.chance, self.hello()))

    def hello_and_junk(self):
        with self.connect() as connection:
            connection.sendall(self.hello())
            connection.settimeout(1)
            connection.recv(4096)
            connection.sendall(b'\x16\x03\x03' + self.chance.randbytes(200))

    # Strangers, who would be served if a check were left out.

    def request(self):
        # A field 1 that is a string, as in all requests of hosts.
        message = b'\x0a\x04job0'
        return (frame(_SETTINGS, 0, 0, b'') +
                frame(_HEADERS, 4, 1, header_block(self.method)) +
                frame(_DATA, 1, 1, b'\x00' + struct.pack('>I', len(message)) +
                      message))

    def call_as(self, kind):
        """What a call with that certificate is answered, as counted words."""
        with self.connect() as plain:
            plain.settimeout(_SECONDS)
            got = b''
            try:
                with self.contexts[kind].wrap_socket(plain) as connection:
                    connection.sendall(PREFACE + self.request())
                    while status_of(got) is None:
                        piece = connection.recv(65536)
                        if not piece:
                            break
                        got += piece
            except OSError as error:  # Alerts of TLS are among them.
                reason = getattr(error, 'reason', None)
                self.said[f'{kind}: {reason or type(error).__name__}'] += 1
                return
        self.said[f'{kind}: {answer_of(got)}'] += 1

    def no_certificate(self):
        self.call_as('no_certificate')

    def foreign_certificate(self):
        self.call_as('foreign_certificate')

    def submit_role(self):
        self.call_as('submit_role')

    def run(self, count):
        kinds = (*BROKEN, *STRANGERS)
        for number in range(count):
            kind = kinds[number % len(kinds)]
            self.counts[kind] += 1
            while True:
                try:
                    getattr(self, kind)()
                except ConnectionRefusedError:
                    time.sleep(_WAIT)
                    continue
                except OSError:
                    self.counts['closed'] += 1
                break


def status_of(got):
    """The status of a call in these bytes of HTTP/2; None: there is none."""
    for name in _STATUS:
        at = got.find(name)
        if 0 <= at < len(got) - len(name) - 2:
            at += len(name)
            return got[at + 1:][:got[at]].decode('latin1')
    return None


def answer_of(got):
    """All that a connection brought, as a word."""
    status = status_of(got)
    if status is not None:
        return f'status {status}'
    if not got:
        return 'closed'
    return 'go away' if got[3] == _GO_AWAY else f'frame {got[3]}'


BROKEN = ('nothing', 'reset', 'junk', 'http2_in_the_clear', 'half_a_hello',
          'changed_hello', 'hello_and_junk')
STRANGERS = ('no_certificate', 'foreign_certificate', 'submit_role')


def main():
    place, tls, count, seed, method, *sources = sys.argv[1:]
    started = time.monotonic()
    knocks = Knocks(place, pathlib.Path(tls), seed, method, sources)
    knocks.run(int(count))
    print(json.dumps({'counts': knocks.counts, 'said': knocks.said,
                      'seconds': time.monotonic() - started}))


if __name__ == '__main__':
    main()
