"""A device whose daemons keep dying is lost; its job goes on without it, and ends
in the same weights."""

import os
import signal

import harness

RESTARTS = 1
JOB = {'devices': '[cpu:0, cpu:1]', 'training.batches_per_step': 2,
       'training.epochs': 800, 'training.evaluate_every': 200,
       'training.checkpoint_every': 0, 'training.checkpoint_steps': 500,
       'limits.restarts': RESTARTS, 'samplers': 1}
DEVICES = ('--devices', 'cpu:0', 'cpu:1')
WAYS = {
    'factored': {},
    'without switching': {'switching': 'false'},
    'time sharing': {'executors': 'time_sharing', 'samplers': 'auto'},
}


class LossTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        self.service.fgnn('up', *DEVICES)
        self.run_dir = self.service.folder / 'lossy'

    def submit(self, settings):
        return self.service.submit({**JOB, **settings}, run_dir=self.run_dir)

    def plans(self):
        return {device['name']: device.get('plan', '') for device in
                self.service.json('devices')['devices']}

    def done_on(self, name):
        """Batches, since the scheduler has the job."""
        return sum(device.get('sampled', 0) + device.get('trained', 0)
                   for device in self.service.json('devices')['devices']
                   if device['name'] == name)

    def device_of(self, role):
        """The first that is planned to do that."""
        return next(device for device, plan in self.plans().items()
                    if plan in (role, 'time_sharing'))

    def pid_of(self, job, role, device):
        """0: none runs."""
        progress = self.service.json('show', job)['progress']
        return sum(executor.get('pid', 0)
                   for executor in progress.get('executors', [])
                   if (executor['role'], executor['device']) == (role, device))

    def kill_for_good(self, job, role, device):
        """Kills a daemon more often than it is started again."""
        pid = 0
        for _ in range(RESTARTS + 1):
            self.service.follow(
                job, lambda p: p.get('batches_committed', 0) > 0 and
                self.pid_of(job, role, device) not in (0, pid))
            pid = self.pid_of(job, role, device)
            os.kill(pid, signal.SIGKILL)

    def lose(self, job, role, device):
        self.kill_for_good(job, role, device)
        self.service.follow(job, lambda p: self.plans()[device] == 'lost')
        self.assertEqual(self.pid_of(job, role, device), 0)
        shown = self.service.json('show', job)['progress']['executors']
        self.assertEqual({executor['device'] for executor in shown
                          if executor['state'] == 'lost'}, {device})

    def assert_as_undisturbed(self, job, settings, restarts=RESTARTS):
        self.service.fgnn('watch', job)
        summary = harness.summary_of(self.run_dir)
        self.assertEqual(summary['state'], 'completed')
        self.assertEqual(summary['restarts'], restarts)
        self.assertEqual(summary['batches_committed'],
                         summary['batches_expected'])
        expected = self.service.run(
            {**JOB, **settings, 'executors': 'together', 'samplers': 'auto',
             'switching': 'true'}, '--digest')
        self.assert_same_run(self.run_dir, expected)

    def last_plans(self):
        return {device['device']: device['plan']
                for device in harness.lines_of(self.run_dir)[-1]['devices']}

    def test_the_others_do_what_is_left(self):
        for what, way in WAYS.items():
            for role in ('sampler', 'trainer'):
                with self.subTest(what=what, role=role):
                    self.run_dir = self.service.folder / f'{what} {role}'
                    self.lose_and_end(way, role)
        self.end_service()

    def lose_and_end(self, way, role):
        job = self.submit(way)
        self.service.wait_until_it_trains(job)
        device = self.device_of(role)
        self.lose(job, role, device)
        self.assert_as_undisturbed(job, way)
        plans = self.last_plans()
        self.assertEqual(plans.pop(device), 'lost')
        self.assertNotIn('lost', plans.values())
        said = [line for line in self.service.fgnn('logs', job).stdout
                .splitlines() if f'{device} is lost' in line]
        self.assertEqual(len(said), 1, said)
        self.assertIn(f'{role}.', said[0])
        self.assertIn("'fgnn switch", said[0])

    def test_it_stays_lost_until_it_is_brought_back(self):
        job = self.submit({'training.epochs': 2000})
        self.service.wait_until_it_trains(job)
        self.lose(job, 'trainer', 'cpu:0')
        self.service.kill_scheduler()
        self.service.fgnn('up', *DEVICES)
        before = self.service.wait_until_it_trains(job)
        self.service.follow(job, lambda p: p.get('batches_committed', 0) >
                            before['batches_committed'] + 200)
        self.assertEqual(self.plans()['cpu:0'], 'lost')
        self.assertEqual(self.pid_of(job, 'trainer', 'cpu:0'), 0)

        done = self.done_on('cpu:0')
        answer = self.service.json('switch', 'cpu:0', 'trainer')
        self.assertEqual(answer['plan'], 'trainer')
        self.service.follow(job, lambda p: self.done_on('cpu:0') > done)
        self.assertNotIn('lost', self.plans().values())
        # Of the scheduler that is there now: nobody has died since.
        self.assert_as_undisturbed(job, {'training.epochs': 2000}, restarts=0)
        self.end_service()

    def test_the_last_device_takes_the_job_with_it(self):
        job = self.submit(harness.ENDLESS)
        self.lose(job, 'sampler', 'cpu:1')
        self.kill_for_good(job, 'trainer', 'cpu:0')
        watch = self.service.fgnn('watch', job, check=False)
        self.assertEqual(watch.returncode, 1, watch.stderr)
        self.assertIn('died 2 times in 10 minutes', watch.stderr)
        self.end_service()
