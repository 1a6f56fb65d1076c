"""A service on a TCP port, with certificates of tools/fgnn-certificates."""

import os
import pathlib
import pwd
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class PortTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        # A remote user without the role operate reads what everybody may read.
        self.service.folder.chmod(0o755)
        self.tls = self.service.folder / 'tls'
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.certificates('ca')
        self.certificates('server', '127.0.0.1')

    def certificates(self, *words, folder=None):
        return subprocess.run(
            [ROOT / 'tools/fgnn-certificates', '--dir', folder or self.tls,
             *words], check=True, capture_output=True, text=True)

    def make_user(self, role, name, *words, folder=None):
        """A user's folder, with a certificate."""
        out = self.service.folder / name
        self.certificates('user', self.user, '--role', role, '--out', out,
                          *words, folder=folder)
        return out

    def scheduler(self, *words):
        return [harness.BIN_DIR / 'fgnn-scheduler', '--state-dir',
                self.service.state_dir, *words]

    def start_service(self):
        self.log = self.service.folder / 'scheduler.log'
        with open(self.log, 'wb') as log:
            process = subprocess.Popen(
                self.scheduler('--spawn-daemons', '--devices', 'cpu:0',
                               '--listen', '127.0.0.1:0', '--tls-dir',
                               self.tls), stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.service.wait_for(self.find_address, 'the port')

    def logged(self):
        return self.log.read_text(encoding='utf-8')

    def find_address(self):
        lines = [line for line in self.logged().splitlines()
                 if 'listening on ' in line]
        if lines:
            self.address = lines[0].split('listening on ')[1].split(',')[0]
        return bool(lines)

    def fgnn(self, tls_dir, *words, code=0):
        result = subprocess.run(
            [harness.BIN_DIR / 'fgnn', '--server', self.address, '--tls-dir',
             tls_dir, *words], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=harness.COMMAND_SECONDS)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_a_user_with_a_certificate_trains_as_on_the_socket(self):
        self.start_service()
        mine = self.make_user('submit', 'mine')
        local = self.service.run({}, '--digest')
        # A remote user who may not operate makes what everybody may make.
        closed = self.fgnn(mine, 'submit', *self.service.job_words(),
                           '--run-dir', self.service.folder / 'remote', code=1)
        self.assertIn(f'may not write in {self.service.folder}', closed.stderr)
        results = self.service.folder / 'results'
        results.mkdir()
        results.chmod(0o777)
        run_dir = results / 'remote'
        out = self.fgnn(mine, 'run', *self.service.job_words(), '--run-dir',
                        run_dir, '--digest', '--name', 'far').stdout
        self.assertIn('epoch 2/2', out)
        self.assert_same_run(run_dir, local)
        self.assertIn('far', self.fgnn(mine, 'jobs', '--user', self.user).stdout)
        self.fgnn(mine, 'rm', 'far')
        self.assertFalse(run_dir.exists())
        # Its role is too small to end the service, also for its own user.
        refused = self.fgnn(mine, 'down', code=1)
        self.assertIn('needs the role operate', refused.stderr)
        self.assertRegex(self.logged(),
                         f'refused {self.user} from 127.0.0.1, '
                         '/fgnn.v1.JobService/Shutdown: .*role operate')
        self.assertIn('own machine', self.fgnn(mine, 'logs', code=2).stderr)
        self.fgnn(self.make_user('operate', 'boss'), 'down')
        self.assert_nothing_left()

    def test_strangers_are_refused_and_logged(self):
        self.start_service()
        self.assertIn('no ca.pem', self.fgnn(
            self.service.folder, 'status', code=2).stderr)
        self.assertIn('user.pem', self.fgnn(self.tls, 'status', code=2).stderr)
        other = self.service.folder / 'other'
        self.certificates('ca', folder=other)
        theirs = self.make_user('operate', 'theirs', folder=other)
        self.assertIn('not signed by the authority',
                      self.fgnn(theirs, 'status', code=1).stderr)
        (theirs / 'ca.pem').write_bytes((self.tls / 'ca.pem').read_bytes())
        self.assertIn('does not trust the authority',
                      self.fgnn(theirs, 'status', code=1).stderr)
        self.assertRegex(self.logged(), 'refused .*does not trust')
        old = self.make_user('operate', 'old', '--days', '-1')
        self.assertIn('has expired', self.fgnn(old, 'status', code=1).stderr)
        self.assertRegex(self.logged(), 'refused .*has expired')
        (old / 'user.key').chmod(0o644)
        self.assertIn('chmod 600', self.fgnn(old, 'status', code=1).stderr)

    def test_the_file_of_tokens_is_changed_with_care(self):
        file = self.tls / 'tokens'
        owner = 65534 if os.geteuid() == 0 else os.geteuid()
        os.chown(self.tls, owner, -1)
        def make(name, *words):
            self.certificates('token', name, '--role', 'submit', *words)
        make('ann')
        self.assertEqual(file.stat().st_uid, owner)
        # As an editor leaves it that ends no last line.
        file.write_text('# by hand\n' + file.read_text().rstrip('\n'))
        make('bob')
        before = file.read_text().splitlines()
        self.assertEqual([line.split()[0] for line in before],
                         ['#', 'ann', 'bob'])
        make('ann', '--renew')
        after = file.read_text().splitlines()
        self.assertEqual(after[:2], [before[0], before[2]])
        self.assertRegex(after[2], '^ann submit [0-9a-f]{64}$')
        self.assertNotEqual(after[2], before[1])
        self.assertEqual(len(after), 3)
        self.assertEqual(file.stat().st_uid, owner)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        (self.tls / 'users/bob/token').unlink()
        with self.assertRaises(subprocess.CalledProcessError) as refused:
            make('bob', '--renew')
        self.assertIn('by hand', refused.exception.stderr)
        self.assertEqual(file.read_text().splitlines(), after)

    def test_a_host_has_a_certificate_for_both_ends_of_a_connection(self):
        folder = self.tls / 'hosts/gpu1'
        pem, key = folder / 'host.pem', folder / 'host.key'
        addresses = ('10.0.0.7', '::1', 'gpu1.example.org')
        made = self.certificates('host', 'gpu1', *addresses)
        self.assertEqual(made.stdout.strip(), str(pem))
        self.assertEqual(key.stat().st_mode & 0o777, 0o600)
        self.assertEqual((folder / 'ca.pem').read_bytes(),
                         (self.tls / 'ca.pem').read_bytes())
        def said():
            return subprocess.run(
                ['openssl', 'x509', '-in', pem, '-noout', '-subject', '-nameopt',
                 'RFC2253', '-ext', 'subjectAltName,extendedKeyUsage'],
                check=True, capture_output=True, text=True).stdout
        self.assertIn(f'subject=CN={self.user},OU=worker', said())
        self.assertIn('IP Address:10.0.0.7, IP Address:0:0:0:0:0:0:0:1, '
                      'DNS:gpu1.example.org', said())
        for purpose in 'sslserver', 'sslclient':
            subprocess.run(['openssl', 'verify', '-CAfile', folder / 'ca.pem',
                            '-purpose', purpose, pem], check=True,
                           capture_output=True)
        before = pem.read_bytes(), key.read_bytes()
        self.certificates('host', 'gpu1', *addresses, '--renew', '--user', 'fgnn')
        self.assertIn('subject=CN=fgnn,OU=worker', said())
        self.assertNotEqual(pem.read_bytes(), before[0])
        self.assertEqual(key.read_bytes(), before[1])
        for words, why in (
                (['gpu1', '10.0.0.7'], 'is there already'),
                (['gpu2'], 'needs a name and the addresses'),
                (['../gpu2', '10.0.0.7'], 'is no name of a host'),
                (['gpu2', '10.0.0.7', '--user', 'a/b'], 'is no name of a user'),
                (['gpu2', 'a/b'], 'is no name of a machine'),
                (['gpu2', '10.0.0.7', '--renew'], 'host.key is not there')):
            refused = subprocess.run(
                [ROOT / 'tools/fgnn-certificates', '--dir', self.tls, 'host',
                 *words], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode, 2, words)
            self.assertIn(why, refused.stderr)

    def test_in_the_clear_beyond_this_machine_is_refused(self):
        tokens = self.certificates('token', self.user, '--role', 'submit')
        for words in (['--listen', '0.0.0.0:0', '--tokens',
                       self.tls / 'tokens'], ['--listen', '127.0.0.1:0']):
            refused = subprocess.run(
                self.scheduler(*words), capture_output=True, text=True,
                timeout=harness.COMMAND_SECONDS, check=False)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn('fgnn-certificates', refused.stderr)
        again = subprocess.run(
            [ROOT / 'tools/fgnn-certificates', '--dir', self.tls, 'ca'],
            capture_output=True, text=True, check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn('is there already', again.stderr)
        self.assertEqual(
            pathlib.Path(tokens.stdout.strip()).stat().st_mode & 0o777, 0o600)
