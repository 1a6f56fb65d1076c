"""What a member of the service's group tries, and must not be able to do."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys

import harness
import rpc
import users
from row import (TINY, check, errors_of, pids_of, summary_of, wait_for)

ROWS = pathlib.Path(__file__).resolve().parent
# The source of a library that makes a file when it is loaded.
PLUGIN = """
#include <cstdio>
__attribute__((constructor)) static void Run() {
  std::fclose(std::fopen("%s", "w"));
}
"""


class Attempts:
    """What is tried as a user of the group; each is to come to nothing."""

    def __init__(self, service, job, endless, run_dir):
        self.service = service
        # Of another user. The second one goes on where the first one ends.
        self.job, self.endless, self.run_dir = job, endless, run_dir
        self.state = service.state_dir
        self.door = self.state / 'scheduler.sock'
        self.count = 0

    def shell(self, what, words, who=users.MEMBER):
        """Commands that have to fail."""
        answer = subprocess.run(['sh', '-c', words], cwd='/', check=False,
                                capture_output=True, text=True,
                                timeout=harness.COMMAND_SECONDS, **who)
        check(answer.returncode != 0, f'{what}: it could')
        self.count += 1

    def command(self, what, *words, who=users.MEMBER):
        """A command of fgnn that has to be refused, in words."""
        answer = self.service.fgnn(*words, check=False, **who)
        check(answer.returncode != 0, f'{what}: it could')
        check(len(errors_of(answer)) == 1 and
              'no service' not in answer.stderr,
              f'{what}: said {answer.stderr!r}')
        self.count += 1

    def call(self, what, door, method, message, request, metadata=(),
             who=users.MEMBER):
        """A call that has to be refused, or to find no server."""
        with contextlib.suppress(rpc.Lost):
            status, words = rpc.call(door, method, message, request, metadata,
                                     **who)
            check(status != 0, f'{what}: answered {words!r}')
        self.count += 1

    # ---- Of the state folder.

    def write(self):
        state = self.state
        for what, words in (
                ('a file', f'echo x > {state}/planted'),
                ('a run', f'mkdir {state}/runs/planted'),
                ('a plugin', f'mkdir {state}/plugins && '
                             f'touch {state}/plugins/libevil.so'),
                ('the lock', f'mv {state}/fgnn.lock {state}/other.lock'),
                ('the store', f'mv {state}/jobs.sqlite {state}/other.sqlite'),
                ('the store', f'echo x >> {state}/jobs.sqlite'),
                ('a socket', f'mv {state}/host.sock {state}/other.sock'),
                ('a log', f'echo x >> {state}/logs/scheduler.log'),
                ('a socket', f'rm -f {state}/scheduler.sock && '
                             f'test ! -e {state}/scheduler.sock')):
            self.shell(f'writing {what}', words)

    def replace_executors(self):
        """Puts a link in the place of a folder whose files the service removes."""
        treasure = self.service.folder_of(users.SERVICE, 'treasure')
        kept = treasure / 'kept'
        kept.write_text('kept')
        self.shell('moving executors',
                   f'mv {self.state}/executors {self.state}/moved && '
                   f'ln -s {treasure} {self.state}/executors')
        return kept

    def plant_plugin(self):
        """A job's plugin, of a folder that the member made."""
        source = self.service.folder_of(users.MEMBER, 'evil')
        mark = source / 'mark'
        source.chmod(0o777)
        (source / 'evil.cc').write_text(PLUGIN % mark)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(['c++', '-shared', '-fPIC', '-o',
                            source / 'libevil.so', source / 'evil.cc'],
                           check=True, capture_output=True, timeout=60)
        self.shell('planting a plugin',
                   f'mkdir -p {self.state}/plugins && cp {source}/libevil.so '
                   f'{self.state}/plugins/libevil.so')
        for name in ('evil', '../../evil/evil', f'{source}/libevil.so',
                     '../evil'):
            settings = {**TINY, 'devices': '[cpu:1]', 'sampling.kind': 'plugin',
                        'sampling.plugin': name}
            answer = self.service.fgnn(
                'run', *self.service.job_words(settings), check=False,
                **users.MEMBER)
            check(answer.returncode != 0, f'plugin {name}: it ran')
            check(not mark.exists(), f'plugin {name}: its code ran')
            self.count += 1

    def plant_links(self, treasure):
        """Links in the member's own run folder, to files of the service and to
        checkpoints of another user's run."""
        store = self.state / 'jobs.sqlite'
        kept = {path.name: path.read_bytes() for path in treasure.iterdir()}
        check(kept, f'{treasure} has no checkpoint')
        folder = self.service.folder_of(users.MEMBER, 'linked')
        folder.chmod(0o777)
        targets = {'checkpoints': treasure}

        def put_link(name):
            subprocess.run(
                ['sh', '-c', f'if test -e {name}; then mv {name} was; fi && '
                             f'ln -s {targets.get(name, store)} {name}'],
                cwd=folder, check=True, **users.MEMBER)

        def check_untouched(what):
            check(store.read_bytes()[:15] == b'SQLite format 3',
                  f'{what}: the store is overwritten')
            check({path.name: path.read_bytes()
                   for path in treasure.iterdir()} == kept,
                  f'{what}: the checkpoints of another run were changed')
            self.count += 1

        words = self.service.job_words(
            {**harness.ENDLESS, 'training.checkpoint_every': 1,
             'devices': '[cpu:1]'})
        put_link('run.json')
        answer = self.service.fgnn('run', *words, '--run-dir', str(folder),
                                   check=False, **users.MEMBER)
        check(answer.returncode != 0, 'run.json is a link: it ran')
        check_untouched('run.json is a link')
        (folder / 'run.json').unlink()

        job = self.service.json_as(users.MEMBER, 'submit', *words, '--run-dir',
                                   str(folder))['job_id']
        wait_for(lambda: any((folder / 'checkpoints').glob('epoch-*')), 60,
                 'a checkpoint')
        put_link('checkpoints')
        wait_for(lambda: self.service.json('show', job)['state'] == 'failed',
                 60, 'the end of a job whose checkpoints are a link')
        check_untouched('checkpoints became a link')
        (folder / 'checkpoints').unlink()
        (folder / 'was').rename(folder / 'checkpoints')

        for name in ('checkpoints', 'run.json', 'metrics.jsonl', 'job.yaml'):
            put_link(name)
            answer = self.service.fgnn('resume', str(folder), check=False,
                                       **users.MEMBER)
            check(answer.returncode != 0, f'{name} is a link: it went on')
            check_untouched(f'{name} is a link')
            (folder / name).unlink()
            (folder / 'was').rename(folder / name)

    def take_folders(self, colleague_runs):
        """Runs in folders where the member could make and remove nothing."""
        words = self.service.job_words({**TINY, 'devices': '[cpu:1]'})
        closed = self.service.folder_of(users.COLLEAGUE, 'closed')
        closed.chmod(0o700)
        (closed / 'results').mkdir()
        self.service.give(closed / 'results', users.COLLEAGUE)
        open_one = self.service.folder_of(users.COLLEAGUE, 'open')
        open_one.chmod(0o755)
        linked = self.service.folder_of(users.MEMBER, 'way')
        (linked / 'in').symlink_to(closed)
        for what, folder in (
                ('a closed folder', closed),
                ('a folder in a closed one', closed / 'results'),
                ('a new folder in a closed one', closed / 'new'),
                ('a closed folder by a link', linked / 'in/new'),
                ('a folder that is open to read', open_one),
                ('a new folder in that', open_one / 'new'),
                ('a root folder', pathlib.Path('/root/.fgnn')),
                ('a file in a closed folder', pathlib.Path('/root/.bashrc')),
                ('a run of another', colleague_runs)):
            before = sorted(map(str, closed.rglob('*')))
            answer = self.service.fgnn('submit', *words, '--run-dir',
                                       str(folder), check=False,
                                       **users.MEMBER)
            check(answer.returncode == 1 and 'not a folder' not in
                  answer.stderr, f'{what}: said {answer.stderr!r}')
            check(sorted(map(str, closed.rglob('*'))) == before and
                  not any(open_one.iterdir()), f'{what}: something was made')
            self.count += 1
        self.swap_run(open_one)

    def swap_run(self, treasure):
        """Another folder in the place of the member's own ended run, as deep as
        30,000 levels or of a colleague."""
        home = self.service.folder_of(users.MEMBER, 'home')
        home.chmod(0o777)
        words = self.service.job_words({**TINY, 'devices': '[cpu:1]'})
        job = self.service.json_as(users.MEMBER, 'submit', *words, '--run-dir',
                                   str(home / 'run'))['job_id']
        self.service.fgnn('watch', job, **users.MEMBER)
        (treasure / 'metrics.jsonl').write_text('kept')
        record = (home / 'run/run.json').read_text()
        (treasure / 'run.json').write_text(record)
        (home / 'run').rename(home / 'was')
        treasure.rename(home / 'run')
        subprocess.run(
            [sys.executable, '-c', 'import os\nfor _ in range(30000):\n'
             ' os.mkdir("d")\n os.chdir("d")'], cwd=home / 'was', check=True)
        before = memory_of(self.service)
        said = self.service.fgnn('rm', job, **users.MEMBER).stdout
        check('stays: ' in said, f'rm said {said!r}')
        check((home / 'run/metrics.jsonl').read_text() == 'kept',
              'rm removed what is a colleague\'s')
        job = self.service.json_as(users.MEMBER, 'submit', *words, '--run-dir',
                                   str(home / 'deep'))['job_id']
        self.service.fgnn('watch', job, **users.MEMBER)
        (home / 'was/d').rename(home / 'deep/d')
        said = self.service.fgnn('rm', job, **users.MEMBER).stdout
        check('it holds d,' in said, f'rm of a deep folder said {said!r}')
        grown = memory_of(self.service) - before
        check(grown < 64 << 20, f'rm took {grown} bytes of memory')
        # Deeper than a path can be.
        subprocess.run(['rm', '-rf', home / 'deep'], check=True)
        self.count += 2

    def hold_locks(self, runs):
        """Locks all that the member may read, as a reader does."""
        words = self.service.job_words({**TINY, 'devices': '[cpu:1]'})
        run_dir = runs / 'locked'
        self.service.fgnn('run', *words, '--run-dir', str(run_dir),
                          **users.COLLEAGUE)
        holder = subprocess.Popen(
            [sys.executable, ROWS / 'hold_locks.py',
             users.numbers_of(users.MEMBER), self.state, run_dir],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            locked = holder.stdout.readline().split()
            for name in ('fgnn.lock', 'run.lock', 'jobs.sqlite',
                         'jobs.sqlite-wal', 'jobs.sqlite-shm'):
                check(name not in locked, f'a member has locked {name}')
            self.service.fgnn('run', *words, **users.COLLEAGUE)
            answer = self.service.fgnn('resume', str(run_dir), check=False,
                                       **users.COLLEAGUE)
            check('in use' not in answer.stderr,
                  f'a run is locked: {answer.stderr!r}')
        finally:
            holder.communicate('', timeout=60)
        self.count += 1

    # ---- Of daemons.

    def connect(self):
        """Connects to each socket but the clients'."""
        for door in self.state.rglob('*.sock'):
            if door.name == 'scheduler.sock':
                continue
            words = can_connect(users.MEMBER, door)
            check(words == 'refused', f'{door}: {words}')
            self.count += 1

    def speak_as_daemon(self):
        """Makes the calls of daemons and of the scheduler on each socket."""
        victims = []

        def has_victim():
            executors = self.service.json('status')['executors']
            victims[:] = [each for each in executors if each.get('job_id')
                          in (self.job, self.endless)]
            return victims
        wait_for(has_victim, 60, 'a daemon of the job')
        victim = victims[0]
        beat = (f'name: "{victim["name"]}" pid: {victim["pid"]} job_id: '
                f'"{victim["job_id"]}" error_code: 3 error_message: '
                '"a stranger"')
        target = self.service.folder / 'treasure/kept'
        start = start_time(os.getpid())
        register = (f'name: "sampler.0" role: "sampler" device: "cpu:0" pid: '
                    f'{os.getpid()} start_time: {start} socket_path: '
                    f'"{self.state}/executors/sampler.0.sock" version: '
                    f'"{version()}" segment_layout_version: 1')
        doors = [path for path in self.state.rglob('*.sock')
                 if path.name != 'host.sock']
        for door in doors:
            for method, message, request in (
                    ('HostService/Heartbeat', 'HeartbeatRequest', beat),
                    ('HostService/Register', 'RegisterRequest', register),
                    ('SamplerService/CountInputNodes',
                     'CountInputNodesRequest', f'path: "{target}"'),
                    ('ExecutorService/AttachJob', 'AttachJobRequest',
                     'scheduler_generation: 18446744073709551615'),
                    ('ExecutorService/Stop', 'StopRequest', '')):
                self.call(f'{method} on {door.name}', door, method, message,
                          request)

    # ---- Of others' jobs.

    def change_jobs(self, ended):
        """Changes jobs of a colleague, also under a name that is not the member's.
        """
        for words in (('cancel', self.endless), ('pause', self.endless),
                      ('resume', self.endless), ('resume', str(self.run_dir)),
                      ('resume', str(ended)),
                      ('rm', self.endless), ('rm', summary_of(ended)['job_id']),
                      ('switch', 'cpu:0', 'trainer', '--job', self.endless),
                      ('down',)):
            self.command(f'{words[0]} of another\'s job', *words)
        names = ('root', str(users.COLLEAGUE['user']),
                 str(users.SERVICE['user']), 'service')
        named = f'job_id: "{self.endless}"'
        for name in names:
            for method, message, request in (
                    ('CancelJob', 'CancelJobRequest', named),
                    ('PauseJob', 'PauseJobRequest', named),
                    ('ContinueJob', 'ContinueJobRequest', named),
                    ('DeleteJob', 'DeleteJobRequest', named),
                    ('Shutdown', 'ShutdownRequest', '')):
                self.call(f'{method} as {name}', self.door,
                          f'JobService/{method}', message, request,
                          [('fgnn-user', name)])


def memory_of(service):
    """Bytes of memory of the scheduler."""
    pid, = pids_of(service, 'fgnn-scheduler')
    status = pathlib.Path(f'/proc/{pid}/status').read_text()
    return int(status.split('VmRSS:')[1].split()[0]) << 10


def can_connect(who, door):
    """"connected", "answered" or "refused"; tried by a process of the user."""
    return subprocess.run(
        [sys.executable, ROWS / 'try_socket.py', users.numbers_of(who), door],
        capture_output=True, text=True, check=True,
        timeout=harness.COMMAND_SECONDS).stdout.strip()


def start_time(pid):
    status = pathlib.Path(f'/proc/{pid}/stat').read_text()
    return status.rpartition(')')[2].split()[19]


def version():
    return subprocess.run([harness.BIN_DIR / 'fgnn', '--version'],
                          capture_output=True, text=True, check=True,
                          timeout=60).stdout.split()[1]
