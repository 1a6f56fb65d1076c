"""What `fgnn predict` writes beside the classes, and for which vertices."""

import csv
import json
import math
import random
import struct

import harness
from npy_array import Array, values, write_array


def rows_of(path):
    with open(path, encoding='utf-8') as file:
        return list(csv.DictReader(file))


def matrix(tensor):
    """Rows of a tensor of a checkpoint; a vector is its only row."""
    _, shape, data = tensor
    flat = struct.unpack(f'<{len(data) // 4}f', data)
    width = shape[-1]
    return [flat[i:i + width] for i in range(0, len(flat), width)]


def linear(weight, bias, x):
    return [sum(w * value for w, value in zip(row, x)) + b
            for row, b in zip(weight, bias)]


def softmax(logits):
    powers = [math.exp(logit - max(logits)) for logit in logits]
    return [power / sum(powers) for power in powers]


class PredictTest(harness.ServiceTest):

    def predict(self, run, *words, out='out.csv', dataset=None, check=True):
        return self.service.fgnn(
            'predict', str(run), '--dataset',
            str(dataset or self.service.dataset), '--out',
            str(self.service.folder / out), '--force', *words, check=check)

    def assert_refused(self, run, words, *parts, out='refused.csv'):
        answer = self.predict(run, *words, out=out, check=False)
        self.assertEqual(answer.returncode, 2, (words, answer.stderr))
        self.assertRegex(answer.stderr, r'\Afgnn: [^\n]+\n\Z')
        for part in parts:
            self.assertIn(part, answer.stderr)
        self.assertFalse((self.service.folder / out).exists())


class ClassesTest(PredictTest):

    def test_labels_splits_and_accuracy_are_those_of_the_run(self):
        run = self.service.run({'training.epochs': 3})
        answer = json.loads(self.predict(run, '--json').stdout)
        rows = rows_of(self.service.folder / 'out.csv')
        labels = values((self.service.dataset / 'labels.npy').read_bytes())
        self.assertEqual([int(row['label']) for row in rows], labels)
        summary = harness.summary_of(run)
        found = {entry['split']: entry for entry in answer['splits']}
        for name in ('train', 'valid', 'test'):
            split = values(
                (self.service.dataset / f'{name}.npy').read_bytes())
            self.assertEqual(
                [int(row['id']) for row in rows if row['split'] == name],
                sorted(split))
            right = sum(rows[v]['class'] == rows[v]['label'] for v in split)
            self.assertEqual(found[name]['matching'], right)
            self.assertEqual(found[name]['labelled'], len(split))
        self.assertAlmostEqual(found['test']['accuracy'],
                               summary['test_accuracy'], 9)
        text = self.predict(run, out='again.csv').stdout
        test = found['test']
        self.assertIn(f"test {100 * test['accuracy']:.1f} % "
                      f"({test['matching']:,} of {test['labelled']:,})", text)

    def test_best_classes_of_chosen_vertices(self):
        run = self.service.run()
        self.predict(run, '--what', 'probabilities', out='all.npy')
        flat = values((self.service.folder / 'all.npy').read_bytes())
        chosen = [1999, 4, 4, 0]
        ids = self.service.folder / 'ids.npy'
        write_array(ids, '<i8', chosen)
        self.predict(run, '--vertices', str(ids), '--top-k', '3')
        rows = rows_of(self.service.folder / 'out.csv')
        self.assertEqual([int(row['id']) for row in rows], chosen)
        for row in rows:
            v = int(row['id'])
            of_vertex = flat[4 * v:4 * v + 4]
            order = sorted(range(4), key=lambda c: -of_vertex[c])
            for end, c in zip(('', '_2', '_3'), order):
                self.assertEqual(int(row['class' + end]), c)
                self.assertAlmostEqual(float(row['probability' + end]),
                                       of_vertex[c], 5)
        for what in ('probabilities', 'embeddings'):
            self.predict(run, '--what', what, '--vertices', str(ids),
                         out=f'some-{what}.npy')
        self.assertEqual(
            values((self.service.folder / 'some-probabilities.npy')
                   .read_bytes()),
            [x for v in chosen for x in flat[4 * v:4 * v + 4]])
        self.assertEqual(Array(self.service.folder / 'some-embeddings.npy')
                         .header['shape'], (4, 16))

        lines = self.service.folder / 'ids.txt'
        lines.write_text('3\n2000\n')
        self.assert_refused(run, ['--vertices', str(lines)],
                            f"{lines}: line 2 is '2000'", '[0, 2000)')
        self.assert_refused(run, ['--top-k', '5'], 'has 4 classes', '[1, 4]')
        self.assert_refused(run, ['--top-k', '2', '--what', 'embeddings'],
                            '--top-k is for', out='refused.npy')

    def import_with_lonely_vertices(self):
        """Of 120 vertices, the last 40 have no edge."""
        draws = random.Random(1)
        nodes = self.service.folder / 'nodes.csv'
        features = []
        with open(nodes, 'w', encoding='utf-8') as file:
            print('id,label,split,a,b,c,d,e', file=file)
            for v in range(120):
                features.append([round(draws.gauss(v % 3, 1), 3)
                                 for _ in range(5)])
                print(v, v % 3, ('train', 'valid', 'test')[v // 3 % 3],
                      *features[-1], sep=',', file=file)
        edges = self.service.folder / 'edges.csv'
        edges.write_text('source,destination\n' + ''.join(
            f'{draws.randrange(80)},{v}\n' for v in range(80)
            for _ in range(3)))
        self.service.dataset = self.service.folder / 'lonely'
        self.service.fgnn('dataset', 'import', 'csv', str(edges), '--nodes',
                          str(nodes), '--out', str(self.service.dataset))
        return features

    def test_vertices_without_edges_are_predicted_by_their_features(self):
        features = self.import_with_lonely_vertices()
        # Without neighbours both are a linear layer of the vertex itself.
        for kind, weight, bias in (('graphsage', 'lin_r.weight', 'lin_l.bias'),
                                   ('gcn', 'lin.weight', 'bias')):
            run = self.service.run({'model.kind': kind, 'training.epochs': 5,
                                    'training.learning_rate': 0.05})
            out = f'{kind}.npy'
            self.predict(run, '--what', 'probabilities', out=out)
            found = values((self.service.folder / out).read_bytes())
            tensors = harness.tensors(run / 'checkpoints/best.safetensors')
            layers = [(matrix(tensors[f'convs.{i}.{weight}']),
                       matrix(tensors[f'convs.{i}.{bias}'])[0])
                      for i in range(2)]
            for v in range(80, 120):
                hidden = [max(0, x) for x in linear(*layers[0], features[v])]
                expected = softmax(linear(*layers[1], hidden))
                for c in range(3):
                    self.assertAlmostEqual(found[3 * v + c], expected[c], 5)


class LinksTest(PredictTest):

    def setUp(self):
        super().setUp()
        draws = random.Random(2)
        nodes = self.service.folder / 'nodes.csv'
        with open(nodes, 'w', encoding='utf-8') as file:
            print('id,a,b,c', file=file)
            for v in range(60):
                print(f'town {v}', *(round(draws.gauss(v % 3, 1), 3)
                                     for _ in range(3)), sep=',', file=file)
        edges = self.service.folder / 'edges.csv'
        edges.write_text('source,destination\n' + ''.join(
            f'town {3 * draws.randrange(20) + v % 3},town {v}\n'
            for v in range(60) for _ in range(3)))
        self.service.dataset = self.service.folder / 'towns'
        self.service.fgnn('dataset', 'import', 'csv', str(edges), '--nodes',
                          str(nodes), '--out', str(self.service.dataset))
        self.link_run = self.service.run(
            {'training.task': 'link_prediction', 'model.hidden': 8,
             'training.learning_rate': 0.01})

    def edges(self):
        """The graph's edges, both ways."""
        indptr = values((self.service.dataset / 'csc_indptr.npy').read_bytes())
        sources = values((self.service.dataset / 'indices.npy').read_bytes())
        edges = {(u, v) for v in range(60)
                 for u in sources[indptr[v]:indptr[v + 1]]}
        return edges | {(v, u) for u, v in edges}

    def scores(self):
        """{(u, v): score} of all pairs, as --what scores has them."""
        pairs = [(u, v) for u in range(60) for v in range(60)]
        lines = self.service.folder / 'pairs.txt'
        lines.write_text(''.join(f'{u} {v}\n' for u, v in pairs))
        answer = self.predict(self.link_run, '--what', 'scores', '--pairs',
                              str(lines), out='scores.npy')
        self.assertIn('of 3,600 pairs', answer.stdout)
        return dict(zip(pairs, values(
            (self.service.folder / 'scores.npy').read_bytes())))

    def test_scores_are_products_of_embeddings(self):
        self.predict(self.link_run, '--what', 'embeddings', out='rows.npy')
        flat = values((self.service.folder / 'rows.npy').read_bytes())
        rows = [flat[8 * v:8 * v + 8] for v in range(60)]
        for (u, v), score in self.scores().items():
            expected = sum(a * b for a, b in zip(rows[u], rows[v]))
            self.assertAlmostEqual(score, expected, 4)
        lines = self.service.folder / 'two.txt'
        lines.write_text('5,7\n59\t0\n')
        self.predict(self.link_run, '--what', 'scores', '--pairs', str(lines))
        found = rows_of(self.service.folder / 'out.csv')
        self.assertEqual(
            [(row['source'], row['source_name'], row['destination'],
              row['destination_name']) for row in found],
            [('5', 'town 5', '7', 'town 7'), ('59', 'town 59', '0', 'town 0')])
        for row in found:
            self.assertAlmostEqual(
                float(row['probability']),
                1 / (1 + math.exp(-float(row['score']))), 5)

    def test_neighbours_are_the_best_that_are_not_there_yet(self):
        scores, edges = self.scores(), self.edges()
        self.predict(self.link_run, '--what', 'neighbours')
        found = {}
        for row in rows_of(self.service.folder / 'out.csv'):
            self.assertEqual(row['name'], f"town {row['id']}")
            self.assertEqual(row['neighbour_name'], f"town {row['neighbour']}")
            of_vertex = found.setdefault(int(row['id']), [])
            of_vertex.append(int(row['neighbour']))
            self.assertEqual(int(row['rank']), len(of_vertex))
        for v in range(60):
            others = [u for u in range(60) if u != v and (u, v) not in edges]
            others.sort(key=lambda u: (-scores[v, u], u))
            self.assertEqual(found[v], others[:10])
        chosen = self.service.folder / 'ids.txt'
        chosen.write_text('41\n3\n')
        self.predict(self.link_run, '--what', 'neighbours', '--top-k', '4',
                     '--vertices', str(chosen), out='out.npy')
        self.assertEqual(
            values((self.service.folder / 'out.npy').read_bytes()),
            found[41][:4] + found[3][:4])

    def test_flags_that_do_not_fit_are_refused(self):
        pairs = self.service.folder / 'pairs.txt'
        pairs.write_text('1 2\n3\n')
        links = (
            (['--what', 'scores', '--pairs', str(pairs)],
             f"{pairs}: line 2 is '3'"),
            (['--what', 'neighbours', '--top-k', '60'], '60 vertices'))
        for words, part in links:
            self.assert_refused(self.link_run, words, part)
        self.service.dataset = self.service.folder / 'graph'
        classes = self.service.run({'training.epochs': 1})
        self.assert_refused(classes, ['--what', 'neighbours'],
                            'scores no pairs', 'link_prediction')


class TargetsTest(PredictTest):

    def import_targets(self, columns, labels_of):
        """A graph whose features tell the labels."""
        draws = random.Random(2)
        nodes = self.service.folder / 'nodes.csv'
        with open(nodes, 'w', encoding='utf-8') as file:
            print('id,split,a,b,c', *columns, sep=',', file=file)
            for v in range(240):
                x = [round(draws.gauss(0, 1), 3) for _ in range(3)]
                print(v, ('train', 'valid', 'test')[v % 3], *x, *labels_of(x),
                      sep=',', file=file)
        edges = self.service.folder / 'edges.csv'
        edges.write_text('source,destination\n' + ''.join(
            f'{draws.randrange(240)},{v}\n' for v in range(240)))
        self.service.dataset = self.service.folder / 'targets'
        self.service.fgnn('dataset', 'import', 'csv', str(edges), '--nodes',
                          str(nodes), '--label-column', ','.join(columns),
                          '--out', str(self.service.dataset))

    def run_and_predict(self, task):
        """What `run` printed, the summary, the answer and the table."""
        run_dir = self.service.folder / 'run'
        lines = self.service.fgnn(
            'run', *self.service.job_words({
                'training.task': task, 'training.epochs': 30,
                'training.learning_rate': 0.02, 'model.dropout': 0}),
            '--run-dir', str(run_dir)).stdout
        answer = json.loads(self.predict(run_dir, '--json').stdout)
        return (lines, harness.summary_of(run_dir),
                answer, rows_of(self.service.folder / 'out.csv'))

    def test_numbers_from_their_import_to_their_predictions(self):
        self.import_targets(('height', 'weight'), lambda x: (
            round(x[0] - x[1], 3), round(x[2] / 2, 3)))
        lines, summary, answer, rows = self.run_and_predict('node_regression')
        self.assertRegex(lines, r'(?m)^epoch 30/30  loss 0\.\d+  valid RMSE '
                                r'\S+  MAE \S+  R2 \S+ .* best \S+ in epoch ')
        self.assertRegex(lines, r'(?m)^test RMSE  ')
        splits = {entry['split']: entry for entry in answer['splits']}
        for score in ('rmse', 'mae'):
            self.assertAlmostEqual(splits['test'][score],
                                   summary[f'test_{score}'], 5)
            self.assertAlmostEqual(splits['valid'][score],
                                   summary[f'valid_{score}'], 5)
        self.assertGreater(summary['test_r2'], 0.5)
        self.assertEqual(answer['target_names'], ['height', 'weight'])
        self.assertEqual(list(rows[0]), [
            'id', 'name', 'height', 'weight', 'split', 'target_height',
            'target_weight'])
        squares = [(float(row['height']) - float(row['target_height'])) ** 2
                   for row in rows if row['split'] == 'test']
        self.assertLess(sum(squares) / len(squares), 1)
        epochs = csv.DictReader(
            self.service.fgnn('metrics', str(self.service.folder / 'run'))
            .stdout.splitlines())
        best = min(epochs, key=lambda epoch: float(epoch['valid_rmse']))
        self.assertEqual(int(best['epoch']), summary['best_epoch'])

    def test_sets_from_their_import_to_their_predictions(self):
        self.import_targets(('ant', 'bee', 'cat'),
                            lambda x: [int(value > 0.3) for value in x])
        lines, summary, answer, rows = self.run_and_predict(
            'multi_label_classification')
        self.assertRegex(lines, r'(?m)^epoch 30/30  loss 0\.\d+  valid '
                                r'micro-F1 0\.\d+  macro-F1 0\.\d+ ')
        self.assertRegex(lines, r'(?m)^test micro-F1  ')
        splits = {entry['split']: entry for entry in answer['splits']}
        self.assertAlmostEqual(splits['test']['micro_f1'],
                               summary['test_micro_f1'], 9)
        self.assertGreater(summary['test_micro_f1'], 0.6)
        self.assertEqual(answer['class_names'], ['ant', 'bee', 'cat'])
        right = sum(row['classes'] == row['labels'] for row in rows
                    if row['split'] == 'train')
        self.assertGreater(right, 50)
        for row in rows:
            self.assertEqual(row['classes'], ';'.join(
                name for name in ('ant', 'bee', 'cat')
                if float(row[f'probability_{name}']) > 0.5))
        self.assert_refused(self.service.folder / 'run', ['--top-k', '2'],
                            'multi_label_classification')
