import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { TerminalStream } from '../../src/terminal/writable.ts';
import { keptStderr } from '../support/terminal.ts';

test('without colours, those of libraries are removed and cursor movements are kept', () => {
  const plain = keptStderr(80);
  const colored = keptStderr(80);
  for (const [stderr, colors] of [
    [plain, 'no-colors'],
    [colored, 'colors'],
  ] as const) {
    const stream = new TerminalStream(stderr, colors);
    stream.write('\x1b[2K\x1b[1;34m?\x1b[39m');
    stream.write(Buffer.from('\x1b[0mé'));
  }
  expect(plain.text()).toBe('\x1b[2K?é');
  expect(colored.text()).toBe('\x1b[2K\x1b[1;34m?\x1b[39m\x1b[0mé');
});

test('it is a Node stream: pipes can end in it, and callbacks run when the chunk is written', async () => {
  const stderr = keptStderr(40);
  const stream = new TerminalStream(stderr, 'colors');
  const source = new PassThrough();
  source.pipe(stream);
  source.end('piped');
  await once(stream, 'finish');
  expect([stderr.text(), stream.isTTY, stream.columns]).toEqual(['piped', true, 40]);
  await new Promise<void>((resolve) =>
    new TerminalStream(stderr, 'colors').write('x', () => resolve()),
  );
});
