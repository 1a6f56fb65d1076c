"""tools/check_kernels finds local memory in kernels. A build's own kernels are
checked by .ci/run."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import harness

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

# Stands for CUDA's tool: prints the file that is named after its option.
TOOL = '''#!/bin/sh
cat "$(dirname "$0")/$1"
'''
USAGE = '''
Fatbin elf code:
================
arch = sm_90

Resource usage:
 Common:
  GLOBAL:0
 Function _ZN{space}{length}{name}EPf:
  REG:32 STACK:{stack} SHARED:0 LOCAL:{local} CONSTANT[0]:352 TEXTURE:0
'''
SASS = '''
Fatbin elf code:
================
arch = sm_90
\t\tFunction : _ZN{space}{length}{name}EPf
        /*0000*/                   LDC R1, c[0x0][0x28] ;    /* 0x00000a */
        /*0010*/              @!P0 {opcode} R4, [R1+0x8] ;   /* 0x00000a */
        /*0020*/                   EXIT ;                    /* 0x00000a */
'''


def check(build):
    done = subprocess.run([ROOT / 'tools/check_kernels', build],
                          capture_output=True, text=True, check=False,
                          timeout=harness.COMMAND_SECONDS)
    return done.returncode, done.stdout


class CheckKernelsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.bin = self.build / 'toolkit' / 'bin'
        self.bin.mkdir(parents=True)
        (self.bin / 'cuobjdump').write_text(TOOL)
        (self.bin / 'cuobjdump').chmod(0o755)
        (self.build / 'CMakeCache.txt').write_text(
            f'FGNN_CUDA_DIR:PATH={self.build}/toolkit\n')
        (self.build / 'sum.cu.o').write_text('')
        self.set_objects('sum.cu.o')

    def set_objects(self, *names):
        (self.build / 'compile_commands.json').write_text(json.dumps(
            [{'file': f'/src/{name[:-2]}', 'command': f'nvcc -c -o {name}'}
             for name in names] + [{'file': '/src/a.cc', 'command': ''}]))

    def say(self, stack=0, local=0, opcode='LDG.E',
            space='4fgnn12_GLOBAL__N_1'):
        name = {'length': len('SumKernel'), 'name': 'SumKernel',
                'space': space}
        (self.bin / '-res-usage').write_text(
            USAGE.format(stack=stack, local=local, **name))
        (self.bin / '-sass').write_text(SASS.format(opcode=opcode, **name))

    def test_a_kernel_in_registers_passes(self):
        self.say()
        code, said = check(self.build)
        self.assertEqual(code, 0, said)
        self.assertIn('sum.cu: SumKernel, sm_90: 32 registers', said)
        self.assertIn('1 passed, 0 failed', said)

    def test_stack_local_memory_and_its_instructions_fail(self):
        for words in ({'stack': 40}, {'local': 8}, {'opcode': 'LDL.64'},
                      {'opcode': 'STL'}):
            self.say(**words)
            code, said = check(self.build)
            self.assertEqual(code, 1, words)
            self.assertIn('failed: /src/sum.cu: SumKernel, sm_90:', said)
            self.assertIn('0 passed, 1 failed', said)

    def test_kernels_of_cub_may_have_them(self):
        self.say(stack=8, space='3cub')
        code, said = check(self.build)
        self.assertEqual(code, 0, said)
        self.assertIn('1 passed, 0 failed', said)

    def test_nothing_to_check_is_said(self):
        self.set_objects()
        code, said = check(self.build)
        self.assertEqual((code, said), (SKIPPED,
                                        'skipped: no kernels were built\n'))
