"""Numbers and sets of classes, from arrays of a user to named predictions."""

import csv
import math
import random
import shutil
import statistics

import harness
from npy_array import values, write_array


def rows_of(path):
    with open(path, encoding='utf-8') as file:
        return list(csv.DictReader(file))


def standardised(column):
    mean, deviation = statistics.fmean(column), statistics.pstdev(column)
    return [(value - mean) / deviation for value in column]


def micro_f1(truth, guess):
    """Of lists of sets."""
    hits = sum(len(a & b) for a, b in zip(truth, guess))
    return 2 * hits / (sum(map(len, truth)) + sum(map(len, guess)))


class AnswersTest(harness.ServiceTest):

    graph = ('--nodes', '3000', '--features', '8', '--classes', '6',
             '--average-degree', '12', '--homophily', '0.9',
             '--feature-noise', '1', '--seed', '7')
    job = {'model.hidden': 32, 'model.dropout': 0, 'training.epochs': 12,
           'training.learning_rate': 0.01, 'sampling.fanouts': '[10, 10]'}

    def setUp(self):
        super().setUp()
        self.made = self.service.dataset
        self.arrays = self.service.folder / 'arrays'
        self.arrays.mkdir()
        for name in ('csc_indptr.npy', 'indices.npy', 'features.npy'):
            shutil.copy(self.made / name, self.arrays)

    def read(self, name):
        return values((self.made / name).read_bytes())

    def import_arrays(self, rows, *words):
        """Imports the graph with these labels, a row for each vertex."""
        write_array(self.arrays / 'labels.npy', '<f4',
                    [value for row in rows for value in row], len(rows[0]))
        self.service.dataset = self.service.folder / 'imported'
        shutil.rmtree(self.service.dataset, ignore_errors=True)
        return self.service.json(
            'dataset', 'import', 'numpy', str(self.arrays), '--out',
            str(self.service.dataset), '--train-fraction', '0.5', *words)

    def import_numbers(self):
        """A function of a vertex, and one of its neighbours."""
        x = [*zip(*[iter(self.read('features.npy'))] * 8)]
        indptr, indices = self.read('csc_indptr.npy'), self.read('indices.npy')
        own = [math.tanh(row[0]) + row[1] / 2 for row in x]
        near = []
        for begin, end in zip(indptr, indptr[1:]):
            shares = [x[u][2] for u in indices[begin:end]]
            near.append(statistics.fmean(shares) if shares else 0)
        rows = [*zip(standardised(own), standardised(near))]
        report = self.import_arrays(rows)
        self.assertEqual((report['target_columns'], report['target_type']),
                         (2, 'f32'))
        self.assertIn('node_regression', ' '.join(report['notes']))
        (self.service.dataset / 'target_names.txt').write_text('own\nnear\n')
        return rows

    def import_sets(self):
        """Each community has two of six classes."""
        rows = []
        for label in self.read('labels.npy'):
            chosen = {label, (label * 2 + 1) % 6}
            rows.append([int(c in chosen) for c in range(6)])
        report = self.import_arrays(rows)
        self.assertEqual((report['target_columns'], report['target_type']),
                         (6, 'u8'))
        self.assertIn('multi_label_classification', ' '.join(report['notes']))
        (self.service.dataset / 'target_names.txt').write_text(
            'a\nb\nc\nd\ne\nf\n')
        return [{'abcdef'[c] for c in range(6) if row[c]} for row in rows]

    def train(self, task):
        run = self.service.run({**self.job, 'training.task': task})
        return run, harness.summary_of(run)

    def predict(self, run, *words):
        out = self.service.folder / 'out.csv'
        self.service.fgnn('predict', str(run), '--dataset',
                          str(self.service.dataset), '--out', str(out),
                          '--force', *words)
        return rows_of(out)

    def test_numbers_are_learned_and_predicted_by_name(self):
        truth = self.import_numbers()
        run, summary = self.train('node_regression')
        self.assertLess(summary['test_rmse'], 0.4)
        self.assertLess(summary['test_mae'], summary['test_rmse'])
        self.assertGreater(summary['test_r2'], 0.8)
        self.assertNotIn('test_accuracy', summary)
        epochs = harness.lines_of(run)
        self.assertLess(epochs[-1]['valid_rmse'], epochs[0]['valid_rmse'])
        self.assertNotIn('train_accuracy', epochs[0])

        rows = self.predict(run)
        self.assertEqual(len(rows), 3000)
        errors = []
        for row, expected in zip(rows, truth):
            for name, value in zip(('own', 'near'), expected):
                self.assertAlmostEqual(float(row[f'target_{name}']), value,
                                       delta=1e-3)
                if row['split'] == 'test':
                    errors.append(float(row[name]) - value)
        rmse = math.sqrt(statistics.fmean(e * e for e in errors))
        # The root of the mean of the columns' squares is near their mean.
        self.assertAlmostEqual(rmse, summary['test_rmse'], delta=0.05)

    def test_targets_that_overflow_end_the_job(self):
        rng = random.Random(2)
        for scale, optimizer, words in (
                (1e17, 'adam', ()),
                # A step is as large as the targets.
                (1e17, 'sgd', ('the loss is', 'vertex', 'epoch 1, batch')),
                (1e22, 'adam', ('the loss is', 'vertex', 'epoch 1, batch')),
                (1e22, 'sgd', ('the loss is', 'vertex', 'epoch 1, batch')),
                (2e30, 'adamw', ('the loss is', 'vertex', 'epoch 1, batch'))):
            self.import_arrays([(scale * (1 + rng.random()),)
                                for _ in range(3000)])
            run = self.service.folder / f'run-{scale:g}-{optimizer}'
            ended = self.service.fgnn(
                'run', *self.service.job_words({
                    **self.job, 'training.task': 'node_regression',
                    'training.optimizer': optimizer,
                    'training.learning_rate': 1e-4}),
                '--run-dir', str(run), check=False)
            self.assertEqual(ended.returncode, 1 if words else 0, ended)
            # It is made with the first epoch's line.
            metrics = run / 'metrics.jsonl'
            lines = (metrics.read_text().splitlines() if metrics.exists()
                     else [])
            for word in (*words, *(('scale the targets',) if words else ())):
                self.assertIn(word, ended.stderr)
            for line in lines:
                self.assertNotIn('null', line.split('"seconds"')[0])
            summary = harness.summary_of(run)
            self.assertEqual(summary['state'],
                             'failed' if words else 'completed')
            for key in ('valid_rmse', 'test_rmse', 'test_mae', 'test_r2'):
                self.assertTrue(words or math.isfinite(summary[key]), key)

    def test_sets_are_learned_and_predicted_by_name(self):
        truth = self.import_sets()
        run, summary = self.train('multi_label_classification')
        # Of a guess that is the same for all, the best takes every class.
        constant = micro_f1(truth, [set('abcdef')] * len(truth))
        self.assertLess(constant, 0.55)
        self.assertGreater(summary['test_micro_f1'], 0.85)
        self.assertGreater(summary['test_macro_f1'], 0.8)
        self.assertNotIn('test_accuracy', summary)

        rows = self.predict(run)
        test = [v for v, row in enumerate(rows) if row['split'] == 'test']
        sets = [{*filter(None, row['classes'].split(';'))} for row in rows]
        for row, expected in zip(rows, truth):
            self.assertEqual({*row['labels'].split(';')}, expected)
        self.assertAlmostEqual(
            micro_f1([truth[v] for v in test], [sets[v] for v in test]),
            summary['test_micro_f1'], delta=0.02)

    def assert_refused(self, settings, *words):
        run = self.service.fgnn('run', *self.service.job_words(settings),
                                check=False)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for word in words:
            self.assertIn(word, run.stderr)
        self.assert_nothing_left()

    def test_a_task_that_does_not_fit_the_dataset_is_refused(self):
        for task in ('node_regression', 'multi_label_classification'):
            self.assert_refused({'training.task': task}, 'training.task')
        self.import_numbers()
        for task in ('node_classification', 'multi_label_classification'):
            self.assert_refused({'training.task': task}, 'node_regression')
        self.assert_refused({'training.task': 'node_regression',
                             'training.label_smoothing': 0.1},
                            'training.label_smoothing')
        self.import_sets()
        for task in ('node_classification', 'node_regression'):
            self.assert_refused({'training.task': task},
                                'multi_label_classification')

    def test_labels_that_do_not_fit_the_flag_are_refused(self):
        for rows, flag, words in (
                ([[0.5]] * 3000, 'classes', 'element 0 is 0.5'),
                ([[0, 0.5]] * 3000, 'sets', 'target 1 of vertex 0 is 0.5'),
                ([[0, 1]] * 3000, 'classes', '2 labels a vertex')):
            write_array(self.arrays / 'labels.npy', '<f4',
                        [value for row in rows for value in row],
                        len(rows[0]))
            refused = self.service.fgnn(
                'dataset', 'import', 'numpy', str(self.arrays), '--out',
                str(self.service.folder / 'imported'), '--labels-are', flag,
                check=False)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(words, refused.stderr)
            self.assertIn('--labels-are', refused.stderr)
        self.assertFalse((self.service.folder / 'imported').exists())
