"""What the rows share: a service's folder, deadlines, and the oracle, which
reads the run's folder and the kernel alone."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from harness import committed_of, summary_of  # Rows take them from here.

JOB = {'training.batches_per_step': 2, 'training.checkpoint_every': 0,
       'training.checkpoint_steps': 500, 'training.evaluate_every': 0,
       'samplers': 2, 'trainers': 2, 'limits.restarts': 1000}
TINY = {'training.epochs': 1, 'training.evaluate_every': 0,
        'training.checkpoint_every': 0}


class Broken(Exception):
    """A promise that does not hold."""


class Skipped(Exception):
    """A row that this machine cannot run, and what it lacks."""


def check(holds, text):
    if not holds:
        raise Broken(text)


def print_table(rows, names, options):
    """Runs the rows of those names; 1 if one does not hold, else 0."""
    passed = failed = skipped = 0
    for name in names:
        # A row's faults do not depend on which other rows run.
        chance = random.Random(f'{options.seed} {name}')
        started = time.monotonic()
        try:
            measured, verdict = rows[name](options, chance), 'pass'
        except Skipped as lacking:
            measured, verdict = lacking, 'skipped'
        except (Broken, AssertionError, OSError, LookupError, ValueError,
                subprocess.SubprocessError) as broken:
            measured, verdict = f'{type(broken).__name__}: {broken}', 'FAIL'
        passed += verdict == 'pass'
        failed += verdict == 'FAIL'
        skipped += verdict == 'skipped'
        print(f'{name}\n  promise   {rows[name].__doc__}\n'
              f'  measured  {measured}\n'
              f'  {verdict} ({time.monotonic() - started:.0f} s)',
              flush=True)
    if failed:
        print(f'repeat with --seed {options.seed}')
    print(f'{passed} passed, {failed} failed' +
          (f', {skipped} skipped' if skipped else ''))
    return 1 if failed else 0


@contextlib.contextmanager
def service_in(options):
    """A service's folder of its own, with the small graph in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix='fgnn-fc-', dir='/tmp'))
    folder.chmod(0o755)  # Other users of a service may read the graph.
    service = harness.Service(folder)
    shutil.copytree(options.graph, service.dataset)
    try:
        yield service
    finally:
        service.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def submit(service, settings, run_dir, *words):
    return service.json('submit', *service.job_words(settings), '--run-dir',
                        str(run_dir), *words)['job_id']


def wait_for(condition, seconds, what, every=0.01):
    """Polls: what is waited for is another process's files.

    `what` is words, or a function that finds them in the end; `every`: seconds
    between two looks.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            words = what() if callable(what) else what
            raise Broken(f'{words} took over {seconds} s')
        time.sleep(every)


def has_ended(run_dir):
    return (run_dir / 'summary.json').exists()


def goes_on(run_dir, batches):
    """Waits for so many batches more; False if the run ends before."""
    goal = committed_of(run_dir) + batches
    wait_for(lambda: committed_of(run_dir) >= goal or has_ended(run_dir), 60,
             'progress')
    return not has_ended(run_dir)


def run_in_turn(faults, most, make, most_jobs):
    """Takes `faults` from their end, each a function of what make() makes: jobs
    that are given up to `most` of them, and then end()."""
    jobs = 0
    while faults:
        check(jobs <= most_jobs, f'{len(faults)} faults came too late')
        job = make()
        jobs += 1
        for _ in range(min(most, len(faults))):
            job.wait_for_moment()
            if job.has_ended():
                break
            faults.pop()(job)
        job.end()


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of its own, of a size such as 700k, in a new folder."""
    folder.mkdir()
    mounted = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', f'size={size},mode=750', 'tmpfs',
         folder],
        capture_output=True, check=False).returncode == 0
    if not mounted:
        raise Skipped('mounting is not allowed here')
    try:
        yield folder
    finally:
        # Lazily: a process that is killed behind this may have it open.
        subprocess.run(['umount', '-l', folder], check=False)


def pids_of(service, program):
    return sorted(pid for pid, name in service.processes().items()
                  if name == program)


def open_files(pid):
    """{descriptor: the link's target} of a process that may be at work: what
    it closes while this function looks is left out."""
    found = {}
    for name in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(f'/proc/{pid}/fd/{name}')
    return found


def replace_soon(service, pid, chance, seconds=0.05, devices=()):
    """Kills a scheduler within `seconds`; the pid of the one after it."""
    time.sleep(chance.random() * seconds)
    os.kill(pid, signal.SIGKILL)
    service.wait_until_gone([pid])
    words = ['--devices', *devices] if devices else []
    return service.json('up', *words)['pid']


def in_any_order(kinds, count, chance):
    """`count` of them, as many of each as can be."""
    faults = (list(kinds) * (-(-count // len(kinds))))[:count]
    chance.shuffle(faults)
    return faults


def end_service(service):
    service.fgnn('down')
    check(not service.wait_until_gone(), 'processes are left')
    check(not service.leftovers(), f'left: {service.leftovers()}')


def go_on(service, job):
    """Has a paused job go on, without following it to its end."""
    client = service.start('resume', job)
    try:
        wait_for(lambda: service.json('show', job)['state'] != 'paused', 60,
                 'going on')
    finally:
        client.kill()
        client.communicate()


def errors_of(answer):
    """The lines of an answer's stderr that are no notes."""
    return [line for line in answer.stderr.splitlines()
            if not line.startswith('note: ')]


def refused(answer, *words, code=2):
    """Exit code `code`, and one line of error that has all of `words`."""
    check(answer.returncode == code,
          f'exit code {answer.returncode}: {answer.stderr!r}')
    check(len(errors_of(answer)) == 1, f'said {answer.stderr!r}')
    for word in words:
        check(word in answer.stderr, f'no "{word}" in {answer.stderr!r}')


def ends_undisturbed(service, job, run_dir, expected):
    """It ends as a run that nothing happened to, with the daemons it began
    with."""
    service.fgnn('watch', job)
    same_run(run_dir, expected)
    check(summary_of(run_dir)['restarts'] == 0, 'a daemon was restarted')


def same_run(run_dir, expected):
    check(summary_of(run_dir)['state'] == 'completed', 'the job did not end')
    check(summary_of(run_dir)['batches_committed'] ==
          summary_of(run_dir)['batches_expected'], 'batches are missing')
    check((run_dir / 'batches.crc').read_bytes() ==
          (expected / 'batches.crc').read_bytes(), 'the digests differ')
    check(harness.metrics_of(run_dir) == harness.metrics_of(expected),
          'the metrics differ')
    check(harness.last_weights(run_dir) == harness.last_weights(expected),
          'the weights differ')
