"""What a service has done is there when it is gone: its jobs and its logs."""

import json
import os
import signal

import harness


class HistoryTest(harness.ServiceTest):

    def run_job(self, *words):
        """Runs a job in a service that ends with it; the job's id."""
        out = self.service.fgnn('run', *self.service.job_words(), '--json',
                                *words).stdout
        return json.loads(out.splitlines()[-1])['job_id']

    def folder_now(self):
        """What the state folder holds, and when it was written."""
        found = {}
        for path in self.service.state_dir.rglob('*'):
            status = path.stat()
            found[str(path)] = (status.st_mtime_ns, path.is_file() and
                                path.read_bytes())
        return found

    def assert_says_that_none_runs(self, answer):
        self.assertEqual(len(answer.stderr.splitlines()), 1, answer.stderr)
        self.assertIn('no service runs', answer.stderr)
        self.assertIn(str(self.service.state_dir), answer.stderr)

    def test_ended_jobs_are_shown_without_a_service(self):
        first = self.run_job('--name', 'First')
        second = self.run_job()
        before = self.folder_now()
        listed = self.service.fgnn('jobs', '--json')
        self.assert_says_that_none_runs(listed)
        self.assertEqual(
            [job['job_id'] for job in json.loads(listed.stdout)['jobs']],
            [second, first])
        named = self.service.json('jobs', '--search', 'first', '--state',
                                  'completed', '--limit', '5')
        self.assertEqual([job['job_id'] for job in named['jobs']], [first])
        shown = self.service.fgnn('show', first)
        self.assert_says_that_none_runs(shown)
        self.assertIn('completed', shown.stdout)
        self.assertIn('batch_size: 64',
                      self.service.fgnn('show', first, '--spec').stdout)
        unknown = self.service.fgnn('show', 'nosuchjob', check=False)
        self.assert_user_error(unknown, "no job 'nosuchjob'")
        self.assertEqual(self.folder_now(), before)

    def test_a_name_means_the_newest_job_with_it(self):
        """In every command, with a service and without."""
        runs = [self.run_job('--name', 'same') for _ in range(3)]

        def folder_of(job):
            return str(self.service.state_dir / 'runs' / job)

        def names(job):
            self.assertEqual(self.service.json('show', 'same')['job_id'], job)
            self.assertEqual(
                self.service.fgnn('logs', 'same').stdout,
                self.service.fgnn('logs', job).stdout)
            out = str(self.service.folder / 'plot.svg')
            self.assertEqual(
                self.service.json('plot', 'same', '--out', out)['run_dirs'],
                [folder_of(job)])
            self.assertEqual(self.service.fgnn('metrics', 'same').stdout,
                             self.service.fgnn('metrics', job).stdout)
            refused = self.service.fgnn('resume', 'same', check=False)
            self.assert_user_error(refused, folder_of(job))

        names(runs[2])
        self.service.fgnn('rm', 'same')
        names(runs[1])
        self.service.fgnn('up')
        names(runs[1])
        self.assertIn(runs[1], self.service.fgnn('watch', 'same').stdout)
        self.service.fgnn('rm', 'same')
        names(runs[0])
        endless = self.service.job_words(harness.ENDLESS)
        after = self.service.json('submit', *endless, '--after', 'same',
                                  '--name', 'same')['job_id']
        self.assertEqual(self.service.json('show', 'same')['after'],
                         [runs[0]])
        for command in ('pause', 'cancel'):
            self.assertIn(after, self.service.fgnn(command, 'same').stdout)

    def test_what_a_killed_service_had_committed_is_shown(self):
        self.service.fgnn('up')
        job = self.service.submit(harness.ENDLESS)
        self.service.wait_until_it_trains(job)
        for pid in self.service.processes():
            os.kill(pid, signal.SIGKILL)
        self.assertFalse(self.service.wait_until_gone())
        before = self.folder_now()
        self.assertEqual(self.service.json('show', job)['state'], 'running')
        self.assertEqual(self.folder_now(), before)
        self.service.fgnn('up')
        self.service.fgnn('cancel', job)
        self.assertEqual(self.service.json('show', job)['state'], 'cancelled')

    def test_without_a_service_and_without_jobs_the_way_out_is_said(self):
        for words in (['jobs'], ['show', 'x'], ['logs', 'x']):
            answer = self.service.fgnn(*words, check=False)
            self.assertEqual(answer.returncode, 1, answer.stderr)
            self.assertIn('fgnn up', answer.stderr)
        self.assertFalse(self.service.state_dir.exists())

    def test_a_job_is_named_by_id_part_name_or_as_the_last_one(self):
        first = self.run_job('--name', 'First')
        last = self.run_job()
        words = ((first, first), (first[4:], first), ('First', first),
                 ('last', last))

        def check():
            for word, job in words:
                self.assertEqual(self.service.json('show', word)['job_id'],
                                 job, word)
                self.assertIn(f'job {job}: starts',
                              self.service.fgnn('logs', word).stdout)
            several = self.service.fgnn('show', first[:3], check=False)
            self.assert_user_error(several, f'{last}, {first}')

        check()
        for word in ('First', 'last'):
            self.service.fgnn('predict', word, '--dataset',
                              str(self.service.dataset), '--out',
                              str(self.service.folder / f'{word}.csv'))
        self.service.fgnn('up')
        check()
        after = self.service.submit(harness.ENDLESS, '--name', 'More',
                                    '--after', 'First')
        self.assertEqual(self.service.json('show', 'More')['after'], [first])
        self.service.fgnn('pause', 'More')
        self.assertEqual(self.service.json('cancel', 'last')['job_id'], after)

    def test_logs_are_those_of_the_job_alone(self):
        first = self.run_job()
        self.service.fgnn('up')
        second = self.service.submit()
        self.service.fgnn('watch', second)
        logs = {job: self.service.fgnn('logs', job).stdout
                for job in (first, second)}
        self.service.fgnn('down')
        for job, other in ((first, second), (second, first)):
            self.assertIn(f'job {job}: starts', logs[job])
            self.assertIn(f'attached to job {job}', logs[job])
            self.assertNotIn(other, logs[job])
            self.assertNotIn('serves', logs[job])
            alone = self.service.fgnn('logs', job)
            self.assert_says_that_none_runs(alone)
            self.assertEqual(alone.stdout, logs[job])
        unknown = self.service.fgnn('logs', 'nosuchjob', check=False)
        self.assertEqual(unknown.returncode, 2)
        self.assertEqual(unknown.stdout, '')
        self.assertIn("no job 'nosuchjob'; 'fgnn jobs'", unknown.stderr)
        everything = self.service.fgnn('logs').stdout
        for words in ('serves', first, second):
            self.assertIn(words, everything)
