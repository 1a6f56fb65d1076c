"""The edges of a real graph, imported in every form, are split without a leak:
no validation or test edge, nor its reverse, is in the training graph."""

import gzip
import os
import pathlib
import shutil
import tempfile
import unittest
import zipfile

import harness
from npy_array import values, write_array

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORA = pathlib.Path(os.environ.get('FGNN_SHARED_DIR', ROOT.parent / 'shared'),
                    'data', 'cora')


def read(path):
    return values(path.read_bytes())


def pairs_of(path):
    """The edges of an array [n, 2]."""
    ends = read(path)
    return set(zip(ends[::2], ends[1::2]))


def lists_of(indptr, indices):
    """The edges of lists of in-neighbours, in their order."""
    return [(source, v) for v in range(len(indptr) - 1)
            for source in indices[indptr[v]:indptr[v + 1]]]


class Sources:
    """Writes Cora in the forms that importers read; returns their words."""

    def __init__(self, folder):
        self.folder = folder
        self.indptr = read(CORA / 'indptr.npy')
        self.indices = read(CORA / 'indices.npy')
        self.edges = lists_of(self.indptr, self.indices)

    def lines(self, name, separator, edges, head=''):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = head + ''.join(f'{source}{separator}{destination}\n'
                              for source, destination in edges)
        path.write_bytes(gzip.compress(text.encode())
                         if path.suffix == '.gz' else text.encode())
        return str(path)

    def numpy(self):
        return 'numpy', str(CORA)

    def edge_list(self):
        return 'edgelist', self.lines('edges.txt', ' ', self.edges)

    def edge_list_of_one_direction(self):
        once = [edge for edge in self.edges if edge[0] < edge[1]]
        return ('edgelist', self.lines('once.txt', '\t', once), '--symmetric')

    def csv(self):
        return 'csv', self.lines('edges.csv', ',', self.edges,
                                 'source,destination\n')

    def npz(self):
        path = self.folder / 'cora.npz'
        with zipfile.ZipFile(path, 'w') as archive:
            for name, array in (('adj_indptr', self.indptr),
                                ('adj_indices', self.indices)):
                write_array(self.folder / name, '<i8', array)
                archive.write(self.folder / name, f'{name}.npy')
        return 'npz', str(path)

    def ogb(self):
        self.lines('ogb/raw/edge.csv.gz', ',', self.edges)
        nodes = self.folder / 'ogb/raw/num-node-list.csv.gz'
        nodes.write_bytes(gzip.compress(b'%d\n' % (len(self.indptr) - 1)))
        return 'ogb', str(self.folder / 'ogb')

    def graph_bolt(self):
        self.lines('bolt/edges.csv', ',', self.edges)
        (self.folder / 'bolt/metadata.yaml').write_text(
            f'graph:\n  nodes: [{{num: {len(self.indptr) - 1}}}]\n'
            '  edges: [{format: csv, path: edges.csv}]\n', encoding='utf-8')
        return 'graphbolt', str(self.folder / 'bolt')

    def all(self):
        return {form.__name__: form() for form in (
            self.numpy, self.edge_list, self.edge_list_of_one_direction,
            self.csv, self.npz, self.ogb, self.graph_bolt)}


@unittest.skipUnless(CORA.is_dir(), f'{CORA} is not there')
class CoraTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.mkdtemp(prefix='fgnn-it-', dir='/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.service = harness.Service(folder)

    def assert_no_leak(self, folder):
        graph = lists_of(read(folder / 'csc_indptr.npy'),
                         read(folder / 'indices.npy'))
        either_way = set(graph) | {edge[::-1] for edge in graph}
        self.assertEqual(set(graph), pairs_of(folder / 'train_edges.npy'))
        total = len(set(graph))
        for name in ('valid', 'test'):
            held_out = pairs_of(folder / f'{name}_edges.npy')
            self.assertGreater(len(held_out), 400)
            self.assertEqual(held_out & either_way, set())
            total += len(held_out)
        self.assertEqual(total, 10556)

    def test_no_held_out_edge_is_in_the_training_graph(self):
        for form, words in Sources(self.service.folder).all().items():
            with self.subTest(form):
                whole = self.service.folder / f'whole-{form}'
                split = self.service.folder / f'split-{form}'
                made = self.service.json('dataset', 'import', *words, '--out',
                                         str(whole))
                self.assertIs(made['symmetric'], True)
                self.assertIn('10,556, symmetric', self.service.fgnn(
                    'dataset', 'info', str(whole)).stdout)
                # Nothing relies on what the folder says of it.
                metadata = whole / 'metadata.yaml'
                metadata.write_text(metadata.read_text().replace(
                    'symmetric: true', 'symmetric: false'))
                self.service.fgnn('dataset', 'split-edges', str(whole),
                                  '--out', str(split))
                self.assert_no_leak(split)
                checked = self.service.json('dataset', 'validate', str(split))
                self.assertNotIn('warning', checked)
