"""What a service or a daemon refuses before it begins: a GPU that is not
there, and a limit on descriptors that is too low."""

import os
import pathlib
import resource
import shutil
import stat
import subprocess
import tempfile

import harness

WAY_OUT = "raise the limit with 'ulimit -n "


class RefusedDaemonsTest(harness.ServiceTest):

    def programs(self):
        """A folder with the programs, of which a test may replace some."""
        folder = pathlib.Path(tempfile.mkdtemp(
            prefix='replaced-', dir=harness.BIN_DIR.parent))
        self.addCleanup(shutil.rmtree, folder)
        for name in harness.PROGRAMS:
            os.link(harness.BIN_DIR / name, folder / name)
        return folder

    def test_a_gpu_that_is_not_there_is_refused_by_a_running_service(self):
        pid = self.service.json('up', '--devices', 'cpu:0')['pid']
        before = self.service.processes()
        for command in ('run', 'submit'):
            for devices in ('[cuda:7]', '[cpu:0, cuda:7]'):
                answer = self.service.fgnn(
                    command, *self.service.job_words(devices=devices),
                    check=False)
                self.assert_user_error(answer, 'devices: cuda:7: ', 'GPU',
                                       'name another device')
        self.assertEqual(self.service.json('jobs')['jobs'], [])
        self.assertEqual(self.service.json('status')['pid'], pid)
        self.assertEqual(self.service.processes(), before)
        self.service.run({'devices': '[cpu:0]'})

    def test_a_daemon_that_refuses_to_start_fails_its_job_at_once(self):
        self.service.programs = self.programs()
        trainer = self.service.programs / 'fgnn-trainer'
        trainer.unlink()
        trainer.write_text('#!/bin/sh\necho "no, not with $4" >&2\nexit 2\n')
        trainer.chmod(trainer.stat().st_mode | stat.S_IXUSR)
        answer = self.service.fgnn(
            'run', *self.service.job_words(devices='[cpu:0]'), check=False)
        self.assert_user_error(
            answer, 'trainer.0 refuses to start: no, not with cpu:0')
        started = (self.service.state_dir / 'logs/scheduler.log').read_text()
        self.assertEqual(started.count('started trainer.0'), 1, started)

    def test_a_trainer_names_a_gpu_that_is_not_there_at_once(self):
        for program in ('fgnn-sampler', 'fgnn-trainer'):
            self.service.fgnn('up', '--devices', 'cpu:0')
            answer = subprocess.run(
                [harness.BIN_DIR / program, '--device', 'cuda:7',
                 '--state-dir', self.service.state_dir],
                capture_output=True, text=True, check=False, timeout=30)
            self.assert_user_error(answer, 'cuda:7', 'CUDA')


class DescriptorsTest(harness.ServiceTest):

    def limited(self, most):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return limit

    def test_a_service_works_or_names_need_have_and_the_way_out(self):
        refused = worked = 0
        for most in (*range(8, 56, 4), 64):
            limit = self.limited(most)
            up = self.service.fgnn('up', '--devices', 'cpu:0', check=False,
                                   preexec_fn=limit)
            if up.returncode != 0:
                refused += 1
                self.assertIn(WAY_OUT, up.stderr, most)
                self.assertNotIn('RAW', up.stderr)
                self.assertEqual(self.service.wait_until_gone(), {})
                continue
            worked += 1
            for words in (('run', *self.service.job_words(devices='[cpu:0]')),
                          ('jobs',), ('down',)):
                self.service.fgnn(*words, preexec_fn=limit)
            self.assert_nothing_left()
        self.assertGreater(refused, 3)
        self.assertGreater(worked, 2)

    def test_a_client_works_or_names_need_have_and_the_way_out(self):
        self.service.fgnn('up', '--devices', 'cpu:0')
        refused = worked = 0
        for most in range(5, 24):
            answer = self.service.fgnn('jobs', check=False,
                                       preexec_fn=self.limited(most))
            if answer.returncode == 0:
                worked += 1
                continue
            refused += 1
            self.assertIn(WAY_OUT, answer.stderr, most)
            self.assertNotIn('RAW', answer.stderr)
        self.assertGreater(refused, 2)
        self.assertGreater(worked, 5)
