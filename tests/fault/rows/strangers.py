"""A row of what other users see of a service's files and processes."""

import pathlib
import subprocess
import sys

import harness
import users
from row import (JOB, TINY, check, end_service, open_files, pids_of,
                 wait_for)

ROWS = pathlib.Path(__file__).resolve().parent


def strangers(options, _):
    """read, map, trace and end nothing of the service, nor runs of others"""
    with users.service_of_a_user(options, users.SERVICE_OF_A_GROUP) as service:
        service.fgnn('up', '--devices', 'cpu:0', *users.OPEN_TO_GROUP,
                     **service.user)
        words = service.job_words({**JOB, **harness.ENDLESS, 'samplers': 1,
                                   'trainers': 1, 'devices': '[cpu:0]'})
        job = service.json_as(users.COLLEAGUE, 'submit', *words)['job_id']
        run_dir = run_dir_of(service, job)
        wait_for(lambda: (run_dir / 'metrics.jsonl').exists(), 60,
                 'the first epoch')
        tried = check_processes(service)
        count = check_modes(service.state_dir)
        check_runs(service, run_dir)
        check_deputy(service)
        audited = (service.state_dir / 'logs/audit.log').read_text()
        check('PERMISSION_DENIED' in audited and job in audited,
              f'the audit log says {audited!r}')
        service.fgnn('cancel', job, **users.COLLEAGUE)
        end_service(service)
    return (f'{tried} processes closed to 2 users, modes of {count} files; a '
            'run is read by who submitted it')


def run_dir_of(service, job):
    return pathlib.Path(service.json('show', job)['run_dir'])


def of_process(pid):
    """What try_process.py takes: segments first, and mapped memory."""
    files = open_files(pid)
    numbers = sorted(files, key=lambda number: 'memfd' not in files[number])
    address = pathlib.Path(f'/proc/{pid}/maps').read_text().partition('-')[0]
    return f'{pid}:{",".join(map(str, numbers[:4]))}:{address}'


def could(words, who):
    return subprocess.run(
        [sys.executable, ROWS / 'try_process.py', users.numbers_of(who), *words],
        check=True, capture_output=True, text=True,
        timeout=harness.COMMAND_SECONDS).stdout


def check_processes(service):
    pids = [pid for name in ('fgnn-scheduler', 'fgnn-sampler', 'fgnn-trainer')
            for pid in pids_of(service, name)]
    pids += harness.gates_of(pids[0])
    check(len(pids) >= 4, f'only {len(pids)} processes run')
    words = [of_process(pid) for pid in pids]
    for who in (users.MEMBER, users.OUTSIDER):
        text = could(words, who)
        check(not text, f'{who} could {text}')
    # The attempts mean something only if they can succeed: here, as root.
    mine = subprocess.Popen(['sleep', '60'])
    try:
        text = could([of_process(mine.pid)], {})
        check('memory' in text and 'trace' in text, f'root could only {text}')
    finally:
        mine.kill()
        mine.wait()
    return len(pids)


def check_modes(state):
    """Nobody else writes, and the folders keep others out."""
    paths = [each for each in (state, *state.rglob('*'))
             if not each.is_symlink()]
    for path in (*state.glob('jobs.sqlite*'), state / 'fgnn.lock',
                 *state.rglob('run.lock')):
        mode = path.stat().st_mode
        check(not mode & 0o077, f'{path} has mode {mode:o}: others can lock it')
    closed = (state, state / 'logs', state / 'runs', state / 'executors',
              *(state / 'runs').iterdir(), *state.glob('*.sqlite*'),
              *(state / 'logs').iterdir())
    for path in paths:
        mode = path.stat().st_mode
        mask = 0o022 if path.name != 'scheduler.sock' else 0o007
        check(not mode & mask, f'{path} has mode {mode:o}')
    for path in closed:
        mode = path.stat().st_mode
        check(not mode & 0o007, f'{path} has mode {mode:o}')
    return len(paths)


def check_runs(service, run_dir):
    """Of the colleague, by the colleague alone."""
    check(run_dir.parent.parent == service.state_dir / 'runs',
          f'the run is in {run_dir}')

    def reads(path, who):
        return subprocess.run(['cat', path], cwd='/', check=False,
                              capture_output=True, **who).returncode == 0
    for name in ('job.yaml', 'metrics.jsonl', 'run.json'):
        path = run_dir / name
        check(reads(path, users.COLLEAGUE), f'its owner cannot read {path}')
        for who in (users.MEMBER, users.OUTSIDER):
            check(not reads(path, who), f'{who} reads {path}')


def check_deputy(service):
    """The service reads for a member no dataset that the member may not."""
    service.dataset.chmod(0o700)
    answer = service.fgnn('submit', *service.job_words(TINY), check=False,
                          **users.MEMBER)
    check(answer.returncode != 0 and 'may not read' in answer.stderr,
          f'a closed dataset: {answer.stderr!r}')
    service.dataset.chmod(0o755)
    # And tells how to open what the member may read, and the service may not.
    closed = service.folder / 'closed'
    subprocess.run(['cp', '-r', service.dataset, closed], check=True)
    service.give(closed, users.MEMBER)
    closed.chmod(0o700)
    (service.folder / 'closed.yaml').write_text(f'dataset: {closed}\n')
    answer = service.fgnn('submit', str(service.folder / 'closed.yaml'),
                          check=False, **users.MEMBER)
    command = f'setfacl -R -m u:{service.user["user"]}:rX {closed}'
    check(answer.returncode != 0 and command in answer.stderr,
          f'a dataset of a member: {answer.stderr!r}')
