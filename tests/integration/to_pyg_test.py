"""fgnn.to_pyg() and fgnn.from_pyg() with the real packages: modules of
torch_geometric give our logits, and a Data becomes the dataset that it says."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import unittest
import warnings

import harness
import python_package

fgnn = python_package.load(python_package.PYG_HOME)
if fgnn is not None:
    import numpy
    import torch
    from fgnn import checkpoint, pyg_model
    from torch_geometric.data import Data, HeteroData

PACKAGE = python_package.ROOT / 'tools/python'
LOGITS_DIFFER = 1e-4
# Classes may differ where the two best logits are as near as that.
BEST_DIFFER = 2e-4

# Each model that PyG has layers for, with all that is between layers.
MODELS = {
    'graphsage': {'model.kind': 'graphsage'},
    'graphsage, batch, residual': {
        'model.kind': 'graphsage', 'model.normalization': 'batch',
        'model.residual': 'true', 'model.input_dropout': 0.1},
    'graphsage, pool, layer': {
        'model.kind': 'graphsage', 'model.aggregator': 'pool',
        'model.normalization': 'layer'},
    'gcn': {'model.kind': 'gcn'},
    'gcn, right, layer, residual': {
        'model.kind': 'gcn', 'model.degree_norm': 'right',
        'model.normalization': 'layer', 'model.residual': 'true'},
    'gin, batch': {'model.kind': 'gin', 'model.normalization': 'batch'},
    'gat, residual': {
        'model.kind': 'gat', 'model.heads': 4, 'model.residual': 'true',
        'model.attention_dropout': 0.2},
    'gat, one layer': {'model.kind': 'gat', 'model.layers': 1,
                       'sampling.fanouts': '[5]'},
    'pinsage': {'model.kind': 'pinsage'},
}


def odd_graph(seed=5):
    """Directed, with loops and equal edges; vertices from 360 on have none."""
    random = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (400,), generator=random)
    edges = torch.randint(360, (2, 2500), generator=random)
    loops = torch.arange(0, 360, 7).repeat(2, 1)
    x = torch.randn(400, 12, generator=random)
    x[:, :4] += torch.nn.functional.one_hot(y, 4)
    part = torch.rand(400, generator=random)
    return Data(
        x=x, y=y, train_mask=part < 0.5, test_mask=part > 0.8,
        val_mask=(part >= 0.5) & (part <= 0.8),
        edge_index=torch.cat((edges, loops, edges[:, :99], loops[:, :9]), 1))


def edges_of(folder):
    """Of a dataset, as edge_index has them."""
    indptr = numpy.load(folder / 'csc_indptr.npy')
    sources = numpy.load(folder / 'indices.npy').astype(int)
    return numpy.stack(
        (sources, numpy.repeat(numpy.arange(len(indptr) - 1),
                               numpy.diff(indptr))))


def sorted_edges(edges):
    edges = numpy.asarray(edges)
    return edges[:, numpy.lexsort(edges)].tolist()


def readme_lines():
    text = (PACKAGE / 'README.md').read_text(encoding='utf-8')
    lines, = (block for block in re.findall(r'```py\n(.*?)```', text, re.S)
              if 'from_pyg' in block)
    return lines


@unittest.skipIf(fgnn is None, python_package.PYG_MISSING)
class PygTest(harness.ServiceTest):

    def from_pyg(self, data, **options):
        """The dataset of a Data, which jobs then train on."""
        folder = self.service.folder / 'data'
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            made = fgnn.from_pyg(data, folder, program=str(
                harness.BIN_DIR.resolve() / 'fgnn'), **options)
        self.assertEqual(made, folder)
        self.service.dataset = folder
        return [str(warning.message) for warning in caught]

    def predict(self, run, what, *words):
        out = self.service.folder / 'out.npy'
        out.unlink(missing_ok=True)
        self.service.fgnn('predict', str(run), '--dataset',
                          str(self.service.dataset), '--what', what, '--out',
                          str(out), *words)
        return torch.from_numpy(numpy.load(out))


class ToPygTest(PygTest):

    def setUp(self):
        super().setUp()
        self.data = odd_graph()
        self.assertEqual(self.from_pyg(self.data), [])

    def train(self, settings):
        return self.service.run({
            'model.layers': 3, 'sampling.fanouts': '[5, 5, 5]',
            'training.epochs': 3, **settings})

    def infer(self, model):
        with torch.no_grad():
            return model(self.data.x, self.data.edge_index)

    def assert_same(self, model, run, *words):
        """Logits up to a sum that a row's share, as probabilities tell them,
        and classes."""
        self.assertFalse(model.training)
        theirs = self.infer(model).double()
        ours = self.predict(run, 'probabilities', *words).double().log()
        difference = (theirs.log_softmax(1) - ours).abs().max().item()
        self.assertLess(difference, LOGITS_DIFFER)
        best = theirs.topk(2).values
        clear = best[:, 0] - best[:, 1] > BEST_DIFFER
        self.assertGreater(clear.sum().item(), 300)
        classes = self.predict(run, 'classes', *words)
        self.assertTrue(
            torch.equal(theirs.argmax(1)[clear], classes[clear]))
        self.assertGreater(len(classes.unique()), 1)

    def test_their_modules_give_our_logits(self):
        for name, settings in MODELS.items():
            with self.subTest(name):
                run = self.train(settings)
                self.assert_same(fgnn.to_pyg(run), run)

    def test_an_encoder_of_links_gives_our_embeddings(self):
        run = self.train({'training.task': 'link_prediction',
                          'training.evaluate_every': 0})
        theirs = self.infer(fgnn.to_pyg(str(run)))
        ours = self.predict(run, 'embeddings')
        self.assertEqual(theirs.shape, (400, 16))
        self.assertLess((theirs - ours).abs().max().item(), LOGITS_DIFFER)

    def test_numbers_and_sets_are_those_of_predict(self):
        random = torch.Generator().manual_seed(3)
        numbers = torch.randn(400, 2, generator=random)
        for task, what, y in (
                ('node_regression', 'values', numbers),
                ('multi_label_classification', 'probabilities',
                 (numbers > 0.5).float())):
            with self.subTest(task):
                self.data.y = y
                shutil.rmtree(self.service.dataset)
                self.from_pyg(self.data)
                run = self.train({'training.task': task})
                theirs = self.infer(fgnn.to_pyg(run))
                if what == 'probabilities':
                    theirs = theirs.sigmoid()
                ours = self.predict(run, what)
                self.assertEqual(ours.shape, (400, 2))
                self.assertLess((theirs - ours).abs().max().item(),
                                LOGITS_DIFFER)

    def test_a_checkpoint_by_its_name_or_file(self):
        run = self.train({})
        file = run / 'checkpoints/epoch-0002.safetensors'
        for model in (fgnn.to_pyg(run, 'epoch-0002'), fgnn.to_pyg(file)):
            self.assert_same(model, run, '--checkpoint', str(file))
        with self.assertRaisesRegex(fgnn.NotFound, 'best, epoch-0003'):
            fgnn.to_pyg(run, 'epoch-0009')
        with self.assertRaisesRegex(fgnn.NotFound, 'no checkpoint yet'):
            fgnn.to_pyg(self.service.dataset)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'none of this program'):
            fgnn.to_pyg(run / 'job.yaml')
        with self.assertRaisesRegex(TypeError, r'\[2, edges\]'):
            model(self.data.x, torch.eye(400).to_sparse())

        good = checkpoint.read(file)
        for kind in ('plugin', 'torchscript'):
            with self.assertRaisesRegex(fgnn.InvalidJob, f"kind '{kind}'"):
                pyg_model.load(dataclasses.replace(
                    good, model=dataclasses.replace(good.model, kind=kind)))
        file.write_bytes(file.read_bytes()[:-4])
        with self.assertRaisesRegex(fgnn.DataLoss, 'damaged'):
            fgnn.to_pyg(file)


class FromPygTest(PygTest):

    def test_a_dataset_has_what_the_data_has(self):
        data = odd_graph()
        data.y[7:9] = -1
        data.train_mask[7:9] = data.val_mask[7:9] = data.test_mask[7:9] = False
        data.class_names = ['a', 'b', 'c', 'd', 'never']
        data.feature_names = [f'f{i}' for i in range(12)]
        data.edge_weight = torch.arange(data.num_edges) / 8
        data.pos = torch.zeros(400, 2)
        notes = ' '.join(self.from_pyg(data))
        for word in ('pos', 'khop_weighted', 'class'):
            self.assertIn(word, notes)
        self.assertNotIn('/fgnn-', notes)
        folder = self.service.dataset
        info = self.service.json('dataset', 'info', str(folder))
        self.assertEqual(info['source'], f'PyG {data}')
        self.assertRegex(info['source'], r'x=\[400, 12\]')
        self.assertEqual(sorted_edges(edges_of(folder)),
                         sorted_edges(data.edge_index))
        weights = numpy.load(folder / 'edge_weights.npy')
        rows = numpy.vstack((edges_of(folder), weights * 8))
        expected = numpy.vstack(
            (data.edge_index, numpy.arange(data.num_edges)))
        self.assertEqual(sorted(rows.T.tolist()), sorted(expected.T.tolist()))
        for name, key in (('features', 'x'), ('labels', 'y')):
            self.assertTrue(numpy.array_equal(
                numpy.load(folder / f'{name}.npy'), data[key]))
        for name, key in (('train', 'train_mask'), ('valid', 'val_mask'),
                          ('test', 'test_mask')):
            self.assertEqual(numpy.load(folder / f'{name}.npy').tolist(),
                             data[key].nonzero()[:, 0].tolist())
        self.service.fgnn('dataset', 'validate', str(folder))
        run = self.service.run()
        model = fgnn.to_pyg(run)
        self.assertEqual(model.class_names, tuple(data.class_names))
        self.assertEqual(model.feature_names, tuple(data.feature_names))

    def test_one_of_several_splits(self):
        data = odd_graph()
        mask = data.train_mask
        data.train_mask = torch.stack((mask & (data.y < 2), mask), 1)
        with self.assertRaisesRegex(fgnn.InvalidJob, 'split, 0 to 1'):
            self.from_pyg(data)
        self.from_pyg(data, split=1)
        self.assertEqual(
            numpy.load(self.service.dataset / 'train.npy').tolist(),
            mask.nonzero()[:, 0].tolist())

    def test_labels_may_be_numbers_or_sets(self):
        data = odd_graph()
        numbers = torch.rand(400)
        numbers[7] = float('nan')
        masks = data.train_mask, data.val_mask, data.test_mask
        for mask in masks:
            mask[7] = False
        sets = torch.rand(400, 3) < 0.4
        for y, kind, options in (
                (numbers, 'float32', {}),
                (torch.rand(400, 2).double(), 'float32', {}),
                (data.y, 'float32', {'labels_are': 'numbers'}),
                (sets, 'uint8', {}), (sets.double(), 'uint8', {})):
            with self.subTest(y.dtype, shape=y.shape):
                data.y = y
                columns = 1 if y.dim() == 1 else y.shape[1]
                data.target_names = [f'y{i}' for i in range(columns)]
                shutil.rmtree(self.service.folder / 'data', ignore_errors=True)
                self.assertEqual(self.from_pyg(data, **options), [])
                made = numpy.load(self.service.dataset / 'targets.npy')
                self.assertEqual(made.dtype, kind)
                self.assertTrue(numpy.array_equal(
                    made, y.reshape(400, columns).to(torch.float32)
                    .numpy().astype(kind), equal_nan=kind == 'float32'))
                self.assertEqual(
                    (self.service.dataset / 'target_names.txt').read_text(),
                    ''.join(f'y{i}\n' for i in range(columns)))
                self.service.fgnn('dataset', 'validate',
                                  str(self.service.dataset))

    def test_what_no_dataset_can_have_is_refused(self):
        data = odd_graph()
        edges = data.num_edges
        for changes, words in (
                ({'edge_attr': torch.zeros(edges, 3)}, 'edge_attr .* lost'),
                ({'distance': torch.zeros(edges)}, 'distance .* lost'),
                ({'edge_index': None, 'adj_t': torch.eye(400).to_sparse()},
                 'no edge_index.*ToSparseTensor'),
                ({'edge_index': data.edge_index + 300}, 'there are 400'),
                ({'edge_index': data.edge_index.float()}, r'\[2, edges\]'),
                ({'y': torch.zeros(400, 7, 2)}, r'y of data is \[400, 7, 2\]'),
                ({'y': torch.eye(400) - torch.eye(400).roll(1, 0)},
                 'labels_are sets'),
                ({'y': torch.rand(400, 2), 'target_names': ['a', 'b', 'c']},
                 'target_names of data are 3'),
                ({'x': torch.zeros(399, 2), 'num_nodes': 400},
                 r'x of data is \[399, 2\]'),
                ({'val_mask': torch.tensor([5, 7, 9])}, 'val_mask of data'),
                ({'class_names': ['a', 'a']}, 'class_names'),
                ({'feature_names': ['f'] * 13}, 'feature_names')):
            with self.subTest(words):
                wrong = data.clone()
                for key, value in changes.items():
                    wrong[key] = value
                with self.assertRaisesRegex(fgnn.InvalidJob, words):
                    self.from_pyg(wrong)
        for wrong, words in ((HeteroData(), 'HeteroData'), ([data], 'list')):
            with self.assertRaisesRegex(fgnn.InvalidJob, words):
                self.from_pyg(wrong)
        self.assertFalse((self.service.folder / 'data').exists())

        data.y[:] = -7
        no_edges = Data(x=data.x, edge_index=data.edge_index[:, :0])
        for wrong, words in ((data, 'labels.npy: .* is -7'),
                             (no_edges, 'data: holds no edges')):
            with self.assertRaisesRegex(fgnn.ProgramFailed, words) as caught:
                self.from_pyg(wrong)
            self.assertNotIn('/fgnn-', caught.exception.message)

    def test_the_lines_of_the_readme_run(self):
        self.service.fgnn('up')
        run = subprocess.run(
            [sys.executable, '-B', '-W', 'error::UserWarning:fgnn', '-c',
             readme_lines()],
            env={**os.environ, 'FGNN_STATE_DIR': str(self.service.state_dir),
                 'PYTHONPATH': str(python_package.SITE),
                 'PATH': f"{harness.BIN_DIR.resolve()}:{os.environ['PATH']}"},
            cwd=self.service.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r'classes tensor\(\[')
