"""Predictions on a GPU, which is emulated, beside those of cores."""

import emulated
from npy_array import values


class CudaPredictTest(emulated.EmulatedTest):

    def predict(self, run, *words, check=True):
        return self.service.fgnn(
            'predict', str(run), '--dataset', str(self.service.dataset),
            '--what', 'probabilities', '--out',
            str(self.service.folder / 'out.npy'), '--force', *words,
            check=check)

    def rows(self):
        return values((self.service.folder / 'out.npy').read_bytes())

    def run_model(self, **model):
        """The folder of a job that a GPU has trained."""
        return self.service.run({'training.epochs': 1, 'devices': '[cuda:0]',
                                 **model})

    def rows_on_gpu(self, run):
        """Those of a GPU, which are near those of cores."""
        self.predict(run)
        on_cores = self.rows()
        answer = self.predict(run, '--device', 'cuda:0')
        self.assertNotIn('cores of the host', answer.stderr)
        on_gpu = self.rows()
        self.assertEqual(len(on_gpu), len(on_cores))
        for one, other in zip(on_gpu, on_cores):
            self.assertAlmostEqual(one, other, delta=1e-5)
        return on_gpu

    def test_predictions_of_a_gpu_are_those_of_cores(self):
        run = self.run_model()
        on_gpu = self.rows_on_gpu(run)
        self.predict(run, '--device', 'cuda:0')
        self.assertEqual(self.rows(), on_gpu)
        refused = self.predict(run, '--device', 'cuda:1', check=False)
        self.assert_user_error(refused, '--device: cuda:1 is not there')

    def test_so_are_those_of_vertices_that_send_messages(self):
        self.rows_on_gpu(self.run_model(**{'model.kind': 'pinsage',
                                           'sampling.kind': 'random_walk'}))
        self.rows_on_gpu(self.run_model(**{'model.aggregator': 'pool'}))
