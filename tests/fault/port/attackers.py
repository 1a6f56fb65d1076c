"""Who attacks a port: threads that send what no client of ours would.

Each has an address of the loopback of its own kind, so that the limits on one
address do not end another kind.
"""

import random
import socket
import ssl
import struct
import threading
import time

PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
METHODS = ('JobService/GetJob', 'JobService/ListJobs', 'JobService/WatchJob',
           'JobService/GetMetrics', 'JobService/GetService',
           'JobService/SubmitJob', 'JobService/CancelJob',
           'JobService/Shutdown', 'DeviceService/ListDevices',
           'DeviceService/SwitchDevice', 'HostService/Register',
           'TrainerService/SaveCheckpoint', 'Nothing/AtAll')
_HEADERS, _DATA, _SETTINGS, _PING, _RESET, _WINDOW, _CONTINUATION = (
    1, 0, 4, 6, 3, 8, 9)


def frame(kind, flags, stream, payload, length=None):
    size = len(payload) if length is None else length
    return (struct.pack('>I', size & 0xffffff)[1:] +
            struct.pack('>BBI', kind, flags, stream & 0xffffffff) + payload)


def _text(word):
    data = word.encode('latin1')
    if len(data) < 127:
        return bytes([len(data)]) + data
    left, size = len(data) - 127, bytearray([127])
    while left >= 128:
        size.append(left % 128 + 128)
        left //= 128
    size.append(left)
    return bytes(size) + data


def header_block(method, extra=()):
    """HPACK, all literal."""
    fields = [(':method', 'POST'), (':scheme', 'https'),
              (':path', '/fgnn.v1.' + method), (':authority', 'localhost'),
              ('te', 'trailers'), ('content-type', 'application/grpc'),
              ('grpc-timeout', '2S'), *extra]
    return b''.join(b'\x00' + _text(key) + _text(value)
                    for key, value in fields)


def request(chance, stream):
    """A request of some method with a random message."""
    message = chance.randbytes(chance.choice((0, 3, 40, 400)))
    if chance.random() < 0.5:  # A field that some requests have.
        message = b'\x0a' + bytes([min(len(message), 100)]) + message[:100]
    block = header_block(chance.choice(METHODS))
    return (frame(_HEADERS, 4, stream, block) +
            frame(_DATA, 1, stream,
                  b'\x00' + struct.pack('>I', len(message)) + message))


def changed(chance, data):
    data = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        what = chance.random()
        at = chance.randrange(len(data))
        if what < 0.6:
            data[at] = chance.randrange(256)
        elif what < 0.8:
            del data[at:at + chance.randint(1, 20)]
        else:
            data[at:at] = chance.randbytes(chance.randint(1, 20))
        if not data:
            return b'\x00'
    return bytes(data)


class Attacker(threading.Thread):

    def __init__(self, place, kind, tls, number, seed, until):
        super().__init__(name=kind, daemon=True)
        host, _, port = place.rpartition(':')
        self.place = (host, int(port))
        self.source = (f'127.0.0.{2 + number % 3}', 0)
        self.attack = getattr(self, kind)
        self.chance = random.Random(seed * 1000 + number)
        self.until = until
        self.count = 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.tls.set_alpn_protocols(['h2'])
        self.stranger = self.tls_without_certificate()
        self.tls.load_cert_chain(tls / 'users/nobody/user.pem',
                                 tls / 'users/nobody/user.key')

    @staticmethod
    def tls_without_certificate():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(['h2'])
        return context

    def run(self):
        while time.monotonic() < self.until:
            try:
                self.attack()
            except (OSError, ssl.SSLError, ValueError):
                pass  # The port closes what it does not like.
            self.count += 1

    def connect(self):
        return socket.create_connection(self.place, 3,
                                        source_address=self.source)

    def connect_tls(self):
        context = self.tls if self.chance.random() < 0.7 else self.stranger
        connection = self.connect()
        try:
            return context.wrap_socket(connection)
        except BaseException:
            connection.close()
            raise

    def drain(self, connection, seconds=0.05):
        connection.settimeout(seconds)
        while connection.recv(65536):
            pass

    # Each of these is one attempt.

    def junk_in_the_clear(self):
        with self.connect() as connection:
            connection.sendall(self.chance.randbytes(
                self.chance.choice((1, 5, 100, 10_000))))
            self.drain(connection)

    def http2_in_the_clear(self):
        with self.connect() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b'') +
                               request(self.chance, 1))
            self.drain(connection)

    def hello(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        half = self.stranger.wrap_bio(incoming, outgoing)
        try:
            half.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()

    def broken_hello(self):
        with self.connect() as connection:
            data = changed(self.chance, self.hello())
            connection.sendall(data[:self.chance.randint(1, len(data))])
            self.drain(connection)

    def hello_and_junk(self):
        with self.connect() as connection:
            connection.sendall(self.hello())
            connection.settimeout(1)
            connection.recv(4096)
            connection.sendall(b'\x16\x03\x03' + self.chance.randbytes(200))
            self.drain(connection)

    def random_frames(self):
        with self.connect_tls() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            for _ in range(self.chance.randint(1, 60)):
                payload = self.chance.randbytes(
                    self.chance.choice((0, 1, 4, 5, 8, 64, 3000)))
                length = (None if self.chance.random() < 0.9 else
                          self.chance.randrange(1 << 24))
                connection.sendall(frame(
                    self.chance.choice((*range(10), 200)),
                    self.chance.randrange(256),
                    self.chance.choice((0, 1, 2, 3, 2**31 - 1, 2**32 - 1)),
                    payload, length))
            self.drain(connection)

    def changed_requests(self):
        with self.connect_tls() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            for stream in range(1, 2 * self.chance.randint(1, 20), 2):
                data = request(self.chance, stream)
                if self.chance.random() < 0.5:
                    data = changed(self.chance, data)
                connection.sendall(data)
            self.drain(connection, 0.2)

    def resets(self):
        """Opens streams and takes them back at once."""
        with self.connect_tls() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            block = header_block('JobService/WatchJob')
            data = b''
            for stream in range(1, 401, 2):
                data += frame(_HEADERS, 4, stream, block)
                data += frame(_RESET, 0, stream, struct.pack('>I', 8))
            connection.sendall(data)
            self.drain(connection)

    def floods(self):
        with self.connect_tls() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            kind = self.chance.randrange(4)
            if kind == 0:
                data = frame(_PING, 0, 0, b'12345678') * 500
            elif kind == 1:
                data = frame(_SETTINGS, 0, 0, b'\x00\x04\x00\x00\xff\xff') * 500
            elif kind == 2:
                data = (frame(_HEADERS, 0, 1, b'') +
                        frame(_CONTINUATION, 0, 1, b'\x00\x01a\x01b') * 5000)
            else:
                data = frame(_WINDOW, 0, 0, struct.pack('>I', 2**31 - 1)) * 4
            connection.sendall(data)
            self.drain(connection)

    def large_headers_and_messages(self):
        with self.connect_tls() as connection:
            connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            extra = [(f'x-{i}', 'y' * 200) for i in range(60)]
            connection.sendall(frame(
                _HEADERS, 4, 1, header_block('JobService/GetJob', extra)))
            connection.sendall(
                frame(_HEADERS, 4, 3, header_block('JobService/GetJob')) +
                frame(_DATA, 0, 3, b'\x00' + struct.pack('>I', 2**31) +
                      self.chance.randbytes(16_000)))
            self.drain(connection, 0.2)

    def held_open(self):
        """Says nothing, or little by little, then leaves or breaks off."""
        held = []
        try:
            for _ in range(10):
                held.append(self.connect())
            hello = self.hello()
            for at in range(self.chance.choice((2, 8, 20))):
                for connection in held:
                    connection.sendall(hello[at:at + 1])
                if time.monotonic() > self.until:
                    break
                time.sleep(0.5)
        finally:
            for connection in held:
                if self.chance.random() < 0.5:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack('ii', 1, 0))
                connection.close()

    def half_requests(self):
        """Greets, then sends a request byte by byte, and never its end."""
        held = []
        try:
            for _ in range(4):
                connection = self.connect_tls()
                held.append(connection)
                connection.sendall(PREFACE + frame(_SETTINGS, 0, 0, b''))
            data = request(self.chance, 1)
            for at in range(min(10, len(data) - 1)):
                for connection in held:
                    connection.sendall(data[at:at + 1])
                if time.monotonic() > self.until:
                    break
                time.sleep(0.5)
        finally:
            for connection in held:
                connection.close()


KINDS = ('junk_in_the_clear', 'http2_in_the_clear', 'broken_hello',
         'hello_and_junk', 'random_frames', 'changed_requests', 'resets',
         'floods', 'large_headers_and_messages', 'held_open', 'half_requests')


def start_all(place, tls, seed, until):
    crowd = []
    for number, kind in enumerate(KINDS):
        crowd.append(Attacker(place, kind, tls, number, seed, until))
    for attacker in crowd:
        attacker.start()
    return crowd
