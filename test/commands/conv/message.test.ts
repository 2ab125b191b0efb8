import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useNewWorld } from './new-world.ts';
import { errorOf } from './support.ts';

const at = useNewWorld();
const { acs, sentBody } = at;

describe('the message', () => {
  it('is read from a file or from stdin', async () => {
    const file = path.join(at.world.dir, 'task.md');
    await writeFile(file, 'from a file\n');
    await acs('--file', file, '--no-repo', '--replay', 'demo', '--json');
    expect(JSON.stringify(sentBody())).toContain('from a file');
    at.proxy.requests.length = 0;
    await at.world.invoke({
      args: ['conv', 'new', '-', '--no-repo', '--replay', 'demo'],
      stdin: 'from stdin',
      env: { ACS_BASE_URL: at.proxy.url },
    });
    expect(JSON.stringify(sentBody())).toContain('from stdin');
  });

  it('of 5 MiB is sent whole', async () => {
    const file = path.join(at.world.dir, 'huge.md');
    await writeFile(file, 'é'.repeat(2.5 * 1024 * 1024));
    const ended = await acs('--file', file, '--no-repo', '--replay', 'demo', '--wait', '--json');
    expect(ended.code, ended.err.slice(0, 500)).toBe(0);
    const message = sentBody()['initial_message'] as { content: { text: string }[] };
    expect(message.content[0]?.text.length).toBe(2.5 * 1024 * 1024);
  });

  it('that is too long is refused with its size', async () => {
    const file = path.join(at.world.dir, 'too-much.md');
    await writeFile(file, Buffer.alloc(17 * 1024 * 1024, 'a'));
    const ended = await acs('--file', file, '--no-repo', '--json');
    expect(ended.code).toBe(2);
    expect(errorOf(ended).message).toContain('17.0 MiB');
  });
});
