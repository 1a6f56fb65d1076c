"""What devices do, in turn or at once, by plan or by hand, changes no batch and
no weight."""

import json
import os
import signal
import time

import harness

TWO = '[cpu:0, cpu:1]'
JOB = {'devices': TWO, 'training.batches_per_step': 2,
       'training.evaluate_every': 0}
STEP_NOTE = (r'training\.batches_per_step is not set: taken as 2, .* 2 x \d+ '
             'seeds. Set the field')
WAYS = {
    'factored': {},
    'two that sample': {'samplers': 2},
    'without switching': {'samplers': 1, 'switching': 'false'},
    'time sharing': {'executors': 'time_sharing'},
    'one device with a short queue': {
        'devices': '[cpu:0]', 'executors': 'factored', 'queue.slots': 4},
    'one device with an epoch in its queue': {
        'devices': '[cpu:0]', 'executors': 'factored'},
}


class ExecutorsTest(harness.ServiceTest):

    def assert_same_run(self, run_dir, expected, what):
        self.assert_same_digests(run_dir, expected, what)
        self.assert_same_weights(run_dir, expected, what)

    def assert_one_at_a_time(self, run_dir):
        """On a device either its sampler works or its trainer."""
        events = json.loads((run_dir / 'trace.json').read_text())
        names = {event['tid']: event['args']['name'] for event in events
                 if event['name'] == 'thread_name'}
        work = {}
        for event in events:
            if event['ph'] != 'X':
                continue
            role, device = names[event['tid']].split('.')
            self.assertEqual(event['cat'] == 'train', role == 'trainer')
            work.setdefault(device, []).append(
                (event['ts'], event['ts'] + event['dur']))
        batches = sum(len(spans) for spans in work.values())
        self.assertEqual(batches, 2 * len(
            harness.digests_of(run_dir)))
        for spans in work.values():
            spans.sort()
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                # Durations have the seven digits of a float.
                self.assertLessEqual(end, begin + 1)

    def test_devices_by_number_are_as_good_as_by_name(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        expected = self.service.run(JOB, '--digest')
        by_number = {**JOB, 'devices': '{kind: cpu, min: 2}'}
        plan = self.service.fgnn('plan', *self.service.job_words(by_number))
        self.assertIn('planned for 2 devices, cpu:0 cpu:1', plan.stdout)
        run_dir = self.service.run(by_number, '--digest')
        self.assert_same_run(run_dir, expected, 'by number')
        self.assertIn('devices:\n  min: 2\n  max: 2\n  kind: cpu\n',
                      (run_dir / 'job.yaml').read_text())
        listed = self.service.json('jobs')['jobs']
        self.assertEqual([job['devices'] for job in listed],
                         [['cpu:0', 'cpu:1']] * 2)
        # What it may have decides what it computes, not what it is given.
        without_step = self.service.job_words(
            by_number, devices='{max: 2}', **{
                'training.epochs': 1, 'training.batches_per_step': 0})
        submitted = self.service.json('submit', *without_step)
        job = submitted['job_id']
        self.assertRegex(' '.join(submitted['notes']), STEP_NOTE)
        self.service.fgnn('watch', job)
        shown = self.service.json('show', job)
        self.assertEqual(shown['spec']['training']['batches_per_step'], 2)
        self.assertEqual(shown['devices'], ['cpu:0', 'cpu:1'])
        for command in ('submit', 'run', 'plan'):
            said = self.service.fgnn(command, *without_step).stderr
            self.assertRegex(said, 'note: ' + STEP_NOTE, command)
            fixed = self.service.job_words(by_number)
            self.assertNotIn('note', self.service.fgnn(command, *fixed).stderr)
        refused = self.service.fgnn(
            'submit', *self.service.job_words(JOB, devices='3'), check=False)
        self.assert_user_error(
            refused, 'needs 3 devices, the service has 2: cpu:0 cpu:1; ask '
            'for fewer or start it with --devices')

    def test_every_way_is_the_same_run(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        expected = self.service.run({**JOB, 'executors': 'together'},
                                    '--digest')
        self.assertNotIn('devices', harness.lines_of(expected)[0])
        for what, way in WAYS.items():
            run_dir = self.service.run({**JOB, **way}, '--digest', '--trace')
            self.assert_same_run(run_dir, expected, what)
            self.assert_one_at_a_time(run_dir)
            if what.startswith('one device'):  # It wakes to train.
                self.assertGreater(
                    max(epoch['devices'][0]['wake_ms']
                        for epoch in harness.lines_of(run_dir)), 0, what)
            for epoch in harness.lines_of(run_dir):
                devices = epoch['devices']
                for done in ('sampled', 'trained'):
                    self.assertEqual(sum(d[done] for d in devices), 10,
                                     (what, done, epoch))
                plans = [device['plan'] for device in devices]
                if 'samplers' in way:
                    self.assertEqual(plans.count('sampler'), way['samplers'])
                    self.assertEqual(epoch['samplers'], way['samplers'])
                if what == 'time sharing':
                    self.assertEqual(plans, ['time_sharing'] * 2)
                elif way.get('switching') == 'false':
                    self.assertEqual(
                        [(d['sampled'], d['trained']) for d in
                         sorted(devices, key=lambda d: d['plan'])],
                        [(10, 0), (0, 10)], epoch)
                    self.assertEqual(epoch['switches'], 0)
        # What was measured is there for the next run of the same job.
        self.assertTrue(list(
            (self.service.dataset / 'derived').glob('times-*.json')))
        words = self.service.job_words(JOB)
        plan = self.service.json('plan', *words)['allocation']
        self.assertEqual(plan['times_of'], 'last run')
        last = harness.lines_of(self.service.run(JOB))[-1]['devices']
        # It starts from them, and ends with others.
        self.assertNotEqual(
            [device['sample_ms'] for device in plan['devices']],
            [device['sample_ms'] for device in last])
        again = self.service.json('plan', *words)['allocation']
        for planned, device in zip(again['devices'], last):
            for name in ('sample_ms', 'train_ms', 'standby_ms'):
                self.assertAlmostEqual(planned[name], device[name], 6)
        self.assertIn('last run', self.service.fgnn('plan', *words).stdout)
        other = self.service.json('plan', *words, '--set',
                                  'sampling.batch_size=32')['allocation']
        self.assertEqual(other['times_of'], 'profile')
        self.assertGreater(other['devices'][1]['sample_ms'], 0)

    def test_kills_and_hands_change_no_weight(self):
        settings = {**JOB, 'training.epochs': 600, 'limits.restarts': 20,
                    'training.checkpoint_every': 0,
                    'training.checkpoint_steps': 150, 'samplers': 1}
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        run_dir, job = self.service.submit_run('disturbed', settings)
        # From the second checkpoint or a later one it goes on.
        self.service.wait_for_batches(run_dir, 700)
        self.service.kill_all()
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        # The file has batches of before, and a device to be switched a job.
        self.service.wait_until_it_trains(job)
        goal = 0
        for program, device, role in (
                ('fgnn-sampler', 'cpu:0', 'sampler'),
                ('fgnn-trainer', 'cpu:1', 'sampler'),
                (None, 'cpu:0', 'trainer'), ('fgnn-sampler', 'cpu:0', 'auto'),
                ('fgnn-trainer', 'cpu:1', 'auto')):
            self.service.wait_for_batches(run_dir, goal)
            goal = harness.committed_of(run_dir) + 200
            answer = self.service.json('switch', device, role)
            self.assertEqual(answer['job_id'], job)
            self.assertEqual(answer['by_hand'], role != 'auto')
            if program is not None:
                victim = min(pid for pid, name in
                             self.service.processes().items()
                             if name == program)
                os.kill(victim, signal.SIGKILL)
        self.service.fgnn('watch', job)
        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['batches_committed'], 6000)
        self.assertEqual(summary['restarts'], 4)
        expected = self.service.run(
            {**settings, 'executors': 'together'}, '--digest')
        self.assert_same_run(run_dir, expected, 'disturbed')
        self.end_service()

    def test_what_a_hand_did_outlives_the_scheduler(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        job = self.service.submit({**JOB, **harness.ENDLESS, 'samplers': 1})
        self.service.wait_until_it_trains(job)
        for device in ('cpu:0', 'cpu:1'):
            self.service.fgnn('switch', device, 'sampler')
        self.service.kill_scheduler()
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        goal = self.service.wait_until_it_trains(job)
        self.service.follow(job, lambda p: p.get('batches_committed', 0) >
                            goal['batches_committed'] + 100)
        devices = self.service.json('devices')['devices']
        self.assertEqual([(d['plan'], d['by_hand']) for d in devices],
                         [('sampler', True)] * 2)
        for device in ('cpu:0', 'cpu:1'):
            self.service.fgnn('switch', device, 'auto')
        devices = self.service.json('devices')['devices']
        self.assertEqual(sorted(d['plan'] for d in devices),
                         ['sampler', 'trainer'])
        self.end_service()

    def test_says_who_does_what_and_refuses_wrong_uses(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:1')
        idle = self.service.json('devices')['devices']
        self.assertEqual([(d['name'], d['cores'], d.get('job_id', ''))
                          for d in idle],
                         [('cpu:0', [0], ''), ('cpu:1', [1], '')])
        self.refused(['switch', 'cpu:0', 'trainer'], 'no job runs')
        job = self.service.submit({**JOB, **harness.ENDLESS, 'samplers': 1})
        self.service.follow(job, lambda p: p.get('batches_committed', 0) > 100)
        devices = self.service.json('devices')['devices']
        self.assertEqual(sorted(d['plan'] for d in devices),
                         ['sampler', 'trainer'])
        # The planner may have had them change roles: the one that samples now
        # need not have done so yet.
        sampler, = [d for d in devices if d['plan'] == 'sampler']
        self.assertGreater(sampler['sample_ms'], 0)
        for done in ('sampled', 'trained'):
            self.assertGreater(sum(d[done] for d in devices), 100)
        self.assertIn('cpu:1', self.service.fgnn('devices').stdout)
        states = {e['state'] for e in
                  self.service.json('status')['executors']}
        self.assertLessEqual(states, {'working', 'standby'})
        # By hand, since the plan may change at each epoch's end.
        for device, role in (('cpu:0', 'sampler'), ('cpu:1', 'sampler'),
                             ('cpu:0', 'trainer')):
            self.service.fgnn('switch', device, role)
        self.refused(['switch', 'cpu:1', 'trainer'],
                     'last device that samples')
        self.refused(['switch', 'cpu:9', 'trainer'], "'cpu:9'", 'cpu:0, cpu:1')
        self.refused(['switch', 'cpu:0', 'trainer', '--job', 'nothing'],
                     'nothing')
        self.refused(['switch', 'cpu:0', 'painter'], 'painter', code=2)
        self.refused(['switch', 'cpu:0'], 'ROLE', code=2)
        self.service.fgnn('cancel', job)
        self.refused(['switch', 'cpu:0', 'trainer', '--job', job],
                     'does not run')
        job = self.service.submit(
            {**JOB, **harness.ENDLESS, 'executors': 'together'})
        self.service.follow(job, lambda p: p.get('epochs_done', 0) > 0)
        self.refused(['switch', 'cpu:0', 'trainer'], 'together')
        devices = self.service.json('devices')['devices']
        self.assertEqual({d['plan'] for d in devices}, {'together'})
        # Daemons say now and then how many batches they have done.
        deadline = time.monotonic() + harness.COMMAND_SECONDS
        while not all(sum(d[what] for d in devices) for what in (
                'sample_ms', 'train_ms', 'sampled', 'trained')):
            self.assertLess(time.monotonic(), deadline, devices)
            devices = self.service.json('devices')['devices']
        self.end_service()

    def refused(self, words, *said, code=None):
        answer = self.service.fgnn(*words, check=False)
        self.assertIn(answer.returncode, (1, 2) if code is None else (code,),
                      answer.stderr)
        for word in said:
            self.assertIn(word, answer.stderr)
