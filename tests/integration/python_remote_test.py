"""The Python client against a service on another host: certificates, tokens,
and what the client says where they do not fit."""

import contextlib
import os
import pwd
import socket
import subprocess
import threading

import client_case
import python_package
from client_case import fgnn

import fake_job_service


class ElsewhereTest(client_case.ClientTest):

    def setUp(self):
        super().setUp()
        self.tls = self.folder / 'tls'
        self.mine = self.tls / 'users/ann'
        for words in (['ca'], ['server', '127.0.0.1'],
                      ['user', 'ann', '--role', 'submit']):
            subprocess.run(
                [python_package.ROOT / 'tools/fgnn-certificates', '--dir',
                 self.tls, *words], check=True, capture_output=True)
        (self.folder / 'there').mkdir()
        there = fake_job_service.FakeJobService(
            self.folder / 'there', (self.tls / 'server.pem').read_bytes(),
            (self.tls / 'server.key').read_bytes(),
            (self.tls / 'ca.pem').read_bytes())
        self.addCleanup(there.stop)
        self.there = there
        self.place = f'127.0.0.1:{there.port}'

    def call(self, **options):
        with fgnn.Client(server=self.place, **options) as client:
            return client.job('job-7').id

    def test_is_called_with_certificate_and_token(self):
        token = self.mine / 'token'
        token.write_text('secret\n', encoding='utf-8')
        token.chmod(0o600)
        self.assertEqual(self.call(tls_dir=self.mine), 'job-7')
        self.assertEqual(self.there.metadata[0]['authorization'],
                         'Bearer secret')
        token.chmod(0o644)
        with self.assert_raises(fgnn.PermissionDenied, 'chmod 600', token):
            self.call(tls_dir=self.mine)

    def test_takes_no_key_that_is_missing_or_of_another_user(self):
        key = self.mine / 'user.key'
        if os.geteuid() == 0:
            os.chown(key, 65534, -1)
            with self.assert_raises(fgnn.PermissionDenied, 'chown', key):
                self.call(tls_dir=self.mine)
        key.unlink()
        with self.assert_raises(fgnn.NotFound, key):
            self.call(tls_dir=self.mine)

    def test_names_the_file_that_only_root_can_read(self):
        if os.geteuid() != 0:
            self.skipTest('needs root, to be another user')
        nobody = pwd.getpwuid(65534).pw_name
        with self.as_user(65534), self.assert_raises(
                fgnn.PermissionDenied, self.mine, f'closed to {nobody}'):
            self.call(tls_dir=self.mine)
        for folder in (self.folder, self.tls, self.tls / 'users', self.mine):
            folder.chmod(0o755)
        key = self.mine / 'user.key'
        with self.as_user(65534), self.assert_raises(
                fgnn.PermissionDenied, f'chown {nobody} {key}'):
            self.call(tls_dir=self.mine)
        authority = self.mine / 'ca.pem'
        authority.chmod(0o600)
        with self.as_user(65534), self.assert_raises(
                fgnn.PermissionDenied, f'chown {nobody} {authority}'):
            self.call(tls_dir=self.mine)

    @contextlib.contextmanager
    def as_user(self, uid):
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)

    def test_only_an_answer_in_the_clear_leads_to_insecure(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            server.settimeout(100)
            place = f'127.0.0.1:{server.getsockname()[1]}'
            remote = fgnn.remote.Remote(place, self.mine)
            for answer, error, text in (
                    (b'', fgnn.Unavailable, 'try again'),
                    (bytes((21, 3, 3, 0, 2, 2, 80)), fgnn.WrongState, 'failed'),
                    (bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)), fgnn.WrongState,
                     'insecure=True')):
                peer = threading.Thread(target=self.answer,
                                        args=(server, answer))
                peer.start()
                why = remote.explain()
                peer.join()
                self.assertIsInstance(why, error)
                self.assertIn(text, str(why))
                self.assertEqual('insecure' in str(why), 'insecure' in text)

    @staticmethod
    def answer(server, text):
        """Sends `text` to one connection, and closes it."""
        connection, _ = server.accept()
        # The peer may leave before it has read all.
        with connection, contextlib.suppress(ConnectionError):
            connection.recv(1 << 16)
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass

    def test_tells_what_is_wrong(self):
        with self.assert_raises(fgnn.NotFound, 'neither user.pem'):
            self.call(tls_dir=self.tls)
        with self.assert_raises(fgnn.InvalidJob, 'two services'):
            fgnn.Client(self.folder, server=self.place)
        other = self.folder / 'other'
        subprocess.run(
            [python_package.ROOT / 'tools/fgnn-certificates', '--dir', other,
             'ca'], check=True, capture_output=True)
        (self.mine / 'ca.pem').write_bytes((other / 'ca.pem').read_bytes())
        with self.assert_raises(fgnn.WrongState, self.place,
                                'local issuer certificate|self-signed'):
            self.call(tls_dir=self.mine)
