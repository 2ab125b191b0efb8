/** Images for the agent: URLs as they are, files as data URLs. */
import path from 'node:path';
import type { Context } from '../../context.ts';
import { AppError } from '../../errors.ts';
import { readInputFile } from './message.ts';

const IMAGE_MAX_BYTES = 10 * 1024 * 1024;

/** By their first bytes: a file's name may say anything. */
const SIGNATURES: { type: string; matches: (bytes: Buffer) => boolean }[] = [
  { type: 'image/png', matches: (bytes) => bytes.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47])) },
  { type: 'image/jpeg', matches: (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff])) },
  { type: 'image/gif', matches: (bytes) => bytes.subarray(0, 4).toString('latin1') === 'GIF8' },
  {
    type: 'image/webp',
    matches: (bytes) =>
      bytes.subarray(0, 4).toString('latin1') === 'RIFF' && bytes.subarray(8, 12).toString('latin1') === 'WEBP',
  },
];

/** http(s) and data URLs. Throws `config` for a file that cannot be read, `usage` for one that is too large or not an image. */
export async function readImages(ctx: Context, given: readonly string[]): Promise<string[]> {
  const urls: string[] = [];
  for (const image of given)
    urls.push(/^(?:https?|data):/i.test(image) ? checkUrl(image) : await fileAsUrl(ctx, image));
  return urls;
}

function checkUrl(url: string): string {
  if (/^data:/i.test(url) ? /^data:image\//i.test(url) : URL.canParse(url)) return url;
  throw new AppError('usage', `--image: "${url.slice(0, 100)}" is not an image URL`);
}

async function fileAsUrl(ctx: Context, file: string): Promise<string> {
  const bytes = Buffer.from(await readInputFile(ctx, file, IMAGE_MAX_BYTES));
  const found = SIGNATURES.find(({ matches }) => matches(bytes));
  if (found === undefined) {
    throw new AppError('usage', `--image: ${path.basename(file)} is not an image in a supported format`, {
      hint: 'supported formats: PNG, JPEG, GIF, WebP',
    });
  }
  return `data:${found.type};base64,${bytes.toString('base64')}`;
}
