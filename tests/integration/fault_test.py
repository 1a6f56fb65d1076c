"""A daemon that is killed costs a batch, and changes no result."""

import os
import signal

import harness

# Seconds of work in small batches, so that each kill meets another moment.
JOB = {'training.batches_per_step': 2, 'training.epochs': 4000,
       'training.checkpoint_every': 0, 'training.evaluate_every': 0,
       'samplers': 2, 'trainers': 2, 'limits.restarts': 20}
KILLS = ('fgnn-sampler', 'fgnn-trainer') * 3


class KillTest(harness.ServiceTest):

    def run_with_kills(self):
        run_dir = self.service.folder / 'killed'
        self.service.fgnn('up')
        # With a cache, which those that come back have to fill and mark for.
        job = self.service.submit(JOB, run_dir=run_dir,
                                  **{'cache.capacity': 0.2})
        self.service.kill_in_turn(run_dir, KILLS, 1000)
        self.service.fgnn('watch', job)
        self.end_service()
        return run_dir

    def test_killed_daemons_change_no_weight(self):
        run_dir = self.run_with_kills()
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['state'], 'completed')
        self.assertEqual(summary['batches_committed'],
                         summary['batches_expected'])
        self.assertEqual(summary['restarts'], len(KILLS))
        self.assertGreater(harness.lines_of(run_dir)[-1]['cache_hit_rate'], 0.2)
        self.assert_same_weights(run_dir, self.service.run(JOB))


class EndTest(harness.ServiceTest):

    # An epoch is one batch of few vertices, and an evaluation of all, so that
    # a trainer evaluates nearly all the time.
    graph = ('--nodes', '20000', '--train-fraction', '0.005')

    def test_a_trainer_that_is_told_to_end_costs_no_evaluation(self):
        """As a batch system tells all processes of a job at once."""
        job = {'training.epochs': 40, 'training.evaluate_every': 1,
               'training.checkpoint_every': 0, 'limits.restarts': 20,
               'model.hidden': 512, 'sampling.batch_size': 600,
               'sampling.fanouts': '[1, 1]'}
        self.service.fgnn('up')
        run_dir, job_id = self.service.submit_run('told', job)
        told, log = [], self.service.state_dir / 'logs/scheduler.log'
        # Trainers are told until one was in an evaluation.
        while len(told) < 18 and 'is being detached' not in log.read_text():
            self.service.wait_for(
                lambda: any(name == 'fgnn-trainer' and pid not in told for
                            pid, name in self.service.processes().items()),
                'a new trainer')
            count = harness.committed_of(run_dir)
            self.service.wait_for_batches(run_dir, count)
            told += [pid for pid, name in self.service.processes().items()
                     if name == 'fgnn-trainer' and pid not in told]
            os.kill(told[-1], signal.SIGTERM)
        self.service.fgnn('watch', job_id)
        self.assertRegex(log.read_text(),
                         'lost on the way: .* is being detached')
        self.assert_same_run(run_dir, self.service.run(job, '--digest'))


    def test_clients_see_how_far_an_evaluation_is(self):
        self.service.fgnn('up')
        job = self.service.submit(
            {**harness.ENDLESS, 'training.evaluate_every': 1,
             'model.hidden': 2048, 'sampling.batch_size': 600})
        # An evaluation takes longer than the time between two heartbeats.
        told = self.service.follow(job, lambda p: 'evaluated' in p)
        self.assertRegex(told['phase'], r'^evaluating epoch \d+$')
        self.assertTrue(0 <= told['evaluated'] <= 1, told)


class CheckpointTest(harness.ServiceTest):

    def test_a_checkpoint_that_fails_is_told_by_run(self):
        run_dir = self.service.folder / 'results'
        run = self.service.start(
            'run', *self.service.job_words(
                harness.ENDLESS, **{'training.checkpoint_every': 1}),
            '--run-dir', str(run_dir), '--digest', '--quiet')
        self.service.wait_for_batches(run_dir, 20)
        (run_dir / 'checkpoints').rename(run_dir / 'gone')
        stdout, stderr = run.communicate(timeout=harness.COMMAND_SECONDS)
        self.assertEqual(run.returncode, 1, stderr)
        told = [line for line in stdout.decode().splitlines()
                if line.startswith('warning: checkpoint epoch-')]
        self.assertEqual(len(told), 1, stdout + stderr)
        self.assertIn(f'make the folder {run_dir}/checkpoints again', told[0])
        # The way out, then on from where it was.
        (run_dir / 'gone').rename(run_dir / 'checkpoints')
        epochs = len(harness.lines_of(run_dir)) + 3
        self.service.fgnn('resume', str(run_dir), '--set',
                          f'training.epochs={epochs}')
        self.assertEqual(len(harness.lines_of(run_dir)), epochs)


class RestartBudgetTest(harness.ServiceTest):

    def test_a_job_whose_daemons_keep_dying_fails_and_says_so(self):
        self.service.fgnn('up')
        words = self.service.job_words(harness.ENDLESS, **{
            'limits.restarts': 0})
        job = self.service.json('submit', *words)['job_id']
        self.service.wait_until_it_trains(job)
        executors = self.service.json('show', job)['progress']['executors']
        os.kill(executors[0]['pid'], signal.SIGKILL)
        watch = self.service.fgnn('watch', job, check=False)
        self.assertEqual(watch.returncode, 1, watch.stderr)
        self.assertIn(executors[0]['name'], watch.stderr)
        self.end_service()
