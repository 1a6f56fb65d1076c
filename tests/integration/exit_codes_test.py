"""Exit code 2 for wrong use, 1 for work that failed, and the `code` of errors in
JSON."""

import json
import os
import signal
import subprocess

import harness

NAME_IN_LATIN1 = 'Stra\xdfe'.encode('latin-1')


class ExitCodesTest(harness.ServiceTest):

    graph = ('--nodes', '500', '--features', '8', '--classes', '4',
             '--train-fraction', '0.3', '--seed', '7')

    def words(self, *words):
        return [harness.BIN_DIR / 'fgnn', '--state-dir',
                self.service.state_dir, *words]

    def assert_error(self, words, exit_code, code, *names):
        """One line on stderr, and the same message as JSON on stdout."""
        run = self.service.fgnn(*words, '--json', check=False)
        self.assertEqual(run.returncode, exit_code, run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        error = json.loads(run.stdout.splitlines()[-1])
        self.assertEqual((error['type'], error['code'], error['exit_code']),
                         ('error', code, exit_code))
        for name in names:
            self.assertIn(name, error['message'])
            self.assertIn(name, run.stderr)

    def test_wrong_uses(self):
        folder = str(self.service.dataset)
        for words, code in ((['nosuch'], 'invalid_argument'),
                            (['jobs', '--limit', '0'], 'invalid_argument'),
                            (['dataset', 'info', '/nowhere'], 'not_found'),
                            (['dataset', 'generate', 'sbm', '--out', folder],
                             'already_exists')):
            with self.subTest(' '.join(words)):
                self.assert_error(words, 2, code, words[-1])

    def test_wrong_uses_of_a_trainer(self):
        exchange = ['--role', 'exchange', '--exchange', '127.0.0.1:0']
        for words, why in (
                (['--role', 'sampler'], 'sampler not in {trainer,exchange}'),
                (exchange[:2], 'needs --exchange HOST:PORT and --tls-dir DIR'),
                (exchange, 'needs --exchange HOST:PORT and --tls-dir DIR'),
                (['--role', 'exchange', '--exchange', 'here', '--tls-dir', '/'],
                 "'here' is no HOST:PORT")):
            with self.subTest(' '.join(words)):
                run = subprocess.run(
                    [harness.BIN_DIR / 'fgnn-trainer', *words],
                    capture_output=True, text=True, check=False,
                    timeout=harness.COMMAND_SECONDS)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
                self.assertIn(why, run.stderr)

    def test_work_that_could_not_be_done(self):
        self.assert_error(['status'], 1, 'unavailable', "'fgnn up'")
        cut = self.service.dataset / 'indices.npy'
        os.truncate(cut, cut.stat().st_size - 8)
        self.assert_error(['dataset', 'validate', str(self.service.dataset)],
                          1, 'data_loss', str(cut), 'truncated')

    def test_a_service_that_hangs(self):
        pid = self.service.json('up')['pid']
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assert_error(['jobs'], 1, 'deadline_exceeded',
                              "'fgnn down --force'")
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_a_job_that_fails_in_training(self):
        self.service.fgnn('up')
        words = self.service.job_words(harness.ENDLESS)
        job = self.service.json('submit', *words, '--time-limit', '1s')['job_id']
        self.assert_error(['watch', job], 1, 'deadline_exceeded', job)

    def test_output_to_a_full_device(self):
        self.service.fgnn('up')
        for words in (['--help'], ['--version'], ['status'], ['jobs', '--json'],
                      ['dataset', 'info', self.service.dataset]):
            with self.subTest(words), open('/dev/full', 'wb') as full:
                run = subprocess.run(
                    self.words(*words), stdout=full, stderr=subprocess.PIPE,
                    text=True, check=False, timeout=harness.COMMAND_SECONDS)
                self.assertEqual(run.returncode, 1, run.stderr)
                self.assertEqual(run.stderr, 'fgnn: write to standard output: '
                                 'No space left on device\n')

    def test_text_that_is_not_utf8(self):
        job = self.service.folder / 'latin1.yaml'
        job.write_bytes(f'dataset: {self.service.dataset}\n# '.encode() +
                        NAME_IN_LATIN1 + b'\n')
        self.assert_error(['submit', str(job)], 2, 'invalid_argument',
                          f'{job}:2: byte 0xdf is not UTF-8')
        good = self.service.job_words()
        self.assert_error(['submit', *good, '--name', NAME_IN_LATIN1], 2,
                          'invalid_argument', "'Stra\\xdfe' is not UTF-8")
        names = self.service.dataset / 'class_names.txt'
        names.write_bytes(b'a\n' + NAME_IN_LATIN1 + b'\nc\nd\n')
        self.assert_error(['dataset', 'info', str(self.service.dataset)], 2,
                          'invalid_argument', f'{names}:2: byte 0xdf')

    def test_predictions_are_not_overwritten(self):
        run_dir = str(self.service.run())
        out = self.service.folder / 'out.csv'
        words = ['predict', run_dir, '--dataset', str(self.service.dataset),
                 '--out', str(out)]
        out.write_text('mine', encoding='utf-8')
        self.assert_error(words, 2, 'already_exists', str(out), '--force')
        self.assertEqual(out.read_text(encoding='utf-8'), 'mine')
        self.service.fgnn(*words, '--force')
        self.assertEqual(len(out.read_text(encoding='utf-8').splitlines()), 501)
        self.assert_error(['predict', run_dir, '--dataset', '/nowhere', '--out',
                           str(out), '--force'], 2, 'not_found', '/nowhere')
