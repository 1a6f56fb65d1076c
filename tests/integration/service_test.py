"""The service: it starts, says what it does, and leaves nothing behind."""

import concurrent.futures
import json
import os
import shutil
import signal
import socket
import subprocess

import harness


class UpAndDownTest(harness.ServiceTest):

    def test_up_is_idempotent_and_down_leaves_nothing(self):
        first = self.service.json('up', '--devices', 'cpu:0')
        self.assertEqual(first['devices'], ['cpu:0'])
        self.assertTrue(os.path.exists(first['socket']))
        self.assertEqual(os.stat(first['socket']).st_mode & 0o777, 0o660)
        again = self.service.fgnn('up')
        self.assertIn(f'already, pid {first["pid"]}', again.stdout)
        self.assertEqual(self.service.json('status')['pid'], first['pid'])

        self.assertTrue(self.service.json('down')['stopped'])
        self.assert_nothing_left()
        self.assertFalse(self.service.json('down')['stopped'])
        status = self.service.fgnn('status', check=False)
        self.assertEqual(status.returncode, 1)
        self.assertIn('fgnn up', status.stderr)

    def test_several_ups_at_once_start_one_service(self):
        for _ in range(5):
            ups = [self.service.start('up', '--devices', 'cpu:0')
                   for _ in range(3)]
            answers = [up.communicate(timeout=harness.COMMAND_SECONDS)
                       for up in ups]
            said = [out.decode().splitlines()[0] if out else err.decode()
                    for out, err in answers]
            self.assertEqual([up.returncode for up in ups], [0, 0, 0], said)
            self.assertEqual(sum(line.startswith('the service runs, pid')
                                 for line in said), 1, said)
            self.assertEqual(sum(line.startswith('a service runs already, pid')
                                 for line in said), 2, said)
            self.service.fgnn('down')

    def test_down_ends_the_daemons_of_a_service_that_died(self):
        service = self.service.json('up', '--devices', 'cpu:0')
        self.service.wait_for(
            lambda: [one['state'] for one in
                     self.service.json('status')['executors']] == 2 * ['idle'],
            'the daemons')
        os.kill(service['pid'], signal.SIGKILL)
        self.service.wait_for(
            lambda: self.service.fgnn('status', check=False).returncode == 1,
            'the end of the scheduler')
        ended = self.service.json('down')
        self.assertEqual(ended, {'stopped': False, 'daemons_ended': 2})
        # The next `up` takes over its sockets.
        self.assertEqual(self.service.processes(), {})
        self.assertEqual(self.service.json('down')['daemons_ended'], 0)

    def test_up_makes_a_service_stay_that_was_to_end_with_its_job(self):
        run = self.service.start('run', *self.service.job_words(
            harness.ENDLESS), '--json')
        for line in harness.lines_within(run.stdout, harness.COMMAND_SECONDS):
            job = json.loads(line)['job_id']
            break
        before = self.service.json('status')
        self.assertTrue(before['exits_when_idle'])
        up = self.service.json('up')
        self.assertEqual(up['pid'], before['pid'])
        self.assertFalse(up['exits_when_idle'])
        self.service.fgnn('cancel', job)
        # run, which started the service, does not wait for its end.
        _, err = run.communicate(timeout=harness.END_SECONDS)
        self.assertEqual(err.decode(), f'fgnn: job {job} was cancelled\n')
        second = self.service.submit()
        self.service.fgnn('watch', second)
        after = self.service.json('status')
        self.assertEqual(after['pid'], before['pid'])
        self.assertFalse(after['exits_when_idle'])
        self.end_service()

    def test_all_processes_end_when_their_state_folder_is_gone(self):
        def remove_folder():
            gone = self.service.folder / 'gone'
            self.service.state_dir.rename(gone)
            shutil.rmtree(gone)
            self.assertEqual(self.service.wait_until_gone(), {})
            self.assertFalse(self.service.state_dir.exists())

        def run_job():
            run_dir = self.service.folder / 'run'
            shutil.rmtree(run_dir, ignore_errors=True)
            self.service.wait_until_it_trains(
                self.service.submit(harness.ENDLESS, run_dir=run_dir))

        self.service.fgnn('up')
        remove_folder()
        self.service.fgnn('up')
        run_job()
        remove_folder()
        # Its daemons work on without it.
        scheduler = self.service.json('up')['pid']
        run_job()
        os.kill(scheduler, signal.SIGKILL)
        remove_folder()

    def test_up_refuses_other_devices_than_the_service_has(self):
        pid = self.service.json('up', '--devices', 'cpu:0')['pid']
        other = self.service.fgnn('up', '--devices', 'cpu:0-1', check=False)
        self.assertEqual(other.returncode, 1, other.stdout)
        self.assertEqual(len(other.stderr.splitlines()), 1, other.stderr)
        self.assertIn('on cpu:0, but --devices asks for cpu:0-1', other.stderr)
        self.assertIn('fgnn down', other.stderr)
        same = self.service.json('up', '--devices', 'cpu:0')
        self.assertEqual(same['pid'], pid)

    def test_up_passes_rules_to_the_scheduler(self):
        graphs = self.service.folder / 'graphs'
        none = self.service.fgnn('up', '--dataset-root', str(graphs),
                                 check=False)
        self.assertEqual(none.returncode, 2, none.stderr)
        self.assertIn(f'--dataset-root {graphs}', none.stderr)
        empty = self.service.fgnn('up', '--run-root', '', check=False)
        self.assertEqual(empty.returncode, 2, empty.stderr)
        self.assertIn('--run-root is empty', empty.stderr)
        for name in ('graphs', 'more', 'runs'):
            (self.service.folder / name).mkdir()
        # A relative folder is one of the folder in which `up` is typed.
        rules = ('--dataset-root', 'graphs', '--dataset-root', 'more',
                 '--run-root', 'runs', '--max-jobs-per-user', '7')
        pid = json.loads(self.service.fgnn(
            'up', '--json', *rules, cwd=self.service.folder).stdout)['pid']
        with open(f'/proc/{pid}/cmdline', encoding='utf-8') as file:
            words = file.read().split('\0')
        self.assertIn('7', words[words.index('--max-jobs-per-user'):])
        submit = ('submit', *self.service.job_words())
        outside = self.service.fgnn(*submit, check=False)
        self.assertNotEqual(outside.returncode, 0)
        self.assertIn('--dataset-root', outside.stderr)
        self.service.dataset.rename(self.service.folder / 'more/graph')
        self.service.dataset = self.service.folder / 'more/graph'
        submit = ('submit', *self.service.job_words())
        outside = self.service.fgnn(
            *submit, '--run-dir', str(self.service.folder / 'run'), check=False)
        self.assertIn('--run-root', outside.stderr)
        job = self.service.json(*submit, '--run-dir',
                                str(self.service.folder / 'runs/one'))
        self.service.fgnn('watch', job['job_id'])
        again = self.service.fgnn('up', '--run-root', 'runs', check=False,
                                  cwd=self.service.folder)
        self.assertEqual(again.returncode, 1, again.stdout)
        self.assertIn('--run-root counts for a service that is started',
                      again.stderr)

    def test_a_flag_that_the_scheduler_refuses_is_wrong_use(self):
        answer = self.service.fgnn('up', '--devices', 'cpu:0', 'cpu:0', '--json',
                                   check=False)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertEqual(json.loads(answer.stdout)['code'], 'invalid_argument')
        self.assertEqual(len(answer.stderr.splitlines()), 1, answer.stderr)
        self.assertIn('share', answer.stderr)
        self.assertEqual(self.service.processes(), {})

    def test_up_outlives_the_terminal_it_was_typed_in(self):
        pid = self.service.json('up')['pid']
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        self.assertNotEqual(os.getpgid(pid), os.getpgid(0))

    def test_a_service_that_was_killed_is_replaced(self):
        pid = self.service.json('up')['pid']
        os.kill(pid, signal.SIGKILL)
        self.service.wait_until_gone([pid])
        self.assertNotEqual(self.service.json('up')['pid'], pid)
        self.end_service()

    def test_down_cancels_what_runs(self):
        self.service.fgnn('up')
        job = self.service.submit(harness.ENDLESS)
        self.service.wait_until_it_trains(job)
        self.end_service()

    def test_down_by_force_ends_a_service_that_hangs(self):
        pid = self.service.json('up')['pid']
        os.kill(pid, signal.SIGSTOP)
        forced = self.service.json('down', '--force')
        self.assertEqual(forced, {'stopped': True, 'pid': pid})
        # Without a wait: the daemons have ended too.
        self.assertEqual(self.service.processes(), {})
        self.assertFalse(self.service.json('down', '--force')['stopped'])
        self.service.fgnn('up')
        self.service.fgnn('down', '--force')
        self.assert_nothing_left()

    def test_down_by_force_spares_a_process_that_has_not_the_lock(self):
        pid = self.service.json('up')['pid']
        other = subprocess.Popen(['sleep', '1000'])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        (self.service.state_dir / 'fgnn.lock').write_text(f'{other.pid}\n')
        os.kill(pid, signal.SIGSTOP)
        answer = self.service.fgnn('down', '--force', check=False)
        self.assertIsNone(other.poll())
        self.assertEqual(answer.returncode, 1, answer.stderr)
        self.assertIn(f'not by the process {other.pid}', answer.stderr)

    def test_two_services_in_one_folder_are_refused(self):
        pid = self.service.json('up')['pid']
        second = subprocess.run(
            [harness.BIN_DIR / 'fgnn-scheduler', '--state-dir',
             self.service.state_dir, '--spawn-daemons'],
            capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS)
        self.assertEqual(second.returncode, 2, second.stderr)
        self.assertEqual(len(second.stderr.splitlines()), 1, second.stderr)
        self.assertIn(str(self.service.state_dir), second.stderr)
        self.assertEqual(self.service.json('status')['pid'], pid)

    def test_a_socket_in_use_by_something_else_is_named(self):
        self.service.state_dir.mkdir()
        with socket.socket(socket.AF_UNIX) as other:
            path = str(self.service.state_dir / 'scheduler.sock')
            other.bind(path)
            other.listen()
            # Each waits for an answer until its deadline: both at once.
            with concurrent.futures.ThreadPoolExecutor() as pool:
                answers = list(pool.map(
                    lambda words: self.service.fgnn(*words, check=False),
                    (['up'], ['run', *self.service.job_words()])))
            for answer in answers:
                self.assertEqual(answer.returncode, 1, answer.stderr)
                self.assertEqual(len(answer.stderr.splitlines()), 1,
                                 answer.stderr)
                self.assertIn(path, answer.stderr)
        self.assertEqual(self.service.processes(), {})


class SocketGroupTest(harness.ServiceTest):
    """Users without accounts: numbers, which only root can be."""

    GROUP = 64000
    MEMBER = {'user': 64002, 'group': 64002, 'extra_groups': [GROUP]}
    OUTSIDER = {'user': 64004, 'group': 64004, 'extra_groups': []}

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest('needs root, to be several users')
        if subprocess.run(['test', '-x', harness.BIN_DIR / 'fgnn'], check=False,
                          **self.OUTSIDER).returncode != 0:
            self.skipTest('other users cannot run fgnn')
        # As homes are: others may look in.
        self.service.folder.chmod(0o755)

    def refused(self, *words, code=1, **who):
        answer = self.service.fgnn(*words, check=False, **who)
        self.assertEqual(answer.returncode, code, answer.stdout)
        self.assertEqual(len(answer.stderr.splitlines()), 1, answer.stderr)
        return answer.stderr

    def can(self, words, **who):
        return subprocess.run(['sh', '-c', words], check=False,
                              cwd=self.service.state_dir,
                              capture_output=True, **who).returncode == 0

    def test_the_service_is_open_to_the_group_alone(self):
        service, state = self.service, self.service.state_dir
        words = service.job_words()
        service.fgnn('up', '--socket-group', str(self.GROUP))
        socket_file = os.stat(state / 'scheduler.sock')
        self.assertEqual((socket_file.st_gid, socket_file.st_mode & 0o777),
                         (self.GROUP, 0o660))
        own = json.loads(service.fgnn('submit', *service.job_words(
            harness.ENDLESS), '--json').stdout)['job_id']
        service.fgnn('pause', own)
        run = service.fgnn('run', *words, **self.MEMBER).stdout
        self.assertIn('epoch 2/2', run)
        job = json.loads(service.fgnn('show', 'last', '--json',
                                      **self.MEMBER).stdout)
        self.assertEqual(job['state'], 'completed')
        self.assertEqual(len(service.fgnn('metrics', job['job_id'],
                                          **self.MEMBER).stdout.splitlines()),
                         3)
        self.assertIn('is of user', self.refused('cancel', own, **self.MEMBER))
        self.assertIn('logs: Permission denied',
                      self.refused('logs', job['job_id'], **self.MEMBER))
        for words in ('ls .', 'ls logs', 'cat jobs.sqlite', 'cat jobs.sqlite-shm',
                      'flock --nonblock fgnn.lock true', 'touch runs/x',
                      'test -r daemons.sock', 'test -r host.sock'):
            self.assertFalse(self.can(words, **self.MEMBER), words)
        told = self.refused('status', **self.OUTSIDER)
        self.assertIn(f'to group {self.GROUP}', told)
        self.assertIn('--socket-group', told)
        self.assertIn('--socket-group asks for 64009',
                      self.refused('up', '--socket-group', '64009'))
        service.fgnn('up', '--socket-group', str(self.GROUP))
        service.fgnn('down')
        # Without a service, its user alone reads the store.
        for command in (['jobs'], ['show', 'last'], ['rm', job['job_id']],
                        ['prune', '--older', '1d']):
            told = self.refused(*command, code=2, **self.MEMBER)
            self.assertIn(f'no service runs in {state}', told)
            self.assertIn("'fgnn up'", told)
        # A start without the flag closes what it has opened.
        service.fgnn('up')
        self.refused('status', **self.MEMBER)
        self.assertFalse(self.can(f'ls runs/{job["job_id"]}', **self.MEMBER))

    def test_a_group_that_is_none_or_not_ones_own_is_wrong_use(self):
        self.assertIn("'nosuchgroup' is no group", self.refused(
            'up', '--socket-group', 'nosuchgroup', code=2))
        told = self.refused('up', '--socket-group', str(self.GROUP), code=2,
                            **self.OUTSIDER)
        self.assertIn(f'is not in group {self.GROUP}', told)
        self.assertFalse(self.service.state_dir.exists())
        scheduler = subprocess.run(
            [harness.BIN_DIR / 'fgnn-scheduler', '--state-dir',
             self.service.state_dir, '--socket-group', 'nosuchgroup'],
            capture_output=True, text=True, check=False,
            timeout=harness.COMMAND_SECONDS)
        self.assertEqual(scheduler.returncode, 2, scheduler.stderr)

    def test_a_folder_that_is_closed_to_the_group_is_named(self):
        self.service.folder.chmod(0o700)
        up = self.service.fgnn('up', '--socket-group', str(self.GROUP))
        self.assertIn(f"'chmod o+x {self.service.folder}'", up.stderr)


class StoppedDaemonTest(harness.ServiceTest):

    def test_a_daemon_without_a_scheduler_ends_at_a_signal(self):
        self.service.fgnn('up')
        self.service.fgnn('down')  # Leaves the folders.
        for program in ('sampler', 'trainer'):
            daemon = subprocess.Popen(
                [harness.BIN_DIR / f'fgnn-{program}', '--name', f'{program}.0',
                 '--device', 'cpu:0', '--state-dir', self.service.state_dir],
                stderr=subprocess.PIPE, text=True)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.kill)
            door = self.service.state_dir / f'executors/{program}.0.sock'
            self.service.wait_for(door.exists, door)
            daemon.terminate()
            _, told = daemon.communicate(timeout=harness.END_SECONDS)
            self.assertEqual(daemon.returncode, 0, told)


class DoctorTest(harness.ServiceTest):

    def test_finds_the_programs_and_what_they_need(self):
        checks = {check['name']: check
                  for check in self.service.json('doctor')['checks']}
        self.assertTrue(all(check['ok'] for check in checks.values()), checks)
        self.assertIn('fgnn-trainer', checks)
        version, library, *facts = subprocess.run(
            [harness.BIN_DIR / 'fgnn-trainer', '--version'],
            capture_output=True, text=True, check=True,
            timeout=60).stdout.splitlines()
        torch = checks['libtorch']['detail']
        self.assertRegex(torch, r'^\d+\.\d+\.\d+$')
        self.assertEqual(library, f'libtorch {torch}')
        self.assertNotEqual(torch, version)
        self.assertEqual([fact.split()[0] for fact in facts],
                         ['revision', 'compiler', 'processor', 'cuda'])
        self.assertFalse(self.service.state_dir.exists())


class StartUpTimeTest(harness.ServiceTest):

    def test_no_program_loads_torch_or_cuda(self):
        for program in harness.PROGRAMS:
            libraries = subprocess.run(
                ['ldd', harness.BIN_DIR / program], capture_output=True,
                text=True, check=True, timeout=60).stdout
            self.assertNotRegex(libraries, 'lib(torch|c10|cud|cublas|nccl)', program)


class JsonTest(harness.ServiceTest):

    def test_every_answer_is_a_document(self):
        self.service.fgnn('up')
        job = self.service.submit()
        self.service.fgnn('watch', job)
        self.assertEqual(self.service.json('jobs')['jobs'][0]['job_id'], job)
        self.assertEqual(self.service.json('show', job)['state'], 'completed')
        self.assertEqual(
            self.service.json('show', job, '--spec')['sampling']['fanouts'],
            [5, 5])
        for line in self.service.fgnn('logs', job,
                                      '--json').stdout.splitlines():
            self.assertIn('text', json.loads(line))
        self.assertTrue(self.service.json('down')['stopped'])
