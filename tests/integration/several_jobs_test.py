"""Two jobs at once, each on a device of its own: what happens to one, or to the
scheduler of both, changes no result of either."""

import os
import signal

import harness

DEVICES = ('cpu:0', 'cpu:1')
# Long enough for both to be at work together on a busy machine.
JOB = {'training.batches_per_step': 2, 'training.epochs': 2000,
       'training.checkpoint_every': 500, 'training.evaluate_every': 500,
       'limits.restarts': 20}
BATCHES = 20_000  # The number of batches of such a job.


class SeveralJobsTest(harness.ServiceTest):

    undisturbed = JOB

    def start_both(self):
        """{job: its run folder}, both of which run; the scheduler's pid."""
        scheduler = self.service.json('up', '--devices', *DEVICES)['pid']
        jobs = {}
        for device in DEVICES:
            run_dir = self.service.folder / device.replace(':', '-')
            job = self.service.submit(JOB, run_dir=run_dir,
                                      devices=f'[{device}]')
            jobs[job] = run_dir
        for run_dir in jobs.values():
            self.service.wait_for_batches(run_dir, 200)
        for run_dir in jobs.values():
            self.assertLess(harness.committed_of(run_dir), BATCHES)
        return jobs, scheduler

    def daemons_of(self, jobs):
        """{name: pid} of each job's."""
        executors = self.service.json('status')['executors']
        return [{executor['name']: executor['pid'] for executor in executors
                 if executor.get('job_id') == job} for job in jobs]

    def end_both(self, jobs):
        for job in jobs:
            self.service.fgnn('watch', job)
        self.end_service()
        for run_dir in jobs.values():
            self.assert_same_run(run_dir, self.expected)

    def test_a_daemon_of_one_is_killed(self):
        jobs, _ = self.start_both()
        first, second = self.daemons_of(jobs)
        self.assertEqual((len(first), len(second)), (2, 2))
        self.assertFalse(set(first) & set(second))
        for name in sorted(second):
            os.kill(second[name], signal.SIGKILL)
        for job in jobs:
            self.service.fgnn('watch', job)
        for job, daemons, other in zip(jobs, (first, second), reversed(jobs)):
            log = self.service.fgnn('logs', job).stdout
            for name, pid in daemons.items():
                self.assertIn(f'{name}: attached to job {job}', log)
                self.assertEqual(f'{name} (pid {pid}) died' in log,
                                 daemons is second)
            self.assertNotIn(f'job {other}', log)
        self.end_both(jobs)
        restarts = [harness.summary_of(run_dir)['restarts']
                    for run_dir in jobs.values()]
        self.assertEqual(restarts, [0, 2])

    def test_both_outlive_their_scheduler(self):
        jobs, scheduler = self.start_both()
        os.kill(scheduler, signal.SIGKILL)
        daemons = self.service.wait_until_gone([scheduler])
        self.assertEqual(len(daemons), 4)
        scheduler = self.service.json('up', '--devices', *DEVICES)['pid']
        for job in jobs:
            self.service.fgnn('watch', job)
        # A job that has ended leaves its daemons to the service. Before that it
        # may end at any moment, and has no daemons then.
        self.assertEqual(self.service.processes(),
                         {**daemons, scheduler: 'fgnn-scheduler'})
        for job in jobs:
            self.assertIn(f'job {job}: taken over',
                          self.service.fgnn('logs', job).stdout)
        self.end_both(jobs)

    def test_a_job_grows_to_a_device_that_comes_free(self):
        self.service.fgnn('up', '--devices', *DEVICES)
        other = self.service.submit(harness.ENDLESS, devices='[cpu:1]')
        run_dir = self.service.folder / 'grows'
        job = self.service.submit(JOB, run_dir=run_dir,
                                  devices='{kind: cpu, min: 1, max: 2}')
        self.service.follow(
            job, lambda p: p.get('batches_committed', 0) > 200)
        self.assertEqual(self.service.json('show', job)['devices'], ['cpu:0'])
        self.service.fgnn('cancel', other)
        self.service.fgnn('watch', job)
        shown = self.service.json('show', job)
        self.assertEqual((shown['state'], shown['devices'],
                          shown.get('preemptions', 0)),
                         ('completed', list(DEVICES), 0))
        self.service.fgnn('down')
        self.assert_same_run(run_dir, self.expected)
