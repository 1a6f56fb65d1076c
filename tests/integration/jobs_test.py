"""A job from its file to its results."""

import csv
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import harness
from npy_array import Array, values


class RunTest(harness.ServiceTest):

    def test_run_starts_a_service_for_the_job_and_leaves_its_results(self):
        run_dir = self.service.folder / 'results'
        run = self.service.fgnn(
            'run', *self.service.job_words({'training.epochs': 3}),
            '--run-dir', str(run_dir), '--digest')
        self.assert_nothing_left()

        summary = harness.summary_of(run_dir)
        self.assertEqual(summary['state'], 'completed')
        self.assertEqual(summary['epochs'], 3)
        self.assertEqual(summary['batches_committed'],
                         summary['batches_expected'])
        self.assertEqual(summary['restarts'], 0)
        # Labels can be learnt; a guess is right in a quarter.
        self.assertGreater(summary['test_accuracy'], 0.5)
        self.assertGreater(summary['test_macro_f1'], 0.4)
        self.assertIsNone(summary['test_roc_auc'])  # Of two classes alone.
        epochs = harness.lines_of(run_dir)
        self.assertEqual([epoch['epoch'] for epoch in epochs], [1, 2, 3])
        self.assertEqual(
            sum(epoch['batches'] for epoch in epochs),
            summary['batches_expected'])
        self.assertEqual(
            len(harness.digests_of(run_dir)),
            summary['batches_expected'])
        self.assertIn('fanouts', (run_dir / 'job.yaml').read_text())

        self.assertIn('epoch 3/3', run.stdout)
        self.assertEqual(max(epochs, key=lambda epoch: epoch[
            'valid_accuracy'])['valid_macro_f1'], summary['valid_macro_f1'])
        for stage in ('sample', 'id_map', 'extract', 'train', 'sync',
                      'evaluate'):
            self.assertRegex(run.stdout, rf'(?m)^{stage} +[0-9.]+ +[0-9.]+ %$')
        self.assertIn('test accuracy', run.stdout)
        self.assertIn('test macro-F1', run.stdout)
        self.assertIn(str(run_dir), run.stdout)

    def test_other_kinds_of_model_learn_and_predict(self):
        for model, parameter in (
                ({'model.kind': 'gcn'}, 'convs.1.lin.weight'),
                ({'model.kind': 'gin'}, 'convs.1.nn.2.weight'),
                ({'model.kind': 'gat'}, 'convs.1.att_src'),
                ({'model.aggregator': 'pool'}, 'convs.1.lin.bias'),
                ({'model.kind': 'pinsage', 'sampling.kind': 'random_walk'},
                 'convs.1.lin.weight')):
            run_dir = self.service.run({**model, 'training.epochs': 3})
            summary = harness.summary_of(run_dir)
            self.assertGreater(summary['test_accuracy'], 0.5, model)
            self.assertIn(parameter, harness.last_weights(run_dir))
            out = run_dir / 'predictions.csv'
            self.service.fgnn('predict', str(run_dir), '--dataset',
                              str(self.service.dataset), '--out', str(out))
            self.assertGreaterEqual(len(out.read_text().splitlines()), 2000)

    def test_json_lines_end_in_the_summary(self):
        run = self.service.fgnn('run', *self.service.job_words(), '--json')
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual({line['type'] for line in lines},
                         {'progress', 'epoch', 'summary'})
        self.assertEqual(lines[-1]['type'], 'summary')
        self.assertEqual(lines[-1]['state'], 'completed')
        self.assertIn('train', lines[-1]['stages'])

    def test_a_terminal_gets_a_bar_that_is_wiped(self):
        self.service.fgnn('up')
        ours, theirs = pty.openpty()
        run = subprocess.Popen(
            [harness.BIN_DIR / 'fgnn', '--state-dir', self.service.state_dir,
             'run', *self.service.job_words(harness.ENDLESS)],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        bar = re.compile(rb'\r\x1b\[Kepoch \d+/1000000 \[=*>? *\] ')
        shown = b''
        deadline = time.monotonic() + harness.COMMAND_SECONDS
        try:  # The end of a terminal's output is an error on Linux.
            while not bar.search(shown) and time.monotonic() < deadline:
                if select.select([ours], [], [], 1)[0]:
                    shown += os.read(ours, 65536)
            job = self.service.json('jobs')['jobs'][0]['job_id']
            self.service.fgnn('cancel', job)
            while chunk := os.read(ours, 65536):
                shown += chunk
        except OSError:
            pass
        _, err = run.communicate(timeout=harness.COMMAND_SECONDS)
        os.close(ours)
        self.assertEqual(run.returncode, 1, err)
        self.assertRegex(shown, bar)
        self.assertRegex(shown, rb'\r\x1b\[Kepoch 1/1000000  loss')

    def test_the_same_results_folder_is_not_used_twice(self):
        run_dir = self.service.run()
        again = self.service.fgnn('run', *self.service.job_words(),
                                  '--run-dir', str(run_dir), check=False)
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn(str(run_dir), again.stderr)
        self.assert_nothing_left()


class ProcessesTest(harness.ServiceTest):

    def submit_endless(self):
        self.service.fgnn('up')
        job = self.service.submit(harness.ENDLESS)
        self.service.wait_until_it_trains(job)
        return job

    def test_three_kinds_of_process_and_cancel_leaves_nothing_of_a_job(self):
        job = self.submit_endless()
        self.assertEqual(set(self.service.processes().values()),
                         set(harness.DAEMONS))
        executors = self.service.json('show', job)['progress']['executors']
        self.assertEqual({e['role'] for e in executors},
                         {'sampler', 'trainer'})
        self.assertLessEqual({e['pid'] for e in executors},
                             set(self.service.processes()))
        self.assertNotEqual(self.service.segments(), [])

        cancelled = self.service.json('cancel', job[:6])
        self.assertEqual(cancelled['state'], 'cancelled')
        self.assertEqual(self.service.segments(), [])
        # The service keeps a pair of daemons for its device, at work for none.
        executors = self.service.json('status')['executors']
        self.assertEqual({e['job_id'] for e in executors} - {''}, set())
        names = {os.path.basename(path).removesuffix('.sock')
                 for path in self.service.leftovers()}
        self.assertLessEqual(
            names, {'scheduler', 'daemons', 'host'} | {e['name'] for e in executors})
        self.assertEqual(self.service.json('cancel', job)['state'],
                         'cancelled', 'cancel is idempotent')
        self.end_service()

    def follow_a_run(self):
        """`fgnn run` of an endless job that has committed batches."""
        run = self.service.start('run', *self.service.job_words(
            harness.ENDLESS), '--json')
        for line in harness.lines_within(run.stdout, harness.COMMAND_SECONDS):
            progress = json.loads(line)
            if progress.get('batches_committed', 0) > 0:
                return run, progress['job_id']
        raise AssertionError(run.stderr.read().decode())

    def assert_goes_on_and_can_be_cancelled(self, job, committed):
        self.service.follow(
            job, lambda p: p.get('batches_committed', 0) > committed)
        self.service.fgnn('cancel', job)
        # It was started for this job alone.
        self.assert_nothing_left()

    def test_killing_run_does_not_end_the_job(self):
        run, job = self.follow_a_run()
        run.kill()
        run.communicate(timeout=harness.END_SECONDS)
        now = self.service.json('show', job)['progress']['batches_committed']
        self.assert_goes_on_and_can_be_cancelled(job, now + 20)

    def test_ctrl_c_leaves_the_job_and_says_how_to_go_on(self):
        run, job = self.follow_a_run()
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=harness.END_SECONDS)
        self.assertEqual(run.returncode, 130, err)
        self.assertRegex(err.decode(),
                         rf"watch {job}'.*{re.escape('cancel ' + job)}'")
        now = self.service.json('show', job)['progress']['batches_committed']
        self.assert_goes_on_and_can_be_cancelled(job, now + 20)

    def test_run_reports_a_job_that_somebody_cancels(self):
        run, job = self.follow_a_run()
        self.service.fgnn('cancel', job)
        out, err = run.communicate(timeout=harness.END_SECONDS)
        self.assertEqual(run.returncode, 1, err)
        self.assertEqual(err.decode(), f'fgnn: job {job} was cancelled\n')
        summary, error = map(json.loads, out.splitlines()[-2:])
        self.assertEqual((summary['type'], summary['state']),
                         ('summary', 'cancelled'))
        self.assertEqual((error['type'], error['code']), ('error', 'cancelled'))
        self.assert_nothing_left()


class QueueTest(harness.ServiceTest):

    def test_jobs_wait_for_each_other_and_can_be_looked_at(self):
        self.service.fgnn('up')
        words = self.service.job_words(harness.ENDLESS)
        first = self.service.fgnn('submit', *words).stdout.strip()
        second = self.service.fgnn('submit', *words).stdout.strip()
        self.service.wait_until_it_trains(first)
        self.assertEqual(self.service.json('show', second)['state'], 'queued')
        listed = [job['job_id'] for job in self.service.json('jobs')['jobs']]
        self.assertEqual(listed, [second, first], 'newest first')
        spec = self.service.fgnn('show', first, '--spec').stdout
        self.assertRegex(spec, r'batch_size: 64 +# .*vertices')
        self.assertIn('sampler.0', self.service.fgnn('logs', first).stdout)
        self.service.fgnn('cancel', first)
        self.service.wait_until_it_trains(second)

        unknown = self.service.fgnn('show', 'nosuchjob', check=False)
        self.assert_user_error(unknown, 'nosuchjob')


class PredictTest(harness.ServiceTest):

    def test_predicts_every_vertex_by_job_id_and_by_folder(self):
        self.service.fgnn('up')
        job = self.service.json('submit', *self.service.job_words(
            {'training.epochs': 3}))
        self.service.fgnn('watch', job['job_id'])
        by_id = self.service.folder / 'by_id.csv'
        by_folder = self.service.folder / 'by_folder.csv'
        for run, out in ((job['job_id'], by_id), (job['run_dir'], by_folder)):
            self.service.fgnn('predict', run, '--dataset',
                              str(self.service.dataset), '--out', str(out))
        with open(by_id, encoding='utf-8') as file:
            rows = list(csv.reader(file))
        self.assertIn(len(rows), (2000, 2001))
        self.assertEqual(by_id.read_bytes(), by_folder.read_bytes())

    def test_writes_probabilities_and_embeddings(self):
        run = self.service.run()
        found = {}
        for what in ('classes', 'probabilities', 'embeddings'):
            out = self.service.folder / f'{what}.npy'
            self.service.fgnn('predict', str(run), '--dataset',
                              str(self.service.dataset), '--what', what,
                              '--out', str(out))
            found[what] = Array(out)
            found[f'{what} values'] = values(out.read_bytes())
        self.assertEqual(found['probabilities'].header['shape'], (2000, 4))
        self.assertEqual(found['embeddings'].header['shape'], (2000, 16))
        # What ReLU leaves.
        self.assertEqual(min(found['embeddings values']), 0)
        rows = found['probabilities values']
        for v, best in enumerate(found['classes values']):
            row = rows[4 * v:4 * v + 4]
            self.assertAlmostEqual(sum(row), 1, 5)
            self.assertEqual(row.index(max(row)), best)

    def test_text_holds_classes_alone(self):
        answer = self.service.fgnn(
            'predict', str(self.service.run()), '--dataset',
            str(self.service.dataset), '--what', 'embeddings', '--out',
            'rows.csv', check=False)
        self.assert_user_error(answer, '--out rows.csv: end it in .npy')

    def test_a_run_that_is_not_there_is_named(self):
        answer = self.service.fgnn('predict', 'nothing', '--dataset', 'x',
                                   '--out', 'y', check=False)
        self.assert_user_error(answer, "'nothing'")

    def test_what_goes_wrong_is_one_plain_line(self):
        run = self.service.folder / 'run'
        run.mkdir()
        (run / 'job.yaml').touch()
        for words, name in ((['--dataset', 'x'], str(run)),
                            (['--dataset', 'x', '--checkpoint', 'gone.bin'],
                             'gone.bin')):
            answer = self.service.fgnn('predict', str(run), *words, '--out',
                                       'y.csv', check=False)
            self.assertNotEqual(answer.returncode, 0)
            self.assertRegex(answer.stderr, r'\Afgnn: [^\n]+\n\Z')
            self.assertIn(name, answer.stderr)
