"""Jobs on GPUs, which are emulated: the batches of cores, and weights that no
fault changes."""

import pathlib
import re
import shutil
import subprocess
import tarfile

import emulated
import harness

GPU = pathlib.Path(__file__).resolve().parents[1] / 'gpu'

JOB = {'training.batches_per_step': 2, 'training.epochs': 2}
ALONE = {'devices': '[cuda:0]'}
# Some hundred batches.
LONG = {**JOB, 'training.epochs': 30, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0, 'limits.restarts': 100}
# Less than the graph takes.
FEW_BYTES = 64 << 10


class CudaTest(emulated.EmulatedTest):

    def refused(self, settings, *words):
        """What a job that does not run says, in one line."""
        result = self.service.fgnn(
            'run', *self.service.job_words({**JOB, **settings}), *words,
            check=False)
        self.assertNotEqual(result.returncode, 0)
        return result.returncode, result.stderr


class JobTest(CudaTest):

    def assert_like_on_cores(self, run_dir, expected):
        """The same batches, and scores that differ by rounding alone."""
        self.assert_same_digests(run_dir, expected)
        for line, other in zip(harness.lines_of(run_dir),
                               harness.lines_of(expected), strict=True):
            self.assertAlmostEqual(line['loss'], other['loss'], delta=1e-3)
            self.assertAlmostEqual(line['valid_accuracy'],
                                   other['valid_accuracy'], delta=0.02)

    def test_who_samples_and_who_trains_changes_no_batch(self):
        """All trainers are GPUs, so that the weights are the same too."""
        self.set_gpus(GPUS=2)
        on_cores = self.service.run(JOB, '--digest')
        expected = self.service.run({**JOB, **ALONE}, '--digest')
        self.assert_like_on_cores(expected, on_cores)
        for run_dir, is_there in ((expected, True), (on_cores, False)):
            checkpoint = run_dir / 'checkpoints' / 'best.safetensors'
            self.assertEqual(b'"gpu":"emulated"' in checkpoint.read_bytes(),
                             is_there)
        for settings in ({**ALONE, 'executors': 'factored'},
                         {'devices': '[cuda:0, cuda:1]'},
                         {'devices': '[cuda:0, cpu:0]'},
                         {'devices': '[cpu:0, cuda:1+cpu:1]'}):
            run_dir = self.service.run({**JOB, **settings}, '--digest')
            self.assert_same_run(run_dir, expected)
        self.assertNotIn(
            'does not write tasks directly',
            (self.service.state_dir / 'logs/sampler.0.log').read_text())

    def test_vertices_that_send_messages_learn_as_on_cores(self):
        for model in ({'model.kind': 'pinsage',
                       'sampling.kind': 'random_walk'},
                      {'model.aggregator': 'pool'}):
            job = {**JOB, **model}
            on_cores = self.service.run(job, '--digest')
            run_dir = self.service.run({**job, **ALONE}, '--digest')
            self.assert_like_on_cores(run_dir, on_cores)

    def test_tf32_learns_as_f32_does(self):
        job = {**JOB, **ALONE}
        expected = self.service.run(job, '--digest')
        run_dir = self.service.run({**job, 'training.precision': 'tf32'},
                                   '--digest')
        self.assert_like_on_cores(run_dir, expected)
        self.assertNotEqual(harness.last_weights(run_dir),
                            harness.last_weights(expected))

    def test_cores_beside_a_gpu_sample(self):
        self.service.fgnn('up')
        job = self.service.submit(
            {**harness.ENDLESS, 'devices': '[cuda:0, cpu:0]'})
        self.service.wait_until_it_trains(job)
        executors = self.service.json('show', job)['progress']['executors']
        self.assertEqual(
            {executor['name']: executor['device'] for executor in executors},
            {'sampler.0': 'cpu:0', 'trainer.0': 'cuda:0'})
        self.service.fgnn('cancel', job)
        self.end_service()

    def test_a_gpu_that_fails_costs_its_daemons_and_no_weight(self):
        job = {**LONG, **ALONE}
        expected = self.service.run(job, '--digest')
        self.set_gpus(GPU_CALLS=8000)
        run_dir = self.service.run(job, '--digest')
        summary = harness.summary_of(run_dir)
        self.assertGreater(summary['restarts'], 0)
        self.assertRegex(
            ''.join((self.service.state_dir / f'logs/{name}.0.log').read_text()
                    for name in ('sampler', 'trainer')),
            'cudaErrorIllegalAddress.*; this process ends')
        self.assert_same_run(run_dir, expected)


class NumberTest(CudaTest):

    def test_a_job_asks_for_gpus_by_number(self):
        self.set_gpus(GPUS=2)
        expected = self.service.run(
            {**JOB, 'devices': '[cuda:0, cuda:1]'}, '--digest')
        run_dir = self.service.run(
            {**JOB, 'devices': '{kind: cuda, min: 1, max: 2}'}, '--digest')
        self.assert_same_run(run_dir, expected)
        code, said = self.refused({'devices': '{kind: cuda, min: 3}'})
        self.assertEqual(code, 2, said)
        self.assertIn('devices: needs 3 GPUs, this machine has 2', said)

    def test_a_service_gives_the_gpus_that_it_has(self):
        self.service.fgnn('up', '--devices', 'cpu:0', 'cuda:0')
        code, said = self.refused({'devices': '{kind: cuda, min: 2}'})
        self.assertEqual(code, 2, said)
        self.assertIn('devices: needs 2 devices of kind cuda, the service has '
                      '1: cuda:0', said)
        self.service.fgnn('down')

    def test_a_machine_without_gpus_says_why(self):
        self.set_gpus(GPUS=0)
        code, said = self.refused({'devices': '{kind: cuda}'})
        self.assertEqual(code, 2, said)
        self.assertRegex(said, "needs 1 GPU, but none can be used: .*NVIDIA's "
                               'driver')


class GpuScriptTest(CudaTest):

    def test_jobs_for_a_gpu_run_in_the_emulator_too(self):
        done = subprocess.run(
            [GPU / 'jobs.py', '--bin', self.programs, '--scale', '10', '--hidden', '8',
             '--batch-size', '32', '--kills', '2', '--only', 'batches',
             '--only', 'kills', '--only', 'resume'],
            capture_output=True, text=True, check=False,
            timeout=3 * harness.COMMAND_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r'daemons killed +[12] kills')
        self.assertEqual(done.stdout.splitlines()[-1], '11 passed, 0 failed')

    def run_packed(self, folder, *words):
        done = subprocess.run(
            [folder / 'run', *words], capture_output=True, text=True,
            check=False, timeout=3 * harness.COMMAND_SECONDS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_an_archive_runs_elsewhere_and_labels_say_what_ran(self):
        programs = self.service.folder / 'gpu'
        programs.mkdir()
        shutil.copy('/bin/echo', programs / 'fgnn_gpu_x')
        (programs / 'bin').symlink_to(self.programs)
        archive = self.service.folder / 'packed.tgz'
        self.run_packed(GPU, '--bin', programs, '--pack', archive)
        with tarfile.open(archive) as packed:
            packed.extractall(self.service.folder)
        packed = self.service.folder / 'packed'
        self.assertTrue(any((packed / 'lib').glob('libgrpc*')))
        words = ('jobs', '--only', 'turns', '--only', 'epochs.gin',
                 '--results', self.service.folder / 'results', '--',
                 '--scale', '9', '--hidden', '8', '--batch-size', '16')
        said = self.run_packed(packed, *words)
        turns = re.findall(r'executors (.*?)  .* s +\[cuda:0\] (\w+), batches '
                           r'of 16, 512 vertices, (\d+) changes', said)
        self.assertEqual([(way, executors, int(switches) > 0)
                          for way, executors, switches in turns],
                         [('take turns', 'factored', True),
                          ('share the GPU', 'together', False)])
        for precision in ('f32', 'tf32', 'bf16'):
            for devices in (r'\[cuda:0\]', r'\[cuda:0, cpu:0\S*\]'):
                self.assertRegex(said, f'gin {precision}: an epoch .*{devices} '
                                       'together, batches of 16, 512 vert')
        with tarfile.open(self.service.folder / 'results.tgz') as kept:
            self.assertEqual(kept.getnames(),
                             ['jobs/epochs.gin.txt', 'jobs/turns.txt'])
        # Both count without a run.
        self.assertEqual(self.run_packed(packed, *words).splitlines()[-1],
                         '8 passed, 0 failed')


class DoctorTest(CudaTest):

    def test_names_the_gpus_or_why_there_are_none(self):
        self.set_gpus(GPUS=2)
        self.assertRegex(self.service.fgnn('doctor').stdout,
                         r'ok +GPUs +cuda:0 emulated, 256.0 MiB; cuda:1 (.|\n)*'
                         r'ok +cuBLAS +emulated\n'
                         r'ok +NCCL +2\.\d+\.\d+\n')
        self.set_gpus(GPUS=0)
        self.assertRegex(self.service.fgnn('doctor').stdout,
                         r"ok +GPUs +none; .*NVIDIA's driver")
        self.set_gpus(NCCL='missing', CUBLAS='missing')
        said = self.service.fgnn('doctor').stdout
        self.assertRegex(said, 'ok +NCCL +none; .*pip install --no-deps')
        self.assertRegex(said, 'ok +cuBLAS +none; training on cuda devices '
                               'needs .*pip install --no-deps')


class RefusalTest(CudaTest):

    def test_a_gpu_without_memory_for_the_graph_fails_the_job(self):
        self.set_gpus(GPU_BYTES=FEW_BYTES)
        code, said = self.refused(ALONE)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r'cuda:0 has .* of 64.0 KiB left, and a job\'s '
                               r'topology takes .*; sample on a cpu device')

    def test_a_gpu_that_is_not_there_is_named(self):
        code, said = self.refused({'devices': '[cpu:0, cuda:3]'})
        self.assertEqual(code, 2, said)
        self.assertIn('devices: cuda:3: this machine has 1 GPU, cuda:0; name '
                      'another device, e.g. cpu:0', said)

    def test_a_machine_without_a_driver_is_named(self):
        self.set_gpus(GPUS=0)
        code, said = self.refused(ALONE)
        self.assertEqual(code, 2, said)
        self.assertIn('devices: cuda:0: no GPU can be used: CUDA finds no GPU',
                      said)
        self.assertIn("NVIDIA's driver", said)
        up = self.service.fgnn('up', '--devices', 'cuda:0', check=False)
        self.assertEqual(up.returncode, 2, up.stderr)
        self.assertIn('devices: cuda:0: no GPU can be used', up.stderr)
        self.assert_nothing_left()

    def test_gpus_of_two_models_do_not_train_one_job(self):
        self.set_gpus(GPUS=2, LAST_GPU='another')
        code, said = self.refused({'devices': '[cuda:0, cuda:1]'})
        self.assertRegex(said, 'trainers are not of one kind, and this one is '
                               'of (emulated|another): .* name GPUs of one '
                               'model, or use training.sync')
        self.service.run({**JOB, 'devices': '[cuda:1]'})
        self.service.run({**JOB, 'devices': '[cuda:0, cuda:1]',
                          'training.sync': 'bounded_staleness'})

    def test_models_that_only_cores_train_are_refused_at_once(self):
        code, said = self.refused({**ALONE, 'model.kind': 'plugin',
                                   'model.plugin': '/model.so'})
        self.assertEqual(code, 2, said)
        self.assertIn('model.kind plugin trains on cores of the host alone; '
                      'name no GPU in devices', said)

    def test_cores_beside_a_gpu_share_no_time(self):
        code, said = self.refused({'devices': '[cuda:0, cpu:0]',
                                   'executors': 'time_sharing'})
        self.assertEqual(code, 2, said)
        self.assertIn('cpu:0 only samples beside a GPU', said)
