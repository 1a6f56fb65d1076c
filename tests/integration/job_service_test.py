"""Many jobs on one service: who goes first, who is preempted, and that a
preempted job ends as one that never was."""

import os
import signal

import harness

# Some seconds of work in 16,000 batches, without checkpoints of its own.
JOB = {'training.batches_per_step': 2, 'training.epochs': 1600,
       'training.checkpoint_every': 0, 'training.evaluate_every': 200}
TINY = {'training.epochs': 1, 'training.evaluate_every': 0}


class JobServiceTest(harness.ServiceTest):

    undisturbed = JOB

    def setUp(self):
        super().setUp()
        self.service.fgnn('up')

    def submit_whole(self, *words):
        return self.service.submit_run('run', JOB, *words)

    def show(self, job):
        return self.service.json('show', job)

    def test_a_job_that_gave_way_and_was_paused_ends_the_same(self):
        run_dir, low = self.submit_whole('--name', 'Long One')
        self.service.wait_for_batches(run_dir, 500)
        high = self.service.submit(TINY, '--priority', '1')
        self.service.fgnn('watch', high)
        self.assertEqual(self.show(high)['state'], 'completed')
        self.assertEqual(self.show(low)['preemptions'], 1)
        self.service.wait_for_batches(run_dir, 2000)
        paused = self.service.json('pause', low)
        self.assertEqual(paused['state'], 'paused')
        self.assertLess(paused['progress']['batches_committed'], 16000)
        self.assertEqual(self.service.segments(), [])
        listed = self.service.json('jobs', '--state', 'paused', '--search',
                                   'long one', '--user', paused['user'])
        self.assertEqual([job['job_id'] for job in listed['jobs']], [low])
        # It stays paused over a kill, and nobody preempts it meanwhile.
        self.service.kill_scheduler()
        self.service.fgnn('up')
        self.assertEqual(self.show(low)['state'], 'paused')
        self.service.fgnn('resume', low)
        self.assertEqual(self.show(low)['state'], 'completed')
        self.assert_same_run(run_dir, self.expected)

    def test_a_failed_start_is_made_again_from_the_checkpoint(self):
        run_dir, job = self.service.submit_run(
            'run', {**JOB, 'limits.restarts': 0}, '--retries', '1')
        self.service.wait_for_batches(run_dir, 500)
        executors = self.show(job)['progress']['executors']
        os.kill(next(e['pid'] for e in executors if e['role'] == 'sampler'),
                signal.SIGKILL)
        self.service.fgnn('watch', job)
        shown = self.show(job)
        self.assertEqual((shown['state'], shown['attempts']), ('completed', 1))
        self.assert_same_run(run_dir, self.expected)

    def test_jobs_run_after_those_that_they_name(self):
        first = self.service.submit(harness.ENDLESS)
        second = self.service.submit(TINY, '--after', first)
        third = self.service.submit(TINY, '--after', f'{second},{first}')
        self.assertEqual(self.show(second)['waiting_for'],
                         f'waits for job {first}')
        self.assertIn(f'waits for job {first}',
                      self.service.fgnn('jobs').stdout)
        self.service.fgnn('cancel', first)
        for job in (second, third):
            watch = self.service.fgnn('watch', job, check=False)
            self.assertNotEqual(watch.returncode, 0)
            self.assertIn(f'job {first}, which it was to run after, was '
                          'cancelled', watch.stderr)
        unknown = self.service.fgnn(
            'submit', *self.service.job_words(TINY), '--after', 'nowhere',
            check=False)
        self.assert_user_error(unknown, "'nowhere'")

    def test_a_time_limit_keeps_the_checkpoint(self):
        job = self.service.submit(harness.ENDLESS, '--time-limit', '1s',
                                  '--retries', '3')
        watch = self.service.fgnn('watch', job, check=False)
        self.assertEqual(watch.returncode, 1)
        self.assertIn('time limit of 1 s', watch.stderr)
        shown = self.show(job)
        self.assertEqual((shown['state'], shown['attempts']), ('failed', 0))
        self.assertGreaterEqual(shown['run_seconds'], 1)
        words = self.service.fgnn('submit', *self.service.job_words(TINY),
                                  '--time-limit', '2 weeks', check=False)
        self.assert_user_error(words, '--time-limit')
