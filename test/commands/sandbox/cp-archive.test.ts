import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pack, type Pack } from 'tar-stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { ID, put, tree, useCopyWorld } from './support.ts';

const at = useCopyWorld();

describe('sandbox cp does not trust the archive of a sandbox:', () => {
  /** An archive with one file in it, whose name is changed in its header. */
  async function archive(entries: Parameters<Pack['entry']>[0][]): Promise<Buffer> {
    const made = pack();
    made.entry({ name: './', type: 'directory' });
    for (const entry of entries) made.entry(entry, entry.type === undefined ? 'content' : '');
    made.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of made as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  beforeEach(() => {
    put(at.box, { 'tree/file': 'x' });
    put(at.dir, { 'outside/kept': 'kept' });
  });

  it.each([
    ['a name that climbs', [{ name: './../escaped' }]],
    ['a name that climbs in its middle', [{ name: './a/../../escaped' }]],
    ['an absolute name', [{ name: '/tmp/acs-cp-escaped' }]],
    [
      'a file below a link',
      [{ name: './link', type: 'symlink', linkname: 'x' }, { name: './link/escaped' }],
    ],
    [
      'a file below a link that leads out',
      [{ name: './link', type: 'symlink', linkname: '../outside' }, { name: './link/escaped' }],
    ],
    [
      'a link in place of a folder',
      [
        { name: './a', type: 'directory' },
        { name: './a', type: 'symlink', linkname: '../outside' },
        { name: './a/escaped' },
      ],
    ],
    [
      'another name for a file outside',
      [{ name: './hard', type: 'link', linkname: '../outside/kept' }],
    ],
    ['another name for what is not in it', [{ name: './hard', type: 'link', linkname: 'none' }]],
  ] as [string, Parameters<Pack['entry']>[0][]][])(
    '%s is exit 9, and nothing is written',
    async (_, entries) => {
      at.agent.content = await archive(entries);
      const before = tree(at.dir);
      const { code, err } = await at.cp(`${ID}:tree`, 'copy');
      expect({ code, err }).toEqual({
        code: 9,
        err: expect.stringContaining('nothing was written') as string,
      });
      const { ['config/']: _config, ...after } = tree(at.dir);
      expect(after).toMatchObject(before);
      expect(readdirSync(at.here)).toEqual([]);
      expect(existsSync('/tmp/acs-cp-escaped')).toBe(false);
    },
  );

  it('what is no archive, and one that is complete on the wire and ends early, is exit 9', async () => {
    at.agent.content = Buffer.alloc(10_240, 'no archive');
    expect(await at.cp(`${ID}:tree`, 'copy')).toMatchObject({ code: 9 });
    at.agent.content = (await archive([{ name: './file' }])).subarray(0, 700);
    expect(await at.cp(`${ID}:tree`, 'copy')).toMatchObject({ code: 9 });
    expect(readdirSync(at.here)).toEqual([]);
  });

  it('a device in it is left out with a warning', async () => {
    at.agent.content = await archive([
      { name: './device', type: 'character-device', devmajor: 1, devminor: 3 },
      { name: './file' },
    ]);
    const { code, err } = await at.cp(`${ID}:tree`, 'copy');
    expect({ code, err, there: readdirSync(path.join(at.here, 'copy')) }).toEqual({
      code: 0,
      err: expect.stringContaining('left out: device') as string,
      there: ['file'],
    });
  });
});
