"""Examples of pages that pages_test cannot run: of another host, as root, with
systemd, containers or GPUs, or at a moment of a user's own. Their shell parses,
their programs and files are there, and `--help` knows their flags. Jobs are read
as `fgnn plan` does, and Python is compiled."""

import functools
import os
import pathlib
import re
import shlex
import subprocess

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ('deploy', 'proto', 'sampler_service', 'scheduler', 'shared', 'tests',
           'tools', 'trainer_service')
# Programs of the machine, which are not ours to try.
OTHERS = {
    'apt-get': 'root', 'chown': 'root', 'install': 'root', 'ip': 'root', 'rm': 'root',
    'tar': 'root', 'usermod': 'root', 'systemctl': 'systemd',
    'journalctl': 'systemd', 'docker': 'containers',
    'docker-compose': 'containers', 'kubectl': 'containers', 'sbatch': 'Slurm',
    'pip': 'the network',
    'git': 'the network', 'python3': 'the network', 'curl': 'a port',
    'scp': 'another host', 'cmake': 'install_test runs it', 'cd': 'bash', 'cp': 'bash',
    'mv': 'bash', 'do': 'bash',
    'done': 'bash', 'echo': 'bash', 'export': 'bash', 'for': 'bash',
    'kill': 'bash', 'sleep': 'bash', 'until': 'bash',
    '.': 'bash', 'grep': 'bash', 'head': 'bash', 'mkdir': 'bash', 'id': 'bash',
    'printf': 'bash'}
# Blocks of these kinds hold no example that anything can try.
SHOWN = ('', 'cpp', 'ini', 'json')
# Makes the tree's own scripts explain their flags.
EXPLAINED = ('tools/fgnn-certificates', 'deploy/check/systemd',
             'deploy/check/package', 'deploy/check/kubernetes')


def pages():
    found = [ROOT / 'README.md', *(
        page for folder in FOLDERS for page in (ROOT / folder).rglob('*.md')
        if 'node_modules' not in page.parts)]
    return sorted(found)


def blocks(page):
    """(line, kind, text) of the fenced blocks of a page."""
    text = page.read_text(encoding='utf-8')
    for found in re.finditer(r'^ *```(\w*)\n(.*?)^ *```', text, re.S | re.M):
        yield text.count('\n', 0, found.start()) + 1, found[1], found[2]


def commands(text):
    """Lists of words of the commands of a block of shell."""
    text = re.sub(r'\\\n', ' ', text)
    for line in text.splitlines():
        words = []
        parts = shlex.shlex(line, posix=True, punctuation_chars='();<>|&')
        parts.whitespace_split = True
        for word in parts:
            if word and set(word) <= set('();|&'):
                if words:
                    yield words
                words = []
            elif not words and re.match(r'\w+=', word):
                continue  # A variable of the command.
            else:
                words.append(word)
        if words:
            yield words


@functools.cache
def help_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False,
                          timeout=harness.COMMAND_SECONDS).stdout


class ExamplesTest(harness.ServiceTest):

    def for_each(self, kinds, check, least):
        """Calls `check` with the text of each block of these kinds."""
        count = 0
        for page in pages():
            for line, kind, text in blocks(page):
                if kind in kinds:
                    count += 1
                    with self.subTest(f'{page.relative_to(ROOT)}:{line}'):
                        check(text)
        self.assertGreaterEqual(count, least)

    def assert_flags(self, known, words, place):
        for word in words:
            flag = word.partition('=')[0]
            if re.fullmatch(r'--?[a-z][-a-z]*', flag) and flag != '--help':
                self.assertRegex(known, rf'(?<![-\w]){re.escape(flag)}(?![-\w])',
                                 place)

    def check_fgnn(self, words):
        program = str((harness.BIN_DIR / words[0]).resolve())
        if words[0] != 'fgnn':
            return self.assert_flags(help_of(program, '--help'), words[1:],
                                     ' '.join(words))
        # The words of the command are those that its help knows.
        path, rest = [], words[1:]
        known = text = help_of(program, '--help')
        takes = ('--server', '--state-dir', '--tls-dir')
        while rest:
            if rest[0].startswith('--') and not path:
                rest = rest[2 if rest[0] in takes else 1:]
                continue
            if not re.search(rf'^  {re.escape(rest[0])} ', text.partition(
                    '\nSubcommands:\n')[2], re.M):
                break
            path.append(rest[0])
            rest = rest[1:]
            text = help_of(program, *path, '--help')
            known += text
        if '--version' not in words and '--help' not in words:
            self.assertTrue(path, f'no command in: {" ".join(words)}')
        self.assert_flags(known, words[1:], ' '.join(words))
        for flag in re.findall(r'^  (--\S+) .*REQUIRED', text, re.M):
            self.assertIn(flag, words, f'{flag} is required')
        return None

    def check(self, words):
        name = words[0]
        if name in OTHERS:
            # Containers run our programs.
            if 'fgnn' in words[1:] and OTHERS[name] == 'containers':
                rest = words[words.index('fgnn') + 1:]
                is_program = rest[:1] and (rest[0] in OTHERS or
                                           rest[0].startswith('fgnn'))
                self.check(rest if is_program else ['fgnn', *rest])
            return
        if os.path.basename(name) in harness.PROGRAMS:
            self.check_fgnn([os.path.basename(name), *words[1:]])
            return
        script = name if '/' in name else f'tools/{name}'
        self.assertTrue(os.access(ROOT / script, os.X_OK),
                        f'{script} is no program')
        if script in EXPLAINED:
            self.assert_flags(help_of(str(ROOT / script), '--help'), words[1:],
                              ' '.join(words))

    def check_shell(self, text):
        parsed = subprocess.run(['bash', '-n'], input=text, text=True,
                                capture_output=True, check=False)
        self.assertEqual(parsed.returncode, 0, parsed.stderr)
        for words in commands(text):
            self.check(words)

    def test_shell(self):
        self.for_each(('sh', 'bash'), self.check_shell, least=40)

    def check_job(self, text):
        if not text.startswith('dataset:'):
            return
        job = self.service.folder / 'job.yaml'
        job.write_text(text, encoding='utf-8')
        self.service.fgnn('plan', job, '--set', 'devices=[cpu:0]')

    def test_jobs(self):
        (self.service.folder / 'packages').symlink_to(self.service.dataset)
        self.for_each(('yaml',), self.check_job, least=3)

    def test_python(self):
        self.for_each(('py', 'python'),
                      lambda text: compile(text, 'example', 'exec'), least=4)

    def test_each_kind_of_block_is_tried(self):
        for page in pages():
            for line, kind, _ in blocks(page):
                with self.subTest(f'{page.relative_to(ROOT)}:{line}'):
                    self.assertIn(kind, ('sh', 'bash', 'yaml', 'py', 'python',
                                         *SHOWN))
