"""A run that ended early goes on from its newest checkpoint, and ends in the
digests, metrics and weights of a run that nothing happened to."""

import json
import os
import re
import signal

import harness

# Seconds of work in 20,000 batches, with checkpoints within epochs.
JOB = {'training.batches_per_step': 2, 'training.epochs': 2000,
       'training.checkpoint_every': 300, 'training.checkpoint_steps': 497,
       'training.evaluate_every': 500,
       # 10,000 steps, of which half warm up.
       'training.schedule': 'cosine', 'training.warmup_steps': 5000,
       'training.clip_norm': 1}


class ResumeTest(harness.ServiceTest):

    undisturbed = JOB

    def submit(self, name):
        return self.service.submit_run(name, JOB)

    def kill_all(self):
        self.service.kill_all()
        self.assertFalse(self.service.processes())

    def kill_after(self, run_dir, batches):
        self.service.wait_for_batches(run_dir, batches)
        self.kill_all()

    def assert_as_if_nothing_happened(self, run_dir):
        expected = self.expected
        self.assert_same_run(run_dir, expected)
        summary = harness.summary_of(run_dir)
        whole = harness.summary_of(expected)
        for key in ('state', 'epochs', 'batches_committed', 'batches_expected',
                    'valid_accuracy', 'valid_macro_f1', 'test_accuracy',
                    'test_macro_f1', 'best_epoch', 'seed'):
            self.assertEqual(summary[key], whole[key], key)

    def test_everything_is_killed_three_times(self):
        self.service.fgnn('up')
        run_dir, _ = self.submit('killed')
        self.kill_after(run_dir, 1000)
        # The service that comes next goes on by itself; so kill it too.
        for batches in (4000, 8000):
            self.service.fgnn('up')
            self.kill_after(run_dir, batches)
        self.service.fgnn('resume', str(run_dir))
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_restarted_service_goes_on_by_itself(self):
        self.service.fgnn('up')
        run_dir, job = self.submit('interrupted')
        self.kill_after(run_dir, 3000)
        self.service.fgnn('up')
        self.service.fgnn('watch', job)
        self.end_service()
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_job_outlives_its_scheduler(self):
        # The job's device, so that its daemons stay when it has ended.
        devices = ('--devices', 'cpu:0')
        scheduler = self.service.json('up', *devices)['pid']
        run_dir, job = self.submit('headless')
        self.service.wait_for_batches(run_dir, 3000)
        os.kill(scheduler, signal.SIGKILL)
        daemons = self.service.wait_until_gone([scheduler])
        self.assertEqual(len(daemons), 2)
        scheduler = self.service.json('up', *devices)['pid']
        self.service.fgnn('watch', job)
        self.assertEqual(self.service.processes(),
                         {**daemons, scheduler: 'fgnn-scheduler'})
        self.assertIn(f'job {job}: taken over',
                      self.service.fgnn('logs', job).stdout)
        self.end_service()
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_job_goes_on_after_its_scheduler_was_told_to_end(self):
        """As a service manager tells it, before a reboot."""
        scheduler = self.service.json('up')['pid']
        run_dir, job = self.submit('rebooted')
        self.service.wait_for_batches(run_dir, 3000)
        os.kill(scheduler, signal.SIGTERM)
        self.assertFalse(self.service.wait_until_gone())
        self.service.fgnn('up')
        self.service.fgnn('watch', job)
        self.end_service()
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_cancelled_run_is_resumed_by_another_service(self):
        self.service.fgnn('up')
        run_dir, job = self.submit('cancelled')
        self.service.wait_for_batches(run_dir, 2000)
        self.service.fgnn('cancel', job)
        self.service.fgnn('down')
        self.service.state_dir = self.service.folder / 'other-state'
        self.service.fgnn('resume', str(run_dir))
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_run_that_names_no_devices_goes_on_with_other_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest('needs two cores')
        self.service.fgnn('up', '--devices', *(f'cpu:{i}' for i in cores[:2]))
        run_dir = self.service.folder / 'moved'
        # A step has a batch for each of the two devices.
        job = self.service.submit(
            JOB, run_dir=run_dir,
            **{'devices': '[]', 'training.batches_per_step': 0})
        self.service.wait_for_batches(run_dir, 2000)
        self.service.fgnn('cancel', job)
        self.service.fgnn('down')
        self.service.state_dir = self.service.folder / 'other-state'
        self.service.fgnn(
            'resume', str(run_dir),
            preexec_fn=lambda: os.sched_setaffinity(0, cores[1:2]))
        spec = (run_dir / 'job.yaml').read_text()
        self.assertIn('batches_per_step: 2', spec)
        self.assertNotIn('devices', spec)
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_torn_checkpoint_is_passed_over(self):
        self.service.fgnn('up')
        run_dir, _ = self.submit('torn')
        self.kill_after(run_dir, 5000)
        newest = max(path for path in (run_dir / 'checkpoints').iterdir()
                     if path.name.startswith('epoch-'))
        content = bytearray(newest.read_bytes())
        content[len(content) // 2] ^= 1
        newest.write_bytes(content)
        self.service.fgnn('resume', str(run_dir))
        self.assert_as_if_nothing_happened(run_dir)

    def test_a_resume_that_fails_leaves_a_finished_run_as_it_was(self):
        run_dir = self.service.run()

        def files():
            return {str(path): path.read_bytes()
                    for path in run_dir.rglob('*') if path.is_file()}

        before = files()
        # The same shapes, and other contents.
        self.service.fgnn('dataset', 'generate', 'sbm', *self.graph[:-1], '8',
                          '--out', str(self.service.folder / 'other'))
        self.service.dataset.rename(self.service.folder / 'first')
        (self.service.folder / 'other').rename(self.service.dataset)
        result = self.service.fgnn('resume', str(run_dir), '--json', '--set',
                                   'training.epochs=3', check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn('fingerprint', result.stderr)
        summary, error = map(json.loads, result.stdout.splitlines()[-2:])
        self.assertEqual(summary['state'], 'failed')
        self.assertEqual(error['type'], 'error')
        self.assertEqual(files(), before)

    def test_the_summary_counts_the_seconds_of_all_starts(self):
        run_dir = self.service.run()
        path = run_dir / 'summary.json'
        summary = json.loads(path.read_text())
        summary['seconds'] += 1000  # As if it had taken longer.
        path.write_text(json.dumps(summary))
        self.service.fgnn('resume', str(run_dir), '--set',
                          'training.epochs=3')
        after = json.loads(path.read_text())
        self.assertNotEqual(after['job_id'], summary['job_id'])
        self.assertGreater(after['seconds'], summary['seconds'])
        self.assertLess(after['seconds'], summary['seconds'] + 500)

    def test_a_run_with_nothing_left_to_train_is_refused(self):
        """And the way out that the error names trains on."""
        run_dir = self.service.run()
        stopped = self.service.run({
            'training.epochs': 50, 'training.patience': 1,
            'training.learning_rate': 1e-12})
        self.service.fgnn('up')
        jobs = len(self.service.json('jobs')['jobs'])
        for run, done, more in ((run_dir, 2, 4), (stopped, 2, 50)):
            before = (run / 'summary.json').read_bytes()
            result = self.service.fgnn('resume', str(run), check=False)
            self.assert_user_error(result, 'nothing is left to train')
            self.assertEqual((run / 'summary.json').read_bytes(), before)
            self.assertEqual(len(self.service.json('jobs')['jobs']), jobs)
            self.assertEqual(len(harness.metrics_of(run)), done)
            words = re.search(r'--set \S+$', result.stderr).group().split()
            self.service.fgnn('resume', str(run), *words)
            jobs += 1
            self.assertEqual(len(harness.metrics_of(run)), more)
            self.assertIn(words[1].partition('.')[2].replace('=', ': '),
                          (run / 'job.yaml').read_text())

    def test_a_job_that_has_not_ended_is_followed_and_keeps_its_fields(self):
        self.service.fgnn('up')
        run_dir, job = self.service.submit_run('endless', harness.ENDLESS)
        self.service.wait_for_batches(run_dir, 10)
        changed = self.service.fgnn('resume', str(run_dir), '--set',
                                    'training.epochs=3', check=False)
        self.assertEqual(changed.returncode, 1)
        self.assertIn(f'job {job}, which has not ended', changed.stderr)
        self.service.fgnn('pause', job)
        # By its folder, a paused job goes on as by its name.
        follower = self.service.start('resume', str(run_dir), '--json')
        try:
            for line in harness.lines_within(follower.stdout,
                                             harness.COMMAND_SECONDS):
                if json.loads(line).get('state') == 'running':
                    break
            else:
                self.fail('the job did not go on')
        finally:
            follower.kill()
            follower.communicate()
        follower = self.service.start('resume', job, '--json')
        next(harness.lines_within(follower.stdout, harness.COMMAND_SECONDS))
        self.service.fgnn('cancel', job)
        self.assertIn(f'note: job {job} is',
                      follower.communicate()[1].decode())

    def test_what_is_no_run_is_refused(self):
        result = self.service.fgnn('resume', str(self.service.folder),
                                   check=False)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn('job.yaml', result.stderr)
        self.assert_nothing_left()


class SharedDrawsTest(harness.ServiceTest):
    """A checkpoint within a window of batches that draw alike."""

    # Ten batches and ten steps an epoch: windows of eight and of two batches.
    job = {'training.batches_per_step': 1, 'sampling.batch_dependency': 8,
           'training.checkpoint_steps': 3, 'training.keep_checkpoints': 100}

    def go_back_to(self, run_dir, name):
        for path in (run_dir / 'checkpoints').iterdir():
            if path.stem not in (name, 'best'):
                path.unlink()
        self.assertTrue((run_dir / 'checkpoints' /
                         f'{name}.safetensors').exists())

    def test_a_run_goes_on_within_a_window(self):
        run_dir = self.service.run(self.job, '--digest')

        def outcome():
            return ((run_dir / 'batches.crc').read_text(),
                    harness.metrics_of(run_dir), harness.last_weights(run_dir))

        expected = outcome()
        # Batch 2 of the second epoch.
        self.go_back_to(run_dir, 'epoch-0001-step-0000000012')
        self.service.fgnn('resume', str(run_dir))
        self.assert_exactly(outcome() == expected, 'the run went another way')

    def test_but_not_with_another_window(self):
        run_dir = self.service.run(self.job)
        job = run_dir / 'job.yaml'
        text = job.read_text()
        self.assertIn('batch_dependency: 8', text)
        job.write_text(text.replace('batch_dependency: 8',
                                    'batch_dependency: 4'))
        self.go_back_to(run_dir, 'epoch-0001-step-0000000012')
        result = self.service.fgnn('resume', str(run_dir), check=False)
        self.assert_user_error(
            result, 'sampling.batch_dependency 8, this job has 4')
