import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BIN } from '../../e2e/processes.ts';
import type { Ended } from '../../support/world.ts';
import { useConvWorld } from './conv-world.ts';
import { endedRun, json, replayFile, finish } from './support.ts';
import { startWaitingRun } from './waiting-run.ts';

describe.each(['v1', 'v0'] as const)('conv send without a message over %s', (api) => {
  const at = useConvWorld({ api, spec: 'process' });

  /** Runs `conv send` on a terminal; `edit` is what the editor does to the file `$1`. */
  const send = async (id: string, edit: string, ...flags: string[]): Promise<Ended> => {
    const editor = path.join(at.world.dir, 'editor.sh');
    await writeFile(editor, `#!/bin/sh\ntouch '${at.world.dir}/opened'\n${edit}\n`);
    await chmod(editor, 0o700);
    await rm(path.join(at.world.dir, 'opened'), { force: true });
    return await at.world.invoke({ args: ['conv', 'send', id, ...flags], columns: 100, env: { EDITOR: editor } });
  };
  const opened = () =>
    readFile(path.join(at.world.dir, 'opened')).then(
      () => true,
      () => false,
    );
  const messages = async (id: string): Promise<string[]> => {
    const { items } = json<{ items: { text: string }[] }>(await at.conv('events', id, '--source', 'user', '--json'));
    return items.map(({ text }) => text);
  };

  it('opens the editor on a terminal, and sends what was saved', async () => {
    const id = await endedRun(at.world, '--replay', await replayFile(at.world, 'two.json', [finish('1'), finish('2')]));
    const sent = await send(id, 'echo "from the editor" >> "$1"', '--wait');
    expect(sent.code, sent.err).toBe(0);
    expect((await messages(id)).at(-1)).toBe('from the editor');
  });

  it('exits 2 and sends nothing when the text is left empty', async () => {
    const id = await endedRun(at.world);
    const sent = await send(id, ':');
    expect(sent.code).toBe(2);
    expect(sent.err).toContain('the message is empty');
    expect(await messages(id)).toHaveLength(1);
  });

  it('exits 2 off a terminal', async () => {
    expect((await at.conv('send', 'f'.repeat(32))).code).toBe(2);
  });

  it('does not open the editor where a message would be refused', async () => {
    const { id } = await startWaitingRun(at.world);
    expect((await send(id, ':')).code).toBe(8);
    expect(await opened()).toBe(false);
    expect((await send('f'.repeat(32), ':')).code).toBe(5);
    expect(await opened()).toBe(false);
  });

  it('keeps the text in a file when it cannot be sent', async () => {
    const id = await endedRun(at.world);
    const { ACS_BASE_URL, ACS_API_KEY } = at.world.env;
    const flags = api === 'v1' ? '-y --with-sandbox' : '-y';
    const acs = `ACS_BASE_URL='${ACS_BASE_URL}' ACS_API_KEY='${ACS_API_KEY}' '${process.execPath}' '${BIN}'`;
    const sent = await send(id, `echo "too late" >> "$1"\n${acs} conv delete ${id} ${flags}`);
    expect(sent.code, sent.err).toBe(5);
    const file = /--file\s+(\S+)/.exec(sent.err)?.[1] ?? '';
    expect(await readFile(file, 'utf8')).toBe('too late\n');
    await rm(path.dirname(file), { recursive: true });
  });
});
