"""fgnn.loader and fgnn.NeighborLoader with the real torch and torch_geometric."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

import harness
import python_package

fgnn = python_package.load(python_package.PYG_HOME)
if fgnn is not None:
    import numpy
    import torch
    from torch_geometric.data import Data, HeteroData

KILLS = int(os.environ.get('FGNN_TEST_KILLS', 4))
EXAMPLES = python_package.ROOT / 'tools/python/examples'

# Trains in a process that may be killed at any moment: it goes on from its
# file, and writes the weights to another one in the end.
TRAINS = '''
import os, sys
import fgnn, torch
from torch_geometric.nn import GraphSAGE
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
torch.manual_seed(1)
dataset, state, result, epochs = sys.argv[1:]
loader = fgnn.loader(dataset, fanouts=[4, 4], batch_size=64, seed=3, threads=2)
model = GraphSAGE(loader.num_features, 8, 2, loader.num_classes)
optimizer = torch.optim.Adam(model.parameters(), lr=.01)
if os.path.exists(state):
    saved = torch.load(state)
    model.load_state_dict(saved['model'])
    optimizer.load_state_dict(saved['optimizer'])
    loader.load_state_dict(saved['loader'])
while loader.epoch < int(epochs):
    for batch in loader:
        logits = model(batch.x, batch.edge_index)[:batch.batch_size]
        loss = torch.nn.functional.cross_entropy(logits, batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save({'model': model.state_dict(),
                    'optimizer': optimizer.state_dict(),
                    'loader': loader.state_dict()}, state + '.partial')
        os.replace(state + '.partial', state)
        print(batch.seq, flush=True)
torch.save(model.state_dict(), result)
'''


@unittest.skipIf(fgnn is None, python_package.PYG_MISSING)
class LoaderPygTest(harness.ServiceTest):

    def setUp(self):
        super().setUp()
        self.environment = {
            **os.environ, 'PYTHONPATH': str(python_package.SITE),
            'PATH': f"{harness.BIN_DIR.resolve()}:{os.environ['PATH']}",
            'XDG_CACHE_HOME': str(self.service.folder / 'cache')}
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        self.addCleanup(lambda: [
            os.environ.pop(name) if value is None else
            os.environ.update({name: value})
            for name, value in before.items()])

    def data(self):
        """A graph with equal edges, loops and vertices without edges."""
        draws = torch.Generator().manual_seed(1)
        return Data(
            edge_index=torch.randint(0, 900, (2, 6000), generator=draws),
            x=torch.randn(1000, 6, generator=draws),
            y=torch.randint(0, 3, (1000,), generator=draws),
            train_mask=torch.rand(1000, generator=draws) < .5)

    def test_a_batch_is_a_part_of_the_graph(self):
        data = self.data()
        data.edge_attr = torch.arange(6000)
        edges = set(map(tuple, data.edge_index.t().tolist()))
        loader = fgnn.NeighborLoader(
            data, num_neighbors=[4, 3], input_nodes=data.train_mask,
            batch_size=128, shuffle=True)
        seeds = []
        for batch in loader:
            for key in ('x', 'y', 'train_mask'):
                self.assertTrue(torch.equal(batch[key], data[key][batch.n_id]))
            self.assertLessEqual(
                {(int(batch.n_id[i]), int(batch.n_id[j]))
                 for i, j in batch.edge_index.t().tolist()}, edges)
            self.assertEqual(sum(batch.num_sampled_nodes), batch.num_nodes)
            self.assertEqual(sum(batch.num_sampled_edges), batch.num_edges)
            # Edges of a hop end at what the hop before has added.
            first = batch.edge_index[:, :batch.num_sampled_edges[0]]
            self.assertLess(int(first[1].max()), batch.batch_size)
            # Of equal edges too, each has its own attributes.
            self.assertTrue(torch.equal(data.edge_index[:, batch.e_id],
                                        batch.n_id[batch.edge_index]))
            self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
            self.assertEqual(len(batch.e_id.unique()), batch.num_edges)
            degrees = torch.bincount(batch.edge_index[1])
            self.assertLessEqual(int(degrees.max()), 4)
            of_data = data.train_mask.nonzero()[:, 0]
            self.assertTrue(torch.equal(of_data[batch.input_id],
                                        batch.n_id[:batch.batch_size]))
            seeds += batch.input_id.tolist()
        self.assertEqual(sorted(seeds), list(range(len(of_data))))

    def test_seeds_come_in_their_order_without_shuffle(self):
        loader = fgnn.NeighborLoader(self.data(), num_neighbors=[-1],
                                     batch_size=300)
        for _ in range(2):
            seeds = [batch.n_id[:batch.batch_size] for batch in loader]
            self.assertTrue(torch.equal(torch.cat(seeds), torch.arange(1000)))
        self.assertEqual(len(loader), 4)

    def test_all_neighbours_are_those_of_the_whole_graph(self):
        data = self.data()
        expected = torch.bincount(data.edge_index[1], minlength=1000)
        for batch in fgnn.NeighborLoader(data, num_neighbors=[-1],
                                         batch_size=300):
            found = torch.bincount(batch.edge_index[1],
                                   minlength=batch.num_nodes)
            seeds = batch.n_id[:batch.batch_size]
            self.assertTrue(torch.equal(found[:batch.batch_size],
                                        expected[seeds]))

    def test_a_graph_is_written_once(self):
        cache = self.service.folder / 'cache/fgnn'
        for _ in range(2):
            fgnn.NeighborLoader(self.data(), num_neighbors=[2])
        self.assertEqual(len(list(cache.glob('*/metadata.yaml'))), 1)
        other = self.data()
        other.x[0, 0] += 1
        fgnn.NeighborLoader(other, num_neighbors=[2])
        self.assertEqual(len(list(cache.glob('*/metadata.yaml'))), 2)

    def test_what_is_not_there_is_refused_by_name(self):
        data = self.data()
        for name, value in (('disjoint', True), ('subgraph_type', 'induced'),
                            ('transform_sampler_output', len),
                            ('drop_last', True), ('batchsize', 3),
                            ('weight_attr', 'w')):
            with self.subTest(name), self.assertRaisesRegex(
                    fgnn.InvalidJob, f'^{name}: '):
                fgnn.NeighborLoader(data, [2], **{name: value})
        with self.assertRaisesRegex(fgnn.InvalidJob, 'HeteroData'):
            fgnn.NeighborLoader(HeteroData(), [2])
        with self.assertRaisesRegex(fgnn.InvalidJob, '^input_nodes: '):
            fgnn.NeighborLoader(data, [2], input_nodes=torch.ones(3, 3))

    def test_seeds_that_no_batch_can_have_are_refused_by_name(self):
        def of(seeds):
            return fgnn.NeighborLoader(self.data(), [2], batch_size=2,
                                       input_nodes=torch.tensor(seeds))

        for seeds, word in (([7, 3, 7], 'vertex 7 is there twice'),
                            ([-1, 3], '-1 is not a vertex'),
                            ([3, 1000], '1000 is not a vertex of data')):
            with self.subTest(word), self.assertRaisesRegex(
                    fgnn.InvalidJob, f'^input_nodes: {word}'):
                of(seeds)
        # As the error advises.
        batch, = of(torch.tensor([7, 3, 7]).unique().tolist())
        self.assertEqual(batch.n_id[:2].tolist(), [3, 7])

    def test_what_is_too_old_is_told_with_the_way_out(self):
        import torch_geometric
        for module, version, words in (
                (torch, '2.1.2+cpu', 'needs torch 2.2 or newer, and 2.1.2+cpu is '
                 'installed; pip install --upgrade torch$'),
                (torch_geometric, '2.4.0', 'needs torch_geometric 2.5 or newer')):
            with self.subTest(version), mock.patch.object(
                    module, '__version__', version), self.assertRaisesRegex(
                    fgnn.WrongState, words.replace('+', r'\+')):
                fgnn.loader(self.service.dataset, fanouts=[2])
        with mock.patch.object(torch, 'from_numpy', side_effect=RuntimeError(
                'Numpy is not available')), self.assertRaisesRegex(
                fgnn.WrongState, "pip install 'numpy<2', or a newer torch"):
            fgnn.loader(self.service.dataset, fanouts=[2])
        with mock.patch('importlib.import_module', side_effect=OSError(
                'libcudart.so.12: cannot open')), self.assertRaisesRegex(
                fgnn.WrongState, 'torch cannot be imported: libcudart'):
            fgnn.loader(self.service.dataset, fanouts=[2])

    def test_attributes_are_those_of_data(self):
        data = self.data()
        data.edge_weight = torch.rand(6000) + .1
        data.edge_attr = torch.arange(6000)
        data.n_id = torch.arange(1000) + 5
        data.x = data.x.double()
        data.name = 'mine'
        for weight_attr in (None, 'edge_weight'):
            # Vertices without edges too, one a batch.
            for batch in fgnn.NeighborLoader(
                    data, [2, 2], input_nodes=torch.arange(880, 920),
                    weight_attr=weight_attr):
                ids = batch.n_id
                self.assertTrue(torch.equal(batch.x, data.x[ids]))
                self.assertEqual(batch.x.dtype, torch.float64)
                self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
                self.assertTrue(torch.equal(batch.edge_weight,
                                            data.edge_weight[batch.e_id]))
                self.assertTrue(torch.equal(data.edge_index[:, batch.e_id],
                                            ids[batch.edge_index]))
                self.assertEqual(batch.name, 'mine')
        # Equal edges keep their order, so that each has its own weight.
        written, = (self.service.folder / 'cache/fgnn').glob(
            '*/edge_weights.npy')
        self.assertTrue(torch.equal(
            torch.from_numpy(numpy.load(written)),
            data.edge_weight[fgnn.NeighborLoader(data, [2])._edge_of]))

    def test_ranks_are_those_of_the_caller(self):
        with mock.patch.dict(os.environ, {'RANK': '1', 'WORLD_SIZE': '2'}):
            loader = fgnn.NeighborLoader(self.data(), [2], batch_size=300)
            self.assertEqual((len(loader), len(list(loader))), (4, 4))
            self.assertEqual(
                len(fgnn.loader(self.service.dataset, fanouts=[2],
                                batch_size=200)), 1)

    def test_a_block_has_the_edges_of_its_hop(self):
        fields = {'fanouts': [3, 4], 'batch_size': 200, 'resample': False}
        for batch, blocks in zip(
                fgnn.loader(self.service.dataset, **fields),
                fgnn.loader(self.service.dataset, layout='blocks', **fields)):
            first, last = blocks.blocks
            # The last hop has all edges of the batch.
            edges = sorted(batch.edge_index.t().tolist())
            self.assertEqual(sorted(first.edge_index.t().tolist()), edges)
            self.assertEqual(
                sorted(last.edge_index.t().tolist()),
                sorted(batch.edge_index.t()
                       [:batch.num_sampled_edges[0]].tolist()))
            self.assertEqual(first.edge_index.dtype, torch.int64)

    def test_a_resampled_job_has_no_edge_index(self):
        with self.assertRaisesRegex(fgnn.InvalidJob, 'sampling.resample'):
            fgnn.loader(self.service.dataset, fanouts=[2, 2], resample=True)

    def test_batches_are_copied_to_a_device_one_ahead(self):
        """Without a GPU: a stand-in counts what torch is asked for."""
        events = []

        class Stream:
            def __init__(self, device=None):
                self.device = device

            def wait_event(self, event):
                events.append(('wait', event.of))

        class Event:
            def record(self, stream):
                self.of = events.count('copy')

        own, patches = [], []

        def of_stream(stream):
            own.append(stream)
            return contextlib.nullcontext()

        def patch(target, name, new):
            patches.append(mock.patch.object(target, name, new))

        def note(word):
            def method(data, *words, **named):
                events.append(word)
                return data
            return method

        patch(torch.cuda, 'is_available', lambda: True)
        patch(torch.cuda, 'Stream', Stream)
        patch(torch.cuda, 'Event', Event)
        patch(torch.cuda, 'stream', of_stream)
        patch(torch.cuda, 'current_stream', Stream)
        patch(Data, 'pin_memory', note('pin'))
        patch(Data, 'to', note('copy'))
        patch(Data, 'record_stream', note('record'))
        with contextlib.ExitStack() as stack:
            for one in patches:
                stack.enter_context(one)
            loader = fgnn.loader(self.service.dataset, fanouts=[2, 2],
                                 batch_size=200, device='cuda:0')
            batches = iter(loader)
            first = next(batches)
            # The second one is under way before the first is handed out, which
            # does not wait for it.
            self.assertEqual(events, ['pin', 'copy'] * 2 +
                             [('wait', 1), 'record'])
            self.assertEqual((first.seq, loader.state_dict()['batch']), (0, 1))
            self.assertEqual(len(list(batches)), 2)
            self.assertEqual([events.count(word) for word in
                              ('pin', 'copy', 'record')], [3] * 3)
            self.assertEqual([event[1] for event in events
                              if event[0] == 'wait'], [1, 2, 3])
            self.assertEqual({stream.device for stream in own}, {'cuda:0'})
            self.assertEqual(len(set(map(id, own))), 1)
        for device, word in (('cuda', 'finds no GPU'), ('meta', "it is 'cpu'"),
                             ('gpu', 'device')):
            with self.assertRaisesRegex(fgnn.InvalidJob, word):
                fgnn.loader(self.service.dataset, fanouts=[2, 2],
                            device=device)

    def example(self, *words):
        done = subprocess.run(
            [sys.executable, '-B', *map(str, words)], env=self.environment,
            cwd=self.service.folder, capture_output=True, text=True,
            timeout=harness.COMMAND_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_example_of_graphsage_learns_and_goes_on(self):
        words = (EXAMPLES / 'pyg_graphsage.py', self.service.dataset)
        self.assertIn('epoch 6: loss', self.example(*words, 6))
        said = self.example(*words, 10)
        self.assertNotIn('epoch 6:', said)
        self.assertIn('epoch 10: loss', said)
        self.assertGreater(float(said.rpartition(' ')[2]), .8)

    def test_the_example_of_ddp_runs_on_two_ranks(self):
        said = self.example('-m', 'torch.distributed.run', '--nproc-per-node',
                            2, EXAMPLES / 'ddp_gatv2.py', self.service.dataset,
                            3)
        losses = [float(line.rpartition(' ')[2]) for line in said.splitlines()]
        self.assertEqual(len(losses), 3)
        self.assertLess(losses[2], losses[0])

    def train(self, state, result, kill_after=None, then_seconds=0):
        """Trains an epoch a kill. The kill comes within a batch."""
        words = [sys.executable, '-c', TRAINS, str(self.service.dataset),
                 str(state), str(result), str(KILLS)]
        with subprocess.Popen(words, env=self.environment, text=True,
                              stdout=subprocess.PIPE) as process:
            seen = 0
            for line in process.stdout:
                seen += 1
                if seen == kill_after:
                    time.sleep(then_seconds)
                    process.send_signal(signal.SIGKILL)
                    break
            process.stdout.read()
        return process.returncode

    def test_weights_over_kills_are_those_of_an_undisturbed_run(self):
        folder = pathlib.Path(self.service.folder)
        self.assertEqual(self.train(folder / 'a.pt', folder / 'a.out'), 0)
        draws = random.Random(int(os.environ.get('FGNN_TEST_SEED', 1)))
        for _ in range(KILLS):
            self.assertEqual(self.train(
                folder / 'b.pt', folder / 'b.out', draws.randint(1, 15),
                draws.uniform(0, .02)), -signal.SIGKILL)
        self.assertEqual(self.train(folder / 'b.pt', folder / 'b.out'), 0)
        one, other = (torch.load(folder / name) for name in ('a.out', 'b.out'))
        self.assertEqual(one.keys(), other.keys())
        for name, value in one.items():
            self.assertTrue(torch.equal(value, other[name]), name)
