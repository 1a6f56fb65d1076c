"""The Python client against a service that says what a test wants."""

import io
import json
import os
import pathlib
import warnings

import client_case
from client_case import fgnn

import fake_job_service
import grpc
from fgnn import progress, spec
from fgnn.v1 import job_service_pb2 as pb

SPEC = {'dataset': 'graph', 'sampling': {'fanouts': (5, 5)}}


class CallsTest(client_case.ClientTest):

    def test_a_submission_carries_all_that_it_was_given(self):
        first = self.client.submit(SPEC)
        job = self.client.submit(
            SPEC, run_dir='results', name='mine', priority=-3,
            after=[first, 'other'], retries=2, time_limit=7.6, key='one',
            overrides={'training.epochs': 3}, digest=True)
        _, request = self.service.calls[-1]
        self.assertEqual(
            request, pb.SubmitJobRequest(
                spec=request.spec, run_dir=os.path.abspath('results'),
                name='mine', priority=-3, after=['job-0', 'other'], retries=2,
                time_limit_seconds=8, client_key='one', digest=True))
        self.assertEqual(job.spec, {
            'dataset': os.path.abspath('graph'),
            'sampling': {'fanouts': [5, 5]}, 'training': {'epochs': 3}})
        self.assertEqual(job.state, 'queued')

    def test_the_services_notes_are_warnings(self):
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            self.client.submit(SPEC)
        self.service.notes = ['this field', 'that field']
        with self.assertWarns(UserWarning) as caught:
            self.client.submit(SPEC)
        self.assertEqual([str(one.message) for one in caught.warnings],
                         self.service.notes)
        self.assertEqual(caught.filename, __file__)

    def test_a_run_that_ended_is_gone_on_with_in_its_folder(self):
        self.client.resume(self.folder)
        (_, request), = self.service.calls
        self.assertEqual(request, pb.SubmitJobRequest(
            run_dir=str(self.folder), resume=True,
            client_key=request.client_key))

    def test_a_submission_that_met_the_end_of_the_service_is_made_again(self):
        self.service.refuse = [(grpc.StatusCode.UNAVAILABLE, 'ending')]
        self.client.submit(SPEC)
        self.client.submit(SPEC)
        keys = [request.client_key for _, request in self.service.calls]
        self.assertEqual(keys[0], keys[1])
        self.assertNotEqual(keys[1], keys[2])
        self.assertEqual(len(self.service.jobs), 2)

    def test_every_call_has_a_deadline(self):
        job = self.client.submit(SPEC)
        self.service.tell(pb.Job(job_id=job.id, state=pb.JOB_STATE_COMPLETED))
        job.refresh().pause().resume().cancel().wait()
        self.assertIs(job.delete(), True)
        list(self.client.jobs())
        job.metrics()
        self.client.service()
        self.assertEqual({method for method, _ in self.service.calls}, {
            method.name for method in
            pb.DESCRIPTOR.services_by_name['JobService'].methods
        } - {'KeepRunning', 'Shutdown'})
        for seconds in self.service.remaining:
            self.assertLess(seconds, 3600)

    def test_each_status_has_its_class_and_the_message_of_the_service(self):
        for code, kind in (
                ('INVALID_ARGUMENT', fgnn.InvalidJob),
                ('NOT_FOUND', fgnn.NotFound),
                ('ALREADY_EXISTS', fgnn.AlreadyExists),
                ('PERMISSION_DENIED', fgnn.PermissionDenied),
                ('FAILED_PRECONDITION', fgnn.WrongState),
                ('RESOURCE_EXHAUSTED', fgnn.OutOfResources),
                ('DATA_LOSS', fgnn.DataLoss),
                ('DEADLINE_EXCEEDED', fgnn.DeadlineExceeded),
                ('INTERNAL', fgnn.Error)):
            with self.subTest(code):
                self.service.refuse = [
                    (getattr(grpc.StatusCode, code), f'{code} it is')]
                with self.assert_raises(kind, f'^{code} it is$') as caught:
                    self.client.job('job-0')
                self.assertEqual(caught.exception.code, code)

    def test_no_service_is_told_with_the_folder_and_the_command(self):
        self.service.stop()
        with self.assert_raises(fgnn.Unavailable, self.folder, 'fgnn up'):
            fgnn.Client(self.folder)

    def test_jobs_come_by_pages(self):
        for i in range(230):
            self.service.jobs[i] = pb.Job(job_id=f'job-{i:03}')
        found = [job.id for job in self.client.jobs()]
        self.assertEqual(found, [f'job-{i:03}' for i in range(229, -1, -1)])
        self.assertEqual(
            len(list(self.client.jobs(limit=120, state='failed', user='x',
                                      search='y'))), 120)
        _, request = self.service.calls[-1]
        self.assertEqual(request, pb.ListJobsRequest(
            limit=20, states=[pb.JOB_STATE_FAILED], user='x', search='y',
            before_job_id='job-130'))
        with self.assert_raises(ValueError, 'runing', 'running'):
            list(self.client.jobs(state=['queued', 'runing']))

    def test_metrics_are_a_table_by_epoch(self):
        job = self.client.submit(SPEC)
        self.assertEqual(len(job.metrics()), 0)
        self.service.metric_lines = [
            json.dumps({'epoch': i, 'loss': 1.0 / i, 'valid_mrr': None,
                        'stages': {'train': i}}) for i in range(1, 6)]
        table = job.metrics()
        self.assertEqual(list(table.index), [1, 2, 3, 4, 5])
        self.assertEqual(table['loss'][4], 0.25)
        self.assertEqual(list(table['stages.train']), [1, 2, 3, 4, 5])

    def test_scores_that_there_are_not_are_none(self):
        self.service.tell(pb.Job(
            job_id='job-0', state=pb.JOB_STATE_COMPLETED,
            progress=pb.JobProgress(seconds_left=-1,
                                    test={'rmse': 0.0})))
        progress = self.client.submit(SPEC).wait().progress
        self.assertIsNone(progress.seconds_left)
        self.assertIsNone(progress.evaluated)
        self.assertIsNone(progress.valid_accuracy)
        self.assertIsNone(progress.valid_mrr)
        self.assertIsNone(progress.valid_rmse)
        self.assertEqual(progress.test_rmse, 0)

    def test_the_summary_is_that_of_the_runs_folder(self):
        self.service.tell(pb.Job(job_id='job-0', run_dir=str(self.folder),
                                 state=pb.JOB_STATE_COMPLETED))
        job = self.client.submit(SPEC).wait()
        (self.folder / 'summary.json').write_text('{"best_epoch": 2}')
        self.assertEqual(job.summary()['best_epoch'], 2)


class WatchTest(client_case.ClientTest):

    def test_plain_lines_where_there_is_no_terminal(self):
        job = self.client.submit(SPEC)
        self.service.metric_lines = [
            json.dumps({'epoch': i, 'loss': 0.25, 'valid_accuracy': 0.75})
            for i in (1, 2)]
        self.service.tell(
            pb.Job(job_id='job-0', state=pb.JOB_STATE_QUEUED,
                   waiting_for='behind job-1'),
            pb.Job(job_id='job-0', state=pb.JOB_STATE_PREPARING,
                   progress=pb.JobProgress(phase='validating data')),
            self.running(3), self.running(12, epochs_done=1),
            pb.Job(job_id='job-0', state=pb.JOB_STATE_COMPLETED,
                   progress=pb.JobProgress(epochs=2, epochs_done=2)))
        out = io.StringIO()
        states = [(now.state, now.progress.batches_committed)
                  for now in job.watch(out)]
        self.assertEqual(states, [
            ('queued', 0), ('preparing', 0), ('running', 3), ('running', 12),
            ('completed', 0)])
        self.assertEqual(out.getvalue().splitlines(), [
            'queued: behind job-1', 'preparing: validating data',
            'epoch 1/2  loss 0.2500  valid accuracy 0.7500',
            'epoch 2/2  loss 0.2500  valid accuracy 0.7500', 'completed'])

    def test_each_epoch_is_told_once_where_a_run_goes_back(self):
        def lines(epochs):
            return [json.dumps({'epoch': i, 'loss': 0.25})
                    for i in range(1, epochs + 1)]
        job = self.client.submit(SPEC)
        self.service.metric_lines = lines(5)
        self.service.tell(
            self.running(1, epochs_done=5), self.running(2, epochs_done=3),
            pb.Job(job_id='job-0', state=pb.JOB_STATE_COMPLETED,
                   progress=pb.JobProgress(epochs=7, epochs_done=7)))
        out = io.StringIO()
        for now in job.watch(out):
            self.service.metric_lines = lines(
                {5: 3, 3: 7, 7: 7}[now.progress.epochs_done])
        told = [line.split('/')[0] for line in out.getvalue().splitlines()
                if line.startswith('epoch')]
        self.assertEqual(len(told), 7)
        self.assertEqual(len(set(told)), 7)

    def test_a_bar_fits_its_line(self):
        state = fgnn.JobState.RUNNING
        self.service.tell(self.running(12, epochs_done=1, edges_per_second=2e6))
        now = next(self.client.job('job-0').watch(progress=False)).progress
        self.assertIsNone(now.seconds_left)
        self.assertEqual(
            progress.bar(state, now, 79),
            'epoch 2/2 [==================>           ] 2/10  loss 0.5000  '
            '2.0 M edges/s')
        self.assertEqual(progress.bar(state, now, 40),
                         'epoch 2/2 [======>   ] 2/10  loss 0.5000')
        for width in range(1, 100):
            self.assertLessEqual(len(progress.bar(state, now, width)), width)

    def test_who_leaves_off_ends_the_stream(self):
        self.service.tell(self.running(1))
        for _ in self.client.job('job-0').watch(progress=False):
            break
        self.assertTrue(
            self.service.client_left.wait(fake_job_service.SECONDS))

    def test_it_goes_on_with_a_service_that_was_started_again(self):
        self.service.tell(self.running(1))
        watch = self.client.job('job-0').watch(progress=False)
        self.assertEqual(next(watch).progress.batches_committed, 1)
        self.service.stop()
        self.serve()
        self.service.tell(self.running(2), pb.Job(
            job_id='job-0', state=pb.JOB_STATE_COMPLETED))
        self.assertEqual([now.state for now in watch],
                         ['running', 'completed'])

    def test_a_stream_that_is_never_told_is_an_error(self):
        job = self.client.job('job-0')
        self.service.refuse = [(grpc.StatusCode.UNAVAILABLE, 'not now')] * 9
        with self.assert_raises(fgnn.Unavailable, 'not now'):
            list(job.watch(progress=False))
        self.assertLess(len(self.service.calls), 9)

    def test_the_end_of_a_job_that_was_waited_for(self):
        job = self.client.submit(SPEC)
        ends = {
            pb.JOB_STATE_COMPLETED: None,
            pb.JOB_STATE_FAILED: fgnn.JobFailed,
            pb.JOB_STATE_CANCELLED: fgnn.JobCancelled}
        for state, kind in ends.items():
            self.service.tell(pb.Job(
                job_id='job-0', state=state, error_message='no memory',
                error_code=8 if kind is fgnn.JobFailed else 0))
            if kind is None:
                self.assertIs(job.wait(), job)
                self.assertIsNone(job.error)
            else:
                with self.assert_raises(kind, 'job-0') as caught:
                    job.wait()
        self.assertEqual(caught.exception.code, 'CANCELLED')
        self.service.tell(pb.Job(
            job_id='job-0', state=pb.JOB_STATE_FAILED, error_code=8,
            error_message='no memory'))
        with self.assert_raises(fgnn.JobFailed, 'job-0', 'no memory') as caught:
            job.wait()
        self.assertEqual(caught.exception.code, 'RESOURCE_EXHAUSTED')
        self.assertEqual(job.error, ('RESOURCE_EXHAUSTED', 'no memory'))

    def test_waiting_has_an_end(self):
        self.service.tell(self.running(1))
        with self.assert_raises(TimeoutError, 'job-0', 'running'):
            self.client.job('job-0').wait(timeout=-1)


class SpecTest(client_case.ClientTest):

    def test_values_as_yaml_would_spell_them(self):
        read = spec.from_dict({
            'dataset': pathlib.Path('/d/../graph'), 'samplers': 'auto',
            'training': {'seed': 2**64 - 1, 'learning_rate': '1e-3',
                         'epochs': 1e3}, 'cache': None,
            'model': {'residual': True, 'file': 'm.pt'}})
        self.assertEqual(spec.to_dict(read), {
            'dataset': '/graph', 'samplers': 0, 'cache': {},
            'training': {'seed': 2**64 - 1, 'learning_rate': 0.001,
                         'epochs': 1000},
            'model': {'residual': True, 'file': os.path.abspath('m.pt')}})

    def test_a_second_document_of_a_job_file(self):
        job = self.folder / 'job.yaml'
        job.write_text('---\ndataset: g\n---\n')
        self.assertEqual(spec.from_file(job).dataset, str(self.folder / 'g'))
        job.write_text('dataset: g\n---\ntraining: {epochs: 3}\n')
        with self.assert_raises(fgnn.InvalidJob, f'{job}:3: a second document'):
            spec.from_file(job)

    def test_a_number_or_a_block_in_the_place_of_device_names(self):
        for devices, wanted in ((2, {'min': 2}), ('3', {'min': 3}), ({}, {}),
                                ({'kind': 'cpu', 'max': 4},
                                 {'max': 4, 'kind': 'cpu'}),
                                (['cpu:0'], ['cpu:0'])):
            with self.subTest(devices):
                read = spec.from_dict({'devices': devices})
                self.assertEqual(spec.to_dict(read), {'devices': wanted})
                spec.override('devices', ['cpu:1'], read)
                self.assertEqual(spec.to_dict(read), {'devices': ['cpu:1']})
                spec.override('devices.max', 5, read)
                self.assertEqual(spec.to_dict(read), {'devices': {'max': 5}})

    def test_a_word_in_the_place_of_a_list_of_numbers(self):
        read = spec.from_dict({'hosts': {'shares': 'auto'}})
        self.assertEqual(list(read.hosts.shares), [0])
        spec.override('hosts.shares', [2, 0], read)
        self.assertEqual(list(read.hosts.shares), [2, 0])

    def test_what_is_wrong_is_named_before_any_call(self):
        for job, *names in (
                ({'hosts': {'shares': ['auto', 1]}}, 'hosts.shares',
                 "'auto' is not a whole number"),
                ({'hosts': {'shares': 'fast'}},
                 r'hosts.shares takes a list; write \[fast\] or auto'),
                ({'sampling': {'fanout': [5]}}, "'fanout' in sampling",
                 "'fanouts'"),
                ({'epochs': 3}, "'epochs'", "'training.epochs'"),
                ({'training': {'lr': 3}}, "'lr' in training",
                 "'learning_rate'"),
                ({'model': {'lr': 3}}, "'training.learning_rate'"),
                ({3: 4}, "unknown key '3'"),
                ({'sampling': [5]}, 'sampling takes a block of keys'),
                ({'sampling': {'fanouts': 5}}, 'sampling.fanouts takes a list',
                 r'\[5\]'),
                ({'sampling': {'fanouts': [5, 'x']}}, 'sampling.fanouts',
                 "'x' is not a whole number"),
                ({'training': {'epochs': 1.5}}, 'training.epochs: 1.5'),
                ({'training': {'epochs': '1_0'}}, 'training.epochs'),
                ({'training': {'epochs': -1}}, 'training.epochs: -1',
                 '1 to 1000000'),
                ({'training': {'seed': 2**64}}, 'training.seed',
                 'out of range'),
                ({'samplers': 65}, 'samplers: 65', '0 to 64, or auto'),
                ({'devices': 0}, 'devices.min: 0 is out of range', '1 to 1024'),
                ({'devices': 'two'}, r'devices takes a list; write \[two\]'),
                ({'devices': {'least': 1}}, "'least' in devices"),
                ({'device_request': {}}, "unknown key 'device_request'"),
                ({'training': {'learning_rate': float('nan')}},
                 'training.learning_rate'),
                ({'model': {'residual': 1}}, 'model.residual', 'true'),
                ({'model': {'kind': ['gcn']}}, 'model.kind takes a word',
                 'a list'),
                ({'model': {'kind': None}}, 'model.kind has no value')):
            with self.subTest(job), self.assert_raises(fgnn.InvalidJob, *names):
                self.client.submit(job)
        for key, *names in (('training.epoch', "'epochs'"),
                            ('dataset.x', 'dataset has no keys within')):
            with self.assert_raises(fgnn.InvalidJob, *names):
                self.client.submit(SPEC, overrides={key: 1})
        for options in ({'priority': 'high'}, {'retries': -1},
                        {'time_limit': 0}, {'name': 3}):
            with self.assert_raises(fgnn.InvalidJob, ''):
                self.client.submit(SPEC, **options)
        self.assertEqual(self.service.calls, [])
