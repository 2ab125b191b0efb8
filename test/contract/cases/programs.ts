/** Programs in a sandbox: `sandbox exec`. */
import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { errorOf, expectCode, ok, withSandboxes } from '../support.ts';
import { until } from '../../support/test-clock.ts';
import type { ContractCase, Target } from '../target.ts';

/** Whether programs get stdin and terminals: only the local service has a route for that. */
const hasSocket = (target: Target): boolean => target.name.startsWith('local');

const HOSTILE = [
  'a b',
  "it's",
  'say "hi"',
  '$HOME ${PATH} $(id) `id`',
  String.raw`back\slash\\ \n`,
  '',
  'two\nlines',
  'tab\tand\rreturn',
  '*',
  '-n',
  '--json',
  '--',
  '~',
  '!!',
  ';|&<>',
  '#no comment',
  'äöü 漢字 \u{1f600}',
];

const CASES: ContractCase[] = [
  {
    name: 'exec: the exit code is that of the program, 127 for an unknown one, 128 and the signal',
    async run(target) {
      const id = await target.sandbox();
      const codes: number[] = [];
      for (const line of ['exit 0', 'exit 1', 'exit 7', 'no-such-program-here', 'kill -TERM $$']) {
        codes.push((await target.acs('sandbox', 'exec', id, '--', 'sh', '-c', line)).code);
      }
      expect(codes).toEqual([0, 1, 7, 127, 143]);
      expectCode(await target.acs('sandbox', 'exec', id, '--', 'no-such-program-here'), 127);
    },
  },
  {
    name: 'exec: stdout and stderr are separate, and every byte arrives',
    async run(target) {
      const id = await target.sandbox();
      const line = String.raw`printf 'one\n\000\377\200two'; echo three >&2; exit 3`;
      const ended = expectCode(await target.acs('sandbox', 'exec', id, '--', 'sh', '-c', line), 3);
      expect(ended.bytes).toEqual(
        Buffer.from([...Buffer.from('one\n'), 0, 0xff, 0x80, ...Buffer.from('two')]),
      );
      expect(ended.err).toBe('three\n');
      const long = await ok(
        target,
        'sandbox',
        'exec',
        id,
        '--',
        'sh',
        '-c',
        'head -c 3000000 /dev/zero; echo end',
      );
      expect(long.bytes.length).toBe(3_000_004);
    },
  },
  {
    name: 'exec: arguments arrive as they are given',
    async run(target) {
      const print = ['sandbox', 'exec', await target.sandbox(), '--', 'printf', String.raw`%s\0`];
      for (const args of [HOSTILE, Array.from({ length: 20 }, () => randomText())]) {
        const { bytes } = await ok(target, ...print, ...args);
        expect(bytes.toString('utf8').split('\0').slice(0, -1)).toEqual(args);
      }
    },
  },
  {
    name: 'exec: --cwd and --env are in force; an unknown folder is 125 with the kind not-found',
    async run(target) {
      const id = await target.sandbox();
      const value = `it's "$HOME"\nand more`;
      const args = [
        '--cwd',
        '/usr/bin',
        '--env',
        `ACS_TRIED=${value}`,
        '--',
        'sh',
        '-c',
        'pwd; printf %s "$ACS_TRIED"',
      ];
      expect((await ok(target, 'sandbox', 'exec', id, ...args)).out).toBe(`/usr/bin\n${value}`);
      const missing = await target.acs(
        'sandbox',
        'exec',
        id,
        '--json',
        '--cwd',
        '/no/such/folder',
        '--',
        'true',
      );
      expect(errorOf(expectCode(missing, 125)).code).toBe('not-found');
    },
  },
  {
    name: 'exec: the output is printed while the program runs, and Ctrl-C is passed on to it',
    async run(target) {
      const id = await target.sandbox();
      const interrupt = new AbortController();
      let seen = '';
      const line = 'trap "echo caught; exit 9" INT; echo begun; while :; do sleep 0.1; done';
      const ended = target.invoke({
        args: ['sandbox', 'exec', id, '--', 'sh', '-c', line],
        signal: interrupt.signal,
        onOut: (text) => (seen += text),
      });
      await until(() => seen.includes('begun'));
      interrupt.abort();
      expect(await ended).toMatchObject({ code: 9, out: 'begun\ncaught\n' });
    },
  },
  {
    name: 'exec: --timeout ends the program with 125 and the kind timeout',
    async run(target) {
      const id = await target.sandbox();
      const mark = `7${randomBytes(3).readUIntBE(0, 3)}`;
      const ended = await target.acs(
        'sandbox',
        'exec',
        id,
        '--json',
        '--timeout',
        '1s',
        '--',
        'sleep',
        mark,
      );
      expect(errorOf(expectCode(ended, 125)).code).toBe('timeout');
      const find =
        `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | grep ` +
        `'^sleep ${mark}'`;
      expectCode(
        await target.acs('sandbox', 'exec', id, '--', 'sh', '-c', find),
        1,
        'a search for the program',
      );
    },
  },
  {
    name: 'exec: -i passes stdin on, or is refused with 125 before anything is sent',
    async run(target) {
      const id = await target.sandbox();
      const args = ['sandbox', 'exec', '-i', id, '--', 'cat'];
      if (!hasSocket(target)) {
        expectCode(await target.invoke({ args, stdin: 'text' }), 125);
        return 'unsupported';
      }
      const bytes = randomBytes(300_000);
      expect(expectCode(await target.invoke({ args, stdin: bytes }), 0).bytes.equals(bytes)).toBe(
        true,
      );
    },
  },
  {
    name: 'exec: without -i the program reads nothing',
    async run(target) {
      const args = ['sandbox', 'exec', await target.sandbox(), '--', 'cat'];
      expect(expectCode(await target.invoke({ args, stdin: 'text' }), 0).out).toBe('');
    },
  },
  {
    name: 'exec: every failure of acs is 125, with its kind in the error',
    async run(target) {
      const id = await target.sandbox();
      const kinds: [string[], string][] = [
        [['exec', 'nobody', '--', 'true'], 'not-found'],
        [['exec', id, '--no-such-flag', '--', 'true'], 'usage'],
        [['exec', id, 'true'], 'usage'],
        [['exec', id, '--env', '1=2', '--', 'true'], 'usage'],
      ];
      for (const [args, kind] of kinds) {
        const ended = await target.acs('sandbox', '--json', ...args);
        expect(errorOf(expectCode(ended, 125, args.join(' '))).code, args.join(' ')).toBe(kind);
      }
    },
  },
];

/** Characters that shells and parsers of command lines treat in a special way, and others. */
function randomText(): string {
  const alphabet = [...` '"$\`\\!*?[]{}()<>|&;#~%^=-+/\t\n\r\u0001\u007fäß漢\u{1f680}abcXYZ019`];
  return [...randomBytes(24)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

export const PROGRAMS: ContractCase[] = CASES.map(withSandboxes);
