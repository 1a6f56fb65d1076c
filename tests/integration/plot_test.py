"""How jobs went: `fgnn plot`, `fgnn metrics`, and what the followers show."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import harness

SVG = '{http://www.w3.org/2000/svg}'


class PlotTest(harness.ServiceTest):

    def run_job(self, *words):
        """Runs a job of two epochs; its lines, and the folder of its run."""
        out = self.service.fgnn('run', *self.service.job_words(), *words).stdout
        return out.splitlines(), self.service.json('show', 'last')['run_dir']

    def test_runs_are_drawn_side_by_side_by_their_names(self):
        _, first = self.run_job('--name', 'First <one>')
        self.run_job('--name', 'second')
        out = self.service.folder / 'plot.svg'
        answer = self.service.json('plot', first, 'last', '--out', str(out))
        self.assertEqual(answer['file'], str(out))
        self.assertEqual(answer['run_dirs'][0], first)
        named = self.service.fgnn('plot', 'First <one>', 'second', '--out',
                                  str(out)).stdout
        self.assertEqual(named, f'{out}\n')
        root = ElementTree.parse(out).getroot()
        texts = [text.text for text in root.iter(SVG + 'text')]
        for name in ('First <one>', 'second'):
            self.assertIn(name, texts)
        for title in ('Loss in training', 'Validation accuracy',
                      'Where the time goes', 'epoch'):
            self.assertIn(title, texts)
        self.assertEqual(len(list(root.iter(SVG + 'polyline'))), 4)

    def test_metrics_are_csv_with_the_learning_rate(self):
        _, run_dir = self.run_job('--set', 'training.schedule=cosine')
        rows = list(csv.DictReader(io.StringIO(
            self.service.fgnn('metrics', 'last').stdout)))
        lines = [json.loads(line) for line in
                 open(f'{run_dir}/metrics.jsonl', encoding='utf-8')]
        self.assertEqual([row['epoch'] for row in rows], ['1', '2'])
        for row, line in zip(rows, lines):
            self.assertEqual(float(row['loss']), line['loss'])
            self.assertEqual(float(row['stages.train']),
                             line['stages']['train'])
        self.assertGreater(float(rows[0]['learning_rate']),
                           float(rows[1]['learning_rate']))

    def test_a_run_that_has_ended_is_shown(self):
        self.service.fgnn('up')
        self.run_job()
        table = self.service.fgnn('metrics', 'last').stdout.splitlines()
        self.assertEqual([row.split(',')[0] for row in table],
                         ['epoch', '1', '2'])
        lines = self.service.fgnn('watch', 'last').stdout.splitlines()
        self.assertEqual([line.split('  ')[0] for line in lines
                          if line.startswith('epoch')],
                         ['epoch 1/2', 'epoch 2/2'])
        shown = self.service.fgnn('watch', 'last', '--json').stdout
        *epochs, summary = [
            line for line in map(json.loads, shown.splitlines())
            if line['type'] != 'progress']
        self.assertEqual([epoch['epoch'] for epoch in epochs], [1, 2])
        self.assertIn(summary['best_epoch'], (1, 2))

    def test_followers_tell_the_best_epoch_and_are_quiet_if_asked(self):
        lines, _ = self.run_job()
        epochs = [line for line in lines if line.startswith('epoch ')]
        self.assertEqual(len(epochs), 2)
        self.assertRegex(epochs[1], r' best [0-9.]+ % in epoch [12]  rate 0.003$')
        quiet, _ = self.run_job('--quiet')
        self.assertRegex(quiet[0], '^job .* completed in ')
        alone, _ = self.run_job('--quiet', '--json')
        self.assertEqual([json.loads(line)['type'] for line in alone],
                         ['summary'])

    def test_what_cannot_be_drawn_is_refused(self):
        out = self.service.folder / 'plot.svg'
        folder = self.service.folder / 'empty'
        folder.mkdir()
        (folder / 'job.yaml').touch()  # A run that has not begun.
        for words, reason in (
                (('plot', 'nobody', '--out', str(out)), "'nobody'"),
                (('plot', str(folder), '--out', str(out)), 'no finished epoch'),
                (('metrics', str(folder)), 'no finished epoch'),
                (('plot',), 'JOB')):
            answer = self.service.fgnn(*words, check=False)
            self.assertNotEqual(answer.returncode, 0)
            self.assertIn(reason, answer.stderr)
            self.assertFalse(out.exists())
