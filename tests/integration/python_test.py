"""The Python package with a real service: what its README says, and that its
types are right."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import python_package

fgnn = python_package.load()
PACKAGE = python_package.ROOT / 'tools/python'


def readme_lines():
    """The block of Python of the README."""
    text = (PACKAGE / 'README.md').read_text(encoding='utf-8')
    found = re.findall(r'```python\n(.*?)```', text, re.S)
    if len(found) != 1:
        raise AssertionError(f'{len(found)} blocks of Python in the README')
    return found[0]


class PythonTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        path = f"{harness.BIN_DIR.resolve()}:{os.environ['PATH']}"
        self.environment = {
            **os.environ, 'FGNN_STATE_DIR': str(self.service.state_dir),
            'PYTHONPATH': str(python_package.SITE), 'PATH': path}

    def connect(self):
        client = fgnn.Client(self.service.state_dir,
                             program=str(harness.BIN_DIR.resolve() / 'fgnn'))
        self.addCleanup(client.close)
        return client

    def job_file(self):
        job = self.service.folder / 'job.yaml'
        job.write_text(
            'dataset: graph\nmodel: {hidden: 16}\ntraining: {epochs: 2}\n'
            'sampling: {fanouts: [5, 5], batch_size: 64}\ndevices: [cpu:0]\n',
            encoding='utf-8')
        return job

    def python(self, *words):
        return subprocess.run(
            [sys.executable, '-B', *map(str, words)], env=self.environment,
            cwd=self.service.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS)

    def test_the_lines_of_the_readme_run(self):
        lines = readme_lines()
        self.assertLessEqual(len(lines.splitlines()), 12)
        self.service.fgnn('up')
        run = self.python('-c', lines)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('completed', run.stdout)
        self.assertRegex(run.stdout, r'test accuracy 0\.\d+')
        self.assertRegex(run.stdout, r'classes \[')
        self.assertIn('epoch 20/20', run.stderr)

    def test_a_job_file_from_its_submission_to_its_plot(self):
        self.service.fgnn('up')
        run = self.python(PACKAGE / 'examples/plot_loss.py', self.job_file(),
                          'out.png')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(
            (self.service.folder / 'out.png').read_bytes()[1:4], b'PNG')

        client = self.connect()
        job, = client.jobs(state='completed')
        self.assertEqual(client.job(job.id[:-1]).id, job.id)
        self.assertEqual(job.name, 'plot_loss')
        self.assertEqual(job.spec['sampling']['batch_size'], 64)
        self.assertEqual(job.progress.share, 1.0)
        table = job.metrics()
        self.assertEqual(list(table.index), [1, 2])
        self.assertLess(table['loss'][2], table['loss'][1])
        self.assertEqual(job.summary()['job_id'], job.id)
        self.assertEqual(job.checkpoint(),
                         job.run_dir / 'checkpoints/best.safetensors')
        self.assertIn(job.id, job.logs())
        shares = job.predict(self.service.dataset, 'probabilities')
        self.assertEqual((shares.shape, shares.dtype), ((2000, 4), 'float32'))
        self.assertEqual(
            list(job.predict(self.service.dataset)), list(shares.argmax(1)))
        with self.assertRaisesRegex(fgnn.ProgramFailed, 'nowhere') as caught:
            job.predict('/nowhere')
        self.assertEqual(caught.exception.exit_code, 2)

    def test_a_job_is_submitted_once_and_ends_when_it_is_told_to(self):
        self.service.fgnn('up')
        client = self.connect()
        endless = {'training.epochs': 1000000, 'training.evaluate_every': 0}
        job, again = (client.submit(self.job_file(), key='one',
                                    overrides=endless) for _ in range(2))
        self.assertEqual(job.id, again.id)
        with self.assertRaisesRegex(fgnn.AlreadyExists, 'one'):
            client.submit(self.job_file(), key='one')
        with self.assertRaisesRegex(fgnn.NotFound, 'summary.json'):
            job.summary()
        for now in job.watch(progress=False):
            if now.progress.batches_committed > 0:
                break
        self.assertEqual(job.pause().state, 'paused')
        self.assertEqual([one.id for one in client.jobs(state='paused')],
                         [job.id])
        self.assertIn(job.resume().state, ('queued', 'preparing', 'running'))
        self.assertEqual(job.cancel().state, 'cancelled')
        with self.assertRaisesRegex(fgnn.WrongState, job.id):
            job.pause()
        with self.assertRaisesRegex(fgnn.JobCancelled, job.id):
            again.wait()
        with self.assertRaisesRegex(fgnn.NotFound, 'nobody'):
            client.job('nobody')

    def test_a_job_that_ended_is_deleted_with_its_run(self):
        self.service.fgnn('up')
        client = self.connect()
        job = client.submit(self.job_file(), overrides={
            'training.epochs': 1000000, 'training.evaluate_every': 0})
        with self.assertRaisesRegex(fgnn.WrongState, f'fgnn cancel {job.id}'):
            job.delete()
        for now in job.watch(progress=False):
            if now.progress.batches_committed > 0:
                break
        job.cancel()
        self.assertTrue(job.run_dir.exists())
        self.assertIs(job.delete(), True)
        self.assertFalse(job.run_dir.exists())
        self.assertEqual(list(client.jobs()), [])
        with self.assertRaisesRegex(fgnn.NotFound, job.id):
            job.delete()

    @unittest.skipIf(os.geteuid() != 0, 'needs root, to be two users')
    def test_a_job_of_another_user_is_seen_but_not_changed(self):
        self.service.fgnn('up')
        job = self.connect().submit(self.job_file())
        # The stranger is of the socket's group, and may look into its folder.
        self.service.folder.chmod(0o755)
        stranger = self.python('-c', f"""
import os, grpc
from fgnn import Client  # Before the user changes, who may not read modules.
os.setgroups([])
os.setresgid({os.getegid()}, {os.getegid()}, {os.getegid()})
os.setresuid(65533, 65533, 65533)
job = Client('{self.service.state_dir}').job('{job.id}')
print(job.id)
job.pause()
""")
        self.assertEqual(stranger.stdout, f'{job.id}\n')
        self.assertRegex(stranger.stderr,
                         f'PermissionDenied: .*{job.id} is of user .*, not of ')
        job.wait(progress=False)

    def test_a_mistake_is_told_in_the_words_of_the_command_line(self):
        self.service.fgnn('up')
        client = self.connect()
        job = self.job_file()
        for line in ('sampling: {fanout: [5]}', 'epochs: 3', 'samplers: 65',
                     'training:\n  epochs: many', 'model: {kind: gnc}',
                     'sampling: {fanouts: 5}', 'model: [2]', 'queue: {slots: }',
                     'model: {residual: 1}', 'cache: {}\ncache: {}', 'a: [',
                     'training: {learning_rate: 1_0}', 'limits: {memory: x}'):
            with self.subTest(line):
                job.write_text(f'dataset: {self.service.dataset}\n{line}\n',
                               encoding='utf-8')
                said = self.service.fgnn('submit', str(job), check=False)
                self.assertEqual(said.returncode, 2)
                with self.assertRaises(fgnn.InvalidJob) as caught:
                    client.submit(job)
                if line != 'a: [':  # Each reader of YAML has its own words.
                    self.assertIn(caught.exception.message, said.stderr)
                self.assertEqual(list(client.jobs()), [])


class CheckpointTest(harness.unittest.TestCase):

    def test_it_is_the_best_the_newest_or_the_named_one(self):
        from fgnn import checkpoint
        with tempfile.TemporaryDirectory() as folder:
            run = pathlib.Path(folder)
            with self.assertRaisesRegex(fgnn.NotFound, 'no checkpoint yet'):
                checkpoint.find(run)
            (run / 'checkpoints').mkdir()
            # Each is newer than those before.
            for name in ('epoch-0003', 'epoch-0003-step-0000000120',
                         'epoch-9999', 'epoch-10000', 'best'):
                (run / f'checkpoints/{name}.safetensors').touch()
                self.assertEqual(checkpoint.find(run).stem, name)
            for name in ('epoch-0003', 'epoch-0003.safetensors'):
                self.assertEqual(checkpoint.find(run, name).stem, 'epoch-0003')
            with self.assertRaisesRegex(fgnn.NotFound,
                                        "'other'; there are best, epoch-10"):
                checkpoint.find(run, 'other')


class PygTest(harness.unittest.TestCase):

    def test_it_is_named_where_it_is_not_installed(self):
        for function, words in ((fgnn.to_pyg, ('run',)),
                                (fgnn.from_pyg, (None, 'graph'))):
            with self.assertRaisesRegex(ImportError, r"torch .*fgnn\[pyg\]"):
                function(*words)


class ImportTest(harness.unittest.TestCase):

    def python(self, lines):
        return subprocess.run(
            [sys.executable, '-B', '-c', lines], check=True, text=True,
            capture_output=True, timeout=harness.COMMAND_SECONDS,
            env={**os.environ, 'PYTHONPATH': str(python_package.SITE)}).stdout

    def test_nothing_large_is_imported_before_it_is_used(self):
        large = "{'grpc', 'numpy', 'torch', 'yaml'} & set(sys.modules)"
        self.assertEqual(self.python(f'import sys, fgnn; print({large})'),
                         'set()\n')

    def test_each_name_is_where_the_package_says(self):
        self.assertEqual(self.python(
            'import fgnn; print(*(n for n in fgnn.__all__ if getattr(fgnn, n)'
            '.__module__.partition(".")[0] != "fgnn"), hasattr(fgnn, "x"),'
            ' set(fgnn.__all__) <= set(dir(fgnn)))'), 'False True\n')


class TypesTest(harness.unittest.TestCase):

    def test_they_are_strict(self):
        readme = python_package.SITE.parent / 'readme.py'
        readme.write_text(readme_lines(), encoding='utf-8')
        check = subprocess.run(
            [sys.executable, '-m', 'mypy', '--config-file',
             PACKAGE / 'pyproject.toml', '--cache-dir',
             python_package.SITE.parent / 'cache', python_package.SITE / 'fgnn',
             readme, PACKAGE / 'examples/plot_loss.py'],
            cwd=python_package.SITE, capture_output=True, text=True,
            check=False, timeout=harness.COMMAND_SECONDS)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
