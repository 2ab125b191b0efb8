/** What a terminal shows of a change: a line each, and of several the total. */
import { beforeAll, describe, expect, it } from 'vitest';
import { useWorld } from '../support/use-world.ts';
import { endedRun, startWaitingRun } from './conv/support.ts';

const at = useWorld({ api: 'v1', spec: 'process', oneSandbox: true });
/** More than the path of a temporary folder takes. */
const columns = 200;

const ONE = `aaaa${'1'.repeat(28)}`;
const TWO = `aaaa${'2'.repeat(28)}`;

/** Runs the lines one after the other; each prints this on stdout. */
async function prints(lines: readonly (readonly [line: string, out: string, code?: number])[]) {
  for (const [line, out, code = 0] of lines) {
    const ended = await at.ends(`${line} --no-color`, { columns, code });
    expect(ended.out, line).toBe(out);
  }
}

describe('a change on a terminal', () => {
  beforeAll(async () => {
    for (const id of [ONE, TWO]) await endedRun(at.world, '--id', id);
  });

  it('is one line, and the record with --format, --fields and -q', async () => {
    await prints([
      [`conv rename ${ONE} Tests`, 'renamed aaaa1111\n'],
      [`conv rename ${ONE} Tests`, 'aaaa1111 was already "Tests"\n'],
      [`conv rename ${ONE} Tests --fields title`, 'title  Tests\n'],
      [`conv rename ${ONE} Tests -q`, `${ONE}\n`],
      [`conv stop ${ONE}`, 'aaaa1111 had already ended (finished)\n'],
      [`conv resume ${ONE}`, 'aaaa1111 had already ended (finished)\n'],
    ]);
    const { out } = await at.ends(`conv stop ${ONE} --format table`, { columns });
    expect(out).toContain('sandbox status');
  });

  it('of several is a line each and the total, with the ids as long as they differ', async () => {
    const out =
      'aaaa1111 had already ended (finished)\naaaa2222 had already ended (finished)\n' +
      'ffff was not stopped: no conversation begins with ffff\n0 of 3 stopped\n';
    const line = `conv stop ${ONE} ${TWO} ffff --no-color`;
    await at.ends(line, { columns, code: 1, out, err: /^[^]*(?<!could not be stopped\n)$/ });
    await at.ends(`conv delete ${ONE} ${TWO} --dry-run -y`, { columns, out: /BEFORE/ });
    await prints([
      [
        `conv delete ${TWO} ${'e'.repeat(32)} --ignore-not-found -y`,
        `deleted aaaa2222\n${'e'.repeat(32)} does not exist\n1 of 2 deleted\n`,
      ],
    ]);
  });

  it('of a sandbox names what was not waited for', async () => {
    const { out: id } = await at.ends('sandbox start -q', {});
    const short = id.slice(0, 8);
    await prints([
      [`sandbox pause ${id.trim()}`, `paused ${short}\n`],
      [`sandbox pause ${id.trim()}`, `${short} was already paused\n`],
      [`sandbox delete ${id.trim()} -y`, `deleted ${short}\n`],
      [`sandbox delete ${id.trim()} -y --ignore-not-found`, `${short} does not exist\n`],
    ]);
    await at.ends('sandbox start --no-color', { columns, out: /^started [\w-]{8}\n$/ });
  });

  it('of names does not cut them', async () => {
    await at.ends('secret set LONG_NAME_1 - --no-color', {
      columns,
      stdin: 'a secret value',
      out: 'stored LONG_NAME_1\n',
    });
    await prints([
      [
        'secret delete LONG_NAME_1 LONG_NAME_2 -y',
        'deleted LONG_NAME_1\nLONG_NAME_2 was not deleted: the server has no secret LONG_NAME_2\n1 of 2 deleted\n',
        1,
      ],
      ['settings profile save fast llm_model=m', 'saved fast\n'],
      ['settings profile use fast', 'fast is in use\n'],
      ['settings profile use fast', 'fast was already in use\n'],
      ['settings profile delete fast -y', 'deleted fast\n'],
      ['settings set max_iterations=77', ''],
      ['profile use local', 'local is the default profile\n'],
      ['profile use local', 'local was already the default profile\n'],
    ]);
  });

  it('that starts or continues a run is followed by the command that goes on', async () => {
    const { id } = await startWaitingRun(at.world);
    const short = id.slice(0, 8);
    await at.ends(`conv confirm ${id} --reject --no-color`, {
      columns,
      out: /^rejected: \$ touch \S+\n$/,
      err: `continue it: acs conv chat ${short}\n`,
    });
    const next = `follow it: acs conv follow ${short}\n`;
    await at.ends(`conv send ${id} more`, { columns, out: '', err: next });
    const other = await startWaitingRun(at.world);
    await at.ends(`conv confirm ${other.id} --accept --no-color`, {
      columns,
      out: /^accepted: \$ touch \S+\n$/,
      err: `follow it: acs conv follow ${other.id.slice(0, 8)}\n`,
    });
    await at.ends('conv new --replay demo --no-repo --no-color', {
      columns,
      out: /^started [0-9a-f]{8}\n$/,
      err: /follow it: acs conv follow [0-9a-f]{8}\n$/,
    });
  });
});
