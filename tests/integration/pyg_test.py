"""Checkpoints mean the same to PyTorch Geometric and DGL as to us."""

import json
import pathlib
import subprocess
import sys

import harness

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'bench/peers'))
import environment  # noqa: E402

PYTHON = environment.HOME / 'bin/python'
# gcn-right: of model.degree_norm: right.
KINDS = ('graphsage', 'gcn', 'gcn-right', 'gin')


# Importing them takes seconds; finding them does not.
FIND = ('import importlib.util as u; import sys; '
        'sys.exit(not all(map(u.find_spec, ("dgl", "torch_geometric"))))')


def peers_are_there():
    return PYTHON.exists() and subprocess.run(
        [PYTHON, '-c', FIND], check=False).returncode == 0


class PygTest(harness.ServiceTest):

    def setUp(self):
        if not peers_are_there():
            self.skipTest('no torch_geometric and dgl in .deps/peers; '
                          'tests/bench/peers/environment.py installs them')
        super().setUp()

    def words_for(self, kind):
        """Trains a model and predicts with it."""
        settings = {'model.kind': kind.removesuffix('-right'),
                    'model.layers': 3, 'sampling.fanouts': '[5, 5, 5]'}
        if kind.endswith('-right'):
            settings['model.degree_norm'] = 'right'
        run = self.service.run(settings)
        checkpoint = run / 'checkpoints/best.safetensors'
        probabilities = run / 'probabilities.npy'
        self.service.fgnn('predict', str(run), '--checkpoint', str(checkpoint),
                          '--dataset', str(self.service.dataset), '--what',
                          'probabilities', '--out', str(probabilities))
        return ['--model', kind, checkpoint, probabilities]

    def test_their_modules_give_our_logits(self):
        words = [word for kind in KINDS for word in self.words_for(kind)]
        answer = subprocess.run(
            [PYTHON, HERE / 'peer_models.py', '--dataset',
             self.service.dataset, *words], check=False, capture_output=True,
            text=True, timeout=harness.COMMAND_SECONDS)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        differences = json.loads(answer.stdout.splitlines()[-1])
        self.assertEqual(set(differences), set(KINDS))
        for kind, by_peer in differences.items():
            for peer, difference in by_peer.items():
                self.assertLess(difference, 1e-4, f'{kind} by {peer}')
