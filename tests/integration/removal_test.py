"""Runs that have ended are deleted by fgnn rm and fgnn prune, and no others."""

import json
import pathlib
import sqlite3

import harness


class RemovalTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        self.outside = self.service.folder / 'outside'
        self.outside.mkdir()
        (self.outside / 'kept').write_text('kept')

    def run_job(self, *words):
        """Runs a job to its end; its id and folder."""
        out = self.service.fgnn('run', *self.service.job_words(), '--json',
                                *words).stdout
        summary = json.loads(out.splitlines()[-1])
        run_dir = pathlib.Path(summary['run_dir'])
        return summary['job_id'], run_dir

    def jobs(self):
        return {job['job_id'] for job in self.service.json('jobs')['jobs']}

    def assert_refused(self, words, *parts, code=2):
        answer = self.service.fgnn(*words, check=False)
        self.assertEqual(answer.returncode, code, answer.stderr)
        for part in parts:
            self.assertIn(part, answer.stderr)

    def assert_gone(self, job, run_dir):
        self.assertFalse(run_dir.exists())
        self.assertNotIn(job, self.jobs())
        self.assertEqual((self.outside / 'kept').read_text(), 'kept')

    def test_jobs_are_deleted_with_a_service_and_without(self):
        first, first_dir = self.run_job('--name', 'First')
        second, second_dir = self.run_job(
            '--run-dir', str(self.service.folder / 'own'))
        third, third_dir = self.run_job()
        # A word that names nothing is seen before anything is deleted.
        self.assert_refused(['rm', 'First', 'nosuchjob'], 'nosuchjob')
        self.assertEqual(self.jobs(), {first, second, third})
        deleted = self.service.json('rm', 'First')
        self.assertEqual(deleted, {'dry_run': False, 'deleted': [
            {'job_id': first, 'run_dir': str(first_dir),
             'folder_deleted': True, 'left': ''}]})
        self.assert_gone(first, first_dir)
        self.service.fgnn('up')
        self.service.fgnn('rm', second, third[4:])
        self.assert_gone(second, second_dir)
        self.assert_gone(third, third_dir)
        self.assert_refused(['rm', second], second)

    def test_what_no_run_makes_stays_and_is_said(self):
        job, run_dir = self.run_job('--digest', '--trace')
        (run_dir / 'link').symlink_to(self.outside)
        (run_dir / 'plot.svg').write_text('mine')
        said = self.service.fgnn('rm', job).stdout
        self.assertIn(f'job {job} deleted; {run_dir} stays: it holds ', said)
        self.assertEqual({path.name for path in run_dir.iterdir()},
                         {'link', 'plot.svg'})
        self.assertNotIn(job, self.jobs())
        self.assertEqual((self.outside / 'kept').read_text(), 'kept')

    def test_a_job_that_has_not_ended_stays(self):
        self.service.fgnn('up')
        job = self.service.submit(harness.ENDLESS)
        self.service.wait_until_it_trains(job)
        self.assert_refused(['rm', job], job, f'fgnn cancel {job}',
                            code=1)
        self.service.fgnn('pause', job)
        self.assert_refused(['rm', job], job, f'fgnn cancel {job}',
                            code=1)
        self.service.fgnn('down')
        self.assert_refused(['rm', job], job, f'fgnn cancel {job}',
                            code=1)
        self.assertEqual(self.service.json('show', job)['state'], 'paused')
        self.assertTrue((self.service.state_dir / 'runs' / job).exists())

    def test_a_run_belongs_to_the_job_that_went_on_with_it(self):
        first, run_dir = self.run_job()
        self.service.fgnn('resume', first, '--set', 'training.epochs=3')
        second = self.service.json('show', 'last')['job_id']
        deleted = self.service.json('rm', first)['deleted']
        self.assertFalse(deleted[0]['folder_deleted'])
        self.assertTrue((run_dir / 'summary.json').exists())
        self.service.fgnn('rm', second)
        self.assert_gone(second, run_dir)

    def age(self, job, days):
        store = sqlite3.connect(self.service.state_dir / 'jobs.sqlite')
        with store:
            store.execute('UPDATE jobs SET finished_ms = finished_ms - ? '
                          'WHERE id = ?', (days * 86_400_000, job))
        store.close()

    def test_old_jobs_are_pruned(self):
        old, old_dir = self.run_job()
        older, older_dir = self.run_job()
        new, new_dir = self.run_job()
        self.age(old, 31)
        self.age(older, 400)
        planned = self.service.json('prune', '--older', '30d', '--dry-run')
        self.assertEqual({job['job_id'] for job in planned['deleted']},
                         {old, older})
        self.assertEqual(self.jobs(), {old, older, new})
        self.assertTrue(old_dir.exists())
        self.service.fgnn('prune', '--older', '399d')
        self.assert_gone(older, older_dir)
        self.service.fgnn('up')
        self.assertEqual(self.service.json(
            'prune', '--older', '30d', '--user', 'nobody')['deleted'], [])
        self.service.fgnn('prune', '--older', '30d')
        self.assert_gone(old, old_dir)
        self.assertEqual(self.jobs(), {new})
        self.assertTrue(new_dir.exists())
        self.assert_refused(['prune', '--older', 'yesterday'], 'yesterday')
